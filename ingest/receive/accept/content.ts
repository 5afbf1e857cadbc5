import { isUtf8 } from "node:buffer";
import { maxFrameBytes } from "../../../contracts/nats.ts";
import type { ContentKind } from "../../wire/frame.ts";
import { type Refusal, refusals } from "../refusal.ts";
import { isJSON } from "./json.ts";

/** The largest body that fits into a frame beside its own headers (at most twice Node's 16 KiB of them) and the frame's. */
export const maxEventBodyBytes = maxFrameBytes - 64 * 1024;

/** What the Content-Type header says the body is, or why it can't be taken. */
export function contentKind(
	contentType: string | undefined,
): ContentKind | Refusal {
	// What nearly every webhook sends; skips the rest.
	if (contentType === "application/json") return "json";
	const [type = "", ...parameters] = (contentType ?? "").split(";");
	const kind = kindOf(type.trim().toLowerCase());
	if (kind === undefined) return refusals.UnsupportedContentType;
	return parameters.some(isOtherCharset) ? refusals.UnsupportedCharset : kind;
}

function kindOf(type: string): ContentKind | undefined {
	if (type === "application/x-www-form-urlencoded") return "form";
	// RFC 6839 §3.1: any type with the suffix +json is JSON text.
	return /^application\/json$|^[a-z]+\/[^/\s]+\+json$/.test(type)
		? "json"
		: undefined;
}

function isOtherCharset(parameter: string): boolean {
	const [name = "", value = ""] = parameter.split("=");
	return (
		name.trim().toLowerCase() === "charset" &&
		!/^"?utf-?8"?$/i.test(value.trim())
	);
}

/** What isJSON reads faster than JSON.parse. */
const shortBytes = 2_048;

/**
 * The JSON text to store for a body: the very bytes of a JSON body, once they are known to be one RFC 8259 value in
 * UTF-8; an object made from a form.
 */
export function storedBody(
	kind: ContentKind,
	body: Buffer,
): Uint8Array | Refusal {
	if (body.length === 0) return refusals.EmptyBody;
	if (kind === "form") {
		const json = Buffer.from(formToJSON(body));
		// JSON takes up to six bytes for one byte of a form (\u0000).
		return json.length > maxEventBodyBytes ? refusals.BodyTooLarge : json;
	}
	if (!isUtf8(body)) return refusals.InvalidEncoding;
	if (body.length <= shortBytes)
		return isJSON(body) ? body : refusals.InvalidJSON;
	try {
		// ECMA-404 is RFC 8259's grammar. V8 parses without recursion, so depth can't exhaust the stack; a byte order mark is
		// not white space to it. Duplicate names and lone surrogate escapes are legal, and stored as they came.
		JSON.parse(body.toString());
		return body;
	} catch {
		return refusals.InvalidJSON;
	}
}

/**
 * A form (WHATWG URL §5.1) as the text of a JSON object: names in the order in which they first appear, a repeated name's
 * values as an array. Not by way of a JavaScript object, which would move names like "1" to the front and lose "__proto__".
 */
export function formToJSON(form: Buffer): string {
	const values = new Map<string, string | string[]>();
	// The constructor drops a leading "?", which a form doesn't; it ignores an empty pair.
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
 * As ASCII text. URLSearchParams takes text, where a form is bytes: ones that are no UTF-8 would be lost before its
 * percent signs are looked at, and Node's mistakes "\u0080%A4".
 */
function percentEncoded(form: Buffer): string {
	return form
		.toString("latin1")
		.replace(/[\x80-\xff]+/g, (bytes) =>
			Buffer.from(bytes, "latin1").toString("hex").replace(/../g, "%$&"),
		);
}
