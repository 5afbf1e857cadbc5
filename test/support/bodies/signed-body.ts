import { doNow } from "../../../ingest/receive/admission/long-work.ts";
import type { PresentedSignature } from "../../../ingest/receive/request/presented-signature.ts";
import {
	isEd25519Signed,
	isHmacSigned,
	mayBeEd25519Signed,
	type SigningKey,
} from "../../../ingest/receive/request/signature-check.ts";

/** Whether one of the presented texts signs the body with one of the keys. */
export async function isSigned(
	presented: PresentedSignature,
	keys: readonly SigningKey[],
	body: Buffer,
): Promise<boolean> {
	const parts = [body.subarray(0, 3), body.subarray(3)];
	return (
		doNow(isHmacSigned(presented, keys, parts)) ||
		(mayBeEd25519Signed(presented, keys) &&
			(await isEd25519Signed(presented, keys, parts)))
	);
}
