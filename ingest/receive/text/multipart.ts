import { encodingOf } from "./charset.ts";
import { type FieldText, FormFault, type FormField } from "./form.ts";

/*
 * Own code: busboy and its forks give a part's text only when they have decoded it, with U+FFFD for what they can't decode, and
 * read streams, where receive does long work in steps.
 */

/** A body with more parts is refused. */
const maxParts = 1_000;
/** More than any sender writes before a part's content. */
const maxHeadBytes = 8 * 1024;

const lineBreak = "\r\n";
const headEnd = Buffer.from("\r\n\r\n");
const hyphen = 0x2d;

/**
 * The fields of a multipart/form-data body (RFC 7578), none of which may be a file.
 *
 * @param boundary the type's parameter.
 */
export function* multipartFields(
	body: Buffer,
	boundary: string,
): Generator<FormField | { visited: number }, void> {
	const delimiter = Buffer.from(`${lineBreak}--${boundary}`, "latin1");
	const first = delimiter.subarray(lineBreak.length);
	const isAtStart = body.subarray(0, first.length).equals(first);
	let part = yield* nextDelimiter(body, isAtStart ? first : delimiter, 0);
	for (let parts = 0; !part.isLast; ) {
		if (++parts > maxParts) throw new FormFault("TooManyFields");
		// A part without a head begins with the empty line.
		const end = body.indexOf(headEnd, part.to - lineBreak.length);
		if (end < 0 || end - part.to > maxHeadBytes)
			throw new FormFault("InvalidMultipart");
		const from = end + headEnd.length;
		// The empty line may belong to the delimiter of a part without content (RFC 2046 §5.1.1).
		const next = yield* nextDelimiter(body, delimiter, end + lineBreak.length);
		const head = body.toString("latin1", part.to, Math.max(part.to, end));
		yield fieldOf(head, body, from, Math.max(from, next.from));
		part = next;
	}
}

interface Delimiter {
	from: number;
	to: number;
	isLast: boolean;
}

/** RFC 2046 §5.1.1: a line of its own, which spaces may end. What only begins so is content. */
function* nextDelimiter(
	body: Buffer,
	delimiter: Buffer,
	from: number,
): Generator<{ visited: number }, Delimiter> {
	for (let at = from; ; ) {
		const found = body.indexOf(delimiter, at);
		if (found < 0) throw new FormFault("InvalidMultipart");
		const after = found + delimiter.length;
		yield { visited: after - at };
		at = after;
		if (body[at] === hyphen && body[at + 1] === hyphen)
			return { from: found, to: at + 2, isLast: true };
		const line = body.toString("latin1", at, at + maxPadding);
		const padding = /^[ \t]*\r\n/.exec(line);
		if (padding)
			return { from: found, to: at + padding[0].length, isLast: false };
	}
}

const maxPadding = 100;

function fieldOf(
	head: string,
	body: Buffer,
	from: number,
	to: number,
): FormField {
	const headers = headersOf(head);
	const disposition = headers.get("content-disposition") ?? "";
	const parameters = parametersOf(disposition);
	const name = parameters.get("name");
	if (!/^form-data\s*(;|$)/i.test(disposition) || name === undefined)
		throw new FormFault("InvalidMultipart");
	// A browser sends an empty one for a file that nobody chose.
	const file = parameters.get("filename*") ?? parameters.get("filename");
	const isFile = file !== undefined && (file !== "" || to > from);
	const type = headers.get("content-type") ?? "";
	const transfer = headers.get("content-transfer-encoding") ?? "binary";
	if (
		isFile ||
		/^multipart\//i.test(type) ||
		!/^(7bit|8bit|binary)$/i.test(transfer)
	)
		throw new FormFault("UnsupportedMultipart");
	const charset = parametersOf(type).get("charset");
	const encoding = charset === undefined ? undefined : encodingOf(charset);
	if (charset !== undefined && encoding === undefined)
		throw new FormFault("UnsupportedCharset");
	const bytes = Buffer.from(fieldName(name), "latin1");
	return {
		name: textIn(bytes, 0, bytes.length, undefined),
		value: textIn(body, from, to, encoding),
	};
}

function textIn(
	bytes: Buffer,
	from: number,
	to: number,
	encoding: string | undefined,
): FieldText {
	return { bytes, from, to, isPercentEncoded: false, encoding };
}

/** By lower-case names; the first of several. A line that begins with white space goes on with the one before (RFC 5322 §2.2.3). */
function headersOf(head: string): Map<string, string> {
	const headers = new Map<string, string>();
	for (const line of head.replace(/\r\n(?=[ \t])/g, "").split(lineBreak)) {
		const colon = line.indexOf(":");
		const name = line.slice(0, colon).trim().toLowerCase();
		if (colon > 0 && !headers.has(name))
			headers.set(name, line.slice(colon + 1).trim());
	}
	return headers;
}

/** A header's parameters by lower-case names; the first of several counts (RFC 9110 §5.6.6). */
export function parametersOf(header: string): Map<string, string> {
	const found = new Map<string, string>();
	for (const [, name, quoted, token] of header.matchAll(parameter)) {
		const key = name!.toLowerCase();
		const value = quoted?.replace(/\\(["\\])/g, "$1") ?? token!.trim();
		if (!found.has(key)) found.set(key, value);
	}
	return found;
}

const parameter =
	/;[ \t]*([^\s=;"]+)[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^;]*))/g;

/** HTML §4.10.21.8: how browsers write the characters that would end a name. */
function fieldName(name: string): string {
	return name.replace(/%(22|0D|0A)/gi, (_, hex: string) =>
		String.fromCharCode(Number.parseInt(hex, 16)),
	);
}
