import { doNow } from "../../../ingest/receive/admission/long-work.ts";
import { ReadableBody } from "../../../ingest/receive/body/readable-body.ts";
import type {
	PresentedSignature,
	SignatureInBody,
} from "../../../ingest/receive/request/presented-signature.ts";
import {
	mayBeSignedByPrivateKey,
	type SigningKey,
	signedByPrivateKey,
	signedBySecret,
} from "../../../ingest/receive/request/signature-check.ts";
import type { ContentKind } from "../../../ingest/wire/frame-event.ts";

/** The signature with what the body holds of it. */
export function completed(
	signature: PresentedSignature | SignatureInBody | undefined,
	body: Buffer,
	kind: ContentKind = "json",
): PresentedSignature | undefined {
	if (!signature || !("read" in signature)) return signature;
	const parts = [body.subarray(0, 3), body.subarray(3)];
	return doNow(signature.read(new ReadableBody({ kind }, parts, () => true)));
}

/** Whether one of the presented texts signs the body with one of the keys. */
export async function isSigned(
	presented: PresentedSignature,
	keys: readonly SigningKey[],
	body: Buffer,
): Promise<boolean> {
	const parts = [body.subarray(0, 3), body.subarray(3)];
	return (
		doNow(signedBySecret(presented, keys, parts)) !== undefined ||
		(mayBeSignedByPrivateKey(presented, keys) &&
			(await signedByPrivateKey(presented, keys, parts)) !== undefined)
	);
}
