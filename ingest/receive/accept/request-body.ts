import { isUtf8 } from "node:buffer";
import { type ContentKind, maxEventBodyBytes } from "../../wire/frame.ts";
import { type Refusal, refusals } from "../answer/refusal.ts";
import { isSigned } from "../authorization/signature-check.ts";
import { formToJSON } from "./form.ts";
import { isJSON } from "./json.ts";
import type { AcceptedHead } from "./request-head.ts";

/** Judges the body as it was sent: only now is the sender of a signed request known. */
export function judgeSentBody(
	{ route, signature }: AcceptedHead,
	sent: Buffer,
): Refusal | undefined {
	if (!signature) return undefined;
	if (!isSigned(signature, route.signingKeys!, sent))
		return refusals.SignatureInvalid;
	return route.suspended ? refusals.SourceSuspended : undefined;
}

/** {@link isJSON} beats JSON.parse up to this length. */
const shortBytes = 2_048;

/** The JSON text to store for a decompressed body: the very same bytes if they are one RFC 8259 value in UTF-8, or the object that a form becomes. */
export function jsonText(
	kind: ContentKind,
	body: Buffer,
): Uint8Array | Refusal {
	if (body.length === 0) return refusals.EmptyBody;
	if (kind === "form") {
		const text = formToJSON(body);
		if (text === undefined) return refusals.TooManyFields;
		const json = Buffer.from(text);
		// JSON can take six bytes for one byte of a form (\u0000).
		return json.length > maxEventBodyBytes ? refusals.BodyTooLarge : json;
	}
	if (!isUtf8(body)) return refusals.InvalidEncoding;
	if (body.length <= shortBytes)
		return isJSON(body) ? body : refusals.InvalidJSON;
	try {
		// ECMA-404 is RFC 8259's grammar. V8 parses without recursion, so depth can't exhaust the stack, and it rejects a
		// byte order mark. Duplicate names and lone surrogate escapes are legal and stay as sent.
		JSON.parse(body.toString());
		return body;
	} catch {
		return refusals.InvalidJSON;
	}
}
