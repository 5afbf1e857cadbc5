/** A form with more fields is refused. */
export const maxFields = 10_000;

const ampersand = 0x26;
const equals = 0x3d;
const percent = 0x25;
const plus = 0x2b;
const space = 0x20;

/**
 * Turns a form (WHATWG URL §5.1) into the text of a JSON object; undefined if it has more than {@link maxFields} fields.
 * Names keep the order in which they first appear; the values of a repeated name become an array. A JavaScript object would
 * move names like "1" to the front and lose "__proto__". The work is linear in the bytes of the form, whatever they are:
 * URLSearchParams takes quadratic time for fields without "=", and would hold up every sender.
 */
export function formToJSON(form: Buffer): string | undefined {
	const values = new Map<string, string | string[]>();
	let fields = 0;
	for (let start = 0; start < form.length; ) {
		const found = form.indexOf(ampersand, start);
		const end = found < 0 ? form.length : found;
		if (end > start) {
			if (++fields > maxFields) return undefined;
			const field = form.subarray(start, end);
			const split = field.indexOf(equals);
			const name = decode(split < 0 ? field : field.subarray(0, split));
			const value = split < 0 ? "" : decode(field.subarray(split + 1));
			const before = values.get(name);
			if (before === undefined) values.set(name, value);
			else if (typeof before === "string") values.set(name, [before, value]);
			else before.push(value);
		}
		start = end + 1;
	}
	const members = Array.from(
		values,
		([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`,
	);
	return `{${members.join(",")}}`;
}

/** Decodes "+", percent-encoded bytes and UTF-8. A byte that is no UTF-8 becomes U+FFFD; a byte order mark stays. */
function decode(text: Buffer): string {
	if (!text.includes(percent) && !text.includes(plus)) return text.toString();
	const bytes = Buffer.allocUnsafe(text.length);
	let length = 0;
	for (let at = 0; at < text.length; at++) {
		const byte = text[at]!;
		const high = byte === percent ? hexDigit(text[at + 1]) : -1;
		const low = high < 0 ? -1 : hexDigit(text[at + 2]);
		if (low >= 0) {
			bytes[length++] = high * 16 + low;
			at += 2;
		} else bytes[length++] = byte === plus ? space : byte;
	}
	return bytes.toString("utf8", 0, length);
}

/** The value of an ASCII hex digit; -1 for anything else. */
function hexDigit(byte = 0): number {
	if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
	const letter = byte | 0x20;
	return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
