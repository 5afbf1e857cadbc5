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
const cr = 0x0d;
const lf = 0x0a;

/**
 * The fields of a multipart/form-data body (RFC 7578), none of which may be a file.
 *
 * @param boundary the type's parameter.
 */
export function* multipartFields(
	body: Buffer,
	boundary: string,
): Generator<FormField | { visited: number }, void> {
	const dashes = Buffer.from(`--${boundary}`, "latin1");
	let part = yield* nextDelimiter(body, dashes, 0);
	// What stands before the first part is no field (RFC 2046 §5.1.1), but a body without parts that isn't empty is some other thing.
	if (part.isLast && /\S/.test(body.toString("latin1", 0, part.from)))
		throw new FormFault("InvalidMultipart");
	for (let parts = 0; !part.isLast; ) {
		if (++parts > maxParts) throw new FormFault("TooManyFields");
		// A part without a head begins with the empty line.
		const end = body.indexOf(headEnd, part.to - lineBreak.length);
		if (end < 0 || end - part.to > maxHeadBytes)
			throw new FormFault("InvalidMultipart");
		const from = end + headEnd.length;
		const next = yield* nextDelimiter(body, dashes, from);
		const head = body.toString("latin1", part.to, Math.max(part.to, end));
		// The empty line may belong to the delimiter of a part without content (RFC 2046 §5.1.1).
		yield fieldOf(head, body, from, Math.max(from, next.from));
		part = next;
	}
	if (body.indexOf(dashes, part.to) >= 0)
		throw new FormFault("InvalidMultipart");
}

interface Delimiter {
	/** Where the line break before it begins. */
	from: number;
	/** Where the line after it begins. */
	to: number;
	isLast: boolean;
}

/**
 * RFC 2046 §5.1.1: a line of its own, which spaces may end. Throws for what a sender means as one and isn't: a reader that
 * took it for content, or for what stands before the first part, would lose the fields around it.
 */
function* nextDelimiter(
	body: Buffer,
	dashes: Buffer,
	from: number,
): Generator<{ visited: number }, Delimiter> {
	for (let at = from; ; ) {
		const found = body.indexOf(dashes, at);
		if (found < 0) throw new FormFault("InvalidMultipart");
		const after = found + dashes.length;
		yield { visited: after - at };
		at = after;
		const startsLine =
			found === 0 || body[found - 1] === lf || body[found - 1] === cr;
		const rest = startsLine
			? restOfDelimiter.exec(body.toString("latin1", at, at + maxRestBytes))
			: null;
		if (!rest && from > 0) continue;
		const followsLineBreak =
			found === 0 || (body[found - 2] === cr && body[found - 1] === lf);
		const isLast = rest?.[1] !== undefined;
		if (!rest || !followsLineBreak || !(isLast || rest[2] === lineBreak))
			throw new FormFault("InvalidMultipart");
		return {
			from: Math.max(0, found - lineBreak.length),
			to: at + rest[0].length,
			isLast,
		};
	}
}

/** It ends too early where more spaces follow than any sender writes. */
const restOfDelimiter = /^(--)?[ \t]*(\r\n|\r|\n|$)/;
const maxRestBytes = 100;

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
	const lines = head.replace(/\r\n(?=[ \t])/g, "").split(lineBreak);
	for (const line of lines.filter(Boolean)) {
		const [, name, value] = headerLine.exec(line) ?? [];
		if (name === undefined) throw new FormFault("InvalidMultipart");
		const key = name.toLowerCase();
		if (!headers.has(key)) headers.set(key, value!.trim());
	}
	return headers;
}

/** Without line ends of other systems: the next part's lines could stand behind them. */
const headerLine = /^([^\s:]+)[ \t]*:([^\r\n]*)$/;

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
