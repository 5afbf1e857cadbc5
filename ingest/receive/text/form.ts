import { createHash, type Hash } from "node:crypto";
import { stepBytes } from "../admission/long-work.ts";

/** A form with more fields is refused. */
const maxFields = 10_000;

const ampersand = 0x26;
const equals = 0x3d;
const percent = 0x25;
const plus = 0x2b;
const space = 0x20;

/** Bytes of the form that encode a name or a value. */
interface Range {
	from: number;
	to: number;
}

/** A name where it first appears, and all its values. */
interface Member {
	name: Range;
	values: Range[];
}

/** A step of {@link formToJSON}. */
interface FormStep {
	/** Bytes of the form that the step visits. */
	visited: number;
	/** What comes next in the JSON text. */
	json: string;
}

/**
 * Turns a form (WHATWG URL §5.1) into the text of a JSON object, step by step; returns false if the form has more than
 * {@link maxFields} fields. Names keep the order in which they first appear; the values of a repeated name become an array.
 * A JavaScript object would move names like "1" to the front and lose "__proto__". The work is linear in the bytes of the
 * form, whatever they are: URLSearchParams takes quadratic time for fields without "=", and would hold up every sender.
 */
export function* formToJSON(form: Buffer): Generator<FormStep, boolean> {
	const members = new Map<string, Member>();
	let fields = 0;
	let separators = 0;
	for (let from = 0; from < form.length; ) {
		if (++separators >= stepBytes) {
			yield { visited: separators, json: "" };
			separators = 0;
		}
		const found = form.indexOf(ampersand, from);
		const to = found < 0 ? form.length : found;
		if (to > from) {
			if (++fields > maxFields) return false;
			const split = form.subarray(from, to).indexOf(equals);
			const nameTo = split < 0 ? to : from + split;
			const name = { from, to: nameTo };
			const value = { from: split < 0 ? to : nameTo + 1, to };
			const key = yield* nameKey(form, name);
			const member = members.get(key);
			if (member) member.values.push(value);
			else members.set(key, { name, values: [value] });
		}
		from = to + 1;
	}
	yield { visited: separators, json: "" };
	let before = "{";
	for (const { name, values } of members.values()) {
		yield* textOf(form, name, `${before}"`, '":');
		const isList = values.length > 1;
		for (const [n, value] of values.entries())
			yield* textOf(form, value, isList ? `${n === 0 ? "[" : ","}"` : '"', '"');
		before = isList ? "]," : ",";
	}
	yield { visited: 0, json: end(before) };
	return true;
}

/** What ends the object. @param before what would precede another name. */
function end(before: string): string {
	return before === "{" ? "{}" : before.replace(",", "}");
}

/**
 * The same for the same names only. A long name is known by its digest: V8 gives all strings of 16 KiB or more of one
 * length the same hash, so a Map would compare each with all others.
 */
function* nameKey(form: Buffer, name: Range): Generator<FormStep, string> {
	let text = "";
	let digest: Hash | undefined;
	for (const piece of pieces(form, name)) {
		if (!digest && text.length + piece.text.length < stepBytes)
			text += piece.text;
		else {
			digest ??= createHash("sha256").update(text);
			digest.update(piece.text);
		}
		yield { visited: piece.bytes, json: "" };
	}
	return digest ? `digest ${digest.digest("hex")}` : `text ${text}`;
}

/** The JSON string of a name or value. */
function* textOf(
	form: Buffer,
	range: Range,
	before: string,
	after: string,
): Generator<FormStep, void> {
	yield { visited: 0, json: before };
	for (const { text, bytes } of pieces(form, range))
		yield { visited: bytes, json: JSON.stringify(text).slice(1, -1) };
	yield { visited: 0, json: after };
}

/** The text of encoded bytes, in pieces: "+", percent-encoded bytes and UTF-8 decoded. A byte that is no UTF-8 becomes U+FFFD; a byte order mark stays. */
function* pieces(
	form: Buffer,
	{ from, to }: Range,
): Generator<{ text: string; bytes: number }> {
	if (to - from <= stepBytes) {
		const text = decode(form, from, to, to).bytes.toString();
		yield { text, bytes: to - from };
		return;
	}
	const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
	for (let at = from; at < to; ) {
		const { bytes, end } = decode(form, at, Math.min(at + stepBytes, to), to);
		yield { text: decoder.decode(bytes, { stream: true }), bytes: end - at };
		at = end;
	}
	yield { text: decoder.decode(), bytes: 0 };
}

/** Decodes what begins before `until`, and where that ends. */
function decode(
	form: Buffer,
	from: number,
	until: number,
	to: number,
): { bytes: Buffer; end: number } {
	const encoded = form.subarray(from, until);
	if (!encoded.includes(percent) && !encoded.includes(plus))
		return { bytes: encoded, end: until };
	const bytes = Buffer.allocUnsafe(until - from);
	let length = 0;
	let at = from;
	while (at < until) {
		const byte = form[at]!;
		const high = byte === percent && at + 2 < to ? hexDigit(form[at + 1]!) : -1;
		const low = high < 0 ? -1 : hexDigit(form[at + 2]!);
		if (low >= 0) {
			bytes[length++] = high * 16 + low;
			at += 3;
		} else {
			bytes[length++] = byte === plus ? space : byte;
			at++;
		}
	}
	return { bytes: bytes.subarray(0, length), end: at };
}

/** The value of an ASCII hex digit; -1 for anything else. */
function hexDigit(byte: number): number {
	if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
	const letter = byte | 0x20;
	return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
