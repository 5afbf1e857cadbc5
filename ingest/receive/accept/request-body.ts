import { isUtf8 } from "node:buffer";
import { type ContentKind, maxEventBodyBytes } from "../../wire/frame.ts";
import { type Refusal, refusals } from "../answer/refusal.ts";
import { isSigned } from "../authorization/signature-check.ts";
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
		const json = Buffer.from(formToJSON(body));
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

/**
 * Turns a form (WHATWG URL §5.1) into the text of a JSON object. Names keep the order in which they first appear; the values of a
 * repeated name become an array. A JavaScript object would move names like "1" to the front and lose "__proto__".
 */
export function formToJSON(form: Buffer): string {
	const values = new Map<string, string | string[]>();
	// The constructor drops a leading "?", which belongs to a form's first name. It ignores the empty pair put before it here.
	for (const [name, value] of new URLSearchParams(`&${percentEncoded(form)}`)) {
		const before = values.get(name);
		if (before === undefined) values.set(name, value);
		else if (typeof before === "string") values.set(name, [before, value]);
		else before.push(value);
	}
	const members = Array.from(
		values,
		([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`,
	);
	return `{${members.join(",")}}`;
}

/**
 * Makes ASCII text of a form. URLSearchParams takes text, but a form is bytes: bytes that are not UTF-8 would be lost before
 * percent-decoding, and Node misreads "\u0080%A4".
 */
function percentEncoded(form: Buffer): string {
	return form
		.toString("latin1")
		.replace(/[\x80-\xff]+/g, (bytes) =>
			Buffer.from(bytes, "latin1").toString("hex").replace(/../g, "%$&"),
		);
}
