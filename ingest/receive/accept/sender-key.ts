import { createHash, hash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { Route } from "../../../contracts/route.ts";
import type { PresentedSignature } from "../authorization/presented-signature.ts";

/**
 * Digest of the request's idempotency key, 32 hex digits; undefined when the request has none or its Source asks for
 * none, or for {@link signedTextKey}. The source key is part of the digest, so that no two Sources share a key, and a reader of the bucket can't guess
 * what senders sent.
 *
 * @param body JSON text.
 */
export function senderKey(
	{ sourceKey, idempotency }: Pick<Route, "sourceKey" | "idempotency">,
	headers: IncomingHttpHeaders,
	body: Uint8Array,
): string | undefined {
	if (!idempotency) return undefined;
	const { key } = idempotency;
	if ("signature" in key) return undefined;
	const value =
		"header" in key ? headers[key.header] : valueAt(key.bodyPointer, body);
	if (typeof value !== "string" || value === "") return undefined;
	return hash("sha256", `${sourceKey}\n${value}`).slice(0, 32);
}

/**
 * The same digest for a Source whose key is the signature: of the signed text, because one text has several signatures
 * (upper-case hexadecimal, another of the sender's keys). Undefined for any other Source.
 *
 * @param sent the body as it was sent, whose signature has been checked.
 */
export function signedTextKey(
	{ sourceKey, idempotency }: Pick<Route, "sourceKey" | "idempotency">,
	signature: Pick<PresentedSignature, "signed"> | undefined,
	sent: Uint8Array,
): string | undefined {
	if (!signature || !idempotency || !("signature" in idempotency.key))
		return undefined;
	const [first, ...others] = signature.signed;
	const digest = createHash("sha256").update(`${sourceKey}\n`).update(first!);
	for (const bytes of others) digest.update(sent).update(bytes);
	return digest.digest("hex").slice(0, 32);
}

/** The value of a JSON Pointer (RFC 6901 §4), if it can be a key: a string, or an integer that JavaScript holds exactly. */
function valueAt(pointer: string, body: Uint8Array): string | undefined {
	let value: unknown = JSON.parse(Buffer.from(body).toString());
	for (const part of pointer.split("/").slice(1)) {
		const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
		if (typeof value !== "object" || value === null) return undefined;
		if (Array.isArray(value) && !/^(0|[1-9]\d*)$/.test(name)) return undefined;
		if (!Object.hasOwn(value, name)) return undefined;
		value = (value as Record<string, unknown>)[name];
	}
	if (typeof value === "string") return value;
	// Two larger numbers could become one.
	return Number.isSafeInteger(value) ? String(value) : undefined;
}
