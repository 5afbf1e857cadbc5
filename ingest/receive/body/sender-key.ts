import { createHash, hash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { Route } from "../../../packages/contracts/route.ts";
import type { LongWork } from "../admission/long-work.ts";
import type { PresentedSignature } from "../request/presented-signature.ts";
import type { RequestRefusal } from "../request/refusal.ts";
import { signedPieces } from "../request/signature-check.ts";
import { textAt } from "../text/json-pointer.ts";
import { inOneBuffer } from "./body-parts.ts";

/** Digests of a request's idempotency key. */
export interface SenderKey {
	key: string | undefined;
	/** Under which an earlier version kept the same key. */
	formerKey?: string;
}

/** Where a sender's key can stand, beside the body. */
interface SenderFields {
	headers: IncomingHttpHeaders;
	/** Everything after the URL's question mark. */
	query: string | undefined;
}

/**
 * Digest of the request's idempotency key, 32 hex digits; undefined when the request has none or its Source asks for
 * none, or for {@link signedTextKey}. The source key is part of the digest, so that no two Sources share a key, and a
 * reader of the bucket can't guess what senders sent.
 *
 * @param body valid JSON in parts.
 * @param take takes bytes of receive's memory; false when there is no room.
 */
export function* senderKey(
	{ sourceKey, idempotency }: Pick<Route, "sourceKey" | "idempotency">,
	{ headers, query }: SenderFields,
	body: readonly Uint8Array[],
	take: (bytes: number) => boolean,
): LongWork<SenderKey | RequestRefusal> {
	const key = idempotency?.key;
	let value: string | string[] | undefined;
	if (key && "header" in key) value = headers[key.header];
	else if (key && "parameter" in key)
		value = new URLSearchParams(query).get(key.parameter) ?? undefined;
	else if (key && "bodyPointer" in key) {
		const json = inOneBuffer(body, take);
		if ("status" in json) return json;
		value = yield* textAt(key.bodyPointer, json);
	}
	if (typeof value !== "string" || value === "") return { key: undefined };
	const alone = digestOf(sourceKey, value);
	const scope = key && "within" in key ? headers[key.within!] : undefined;
	return typeof scope === "string" && scope !== ""
		? { key: digestOf(sourceKey, scope, value), formerKey: alone }
		: { key: alone };
}

/** No header's value has a line feed (RFC 9110 §5.5), so no two lists of them are alike. */
function digestOf(...values: string[]): string {
	return hash("sha256", values.join("\n")).slice(0, 32);
}

/**
 * The same digest for a Source whose key is the signature: of the signed text, because one text has several signatures
 * (upper-case hexadecimal, another of the sender's keys). Undefined for any other Source.
 *
 * @param sent the body as it was sent, in parts, whose signature has been checked.
 */
export function* signedTextKey(
	{ sourceKey, idempotency }: Pick<Route, "sourceKey" | "idempotency">,
	signature: Pick<PresentedSignature, "signed" | "signedTexts">,
	sent: readonly Uint8Array[],
): LongWork<string | undefined> {
	if (!idempotency || !("signature" in idempotency.key)) return undefined;
	const digest = createHash("sha256").update(`${sourceKey}\n`);
	const pieces = signature.signedTexts
		? (yield* signature.signedTexts(sent)).slice(0, 1)
		: signedPieces(signature, sent);
	for (const piece of pieces) {
		digest.update(piece);
		yield piece.length;
	}
	return digest.digest("hex").slice(0, 32);
}
