import { isUtf8 } from "node:buffer";
import { createHash, type Hash } from "node:crypto";
import { stepBytes } from "../admission/long-work.ts";
import { strictDecoder } from "./charset.ts";

const ampersand = 0x26;
const equals = 0x3d;
const percent = 0x25;
const plus = 0x2b;
const space = 0x20;

/** Bytes of a name or a value, and how they are written. */
export interface FieldText {
	bytes: Buffer;
	from: number;
	to: number;
	/** "%" and "+" stand for other bytes. */
	isPercentEncoded: boolean;
	/** Undefined for that of the form. */
	encoding: string | undefined;
}

export interface FormField {
	name: FieldText;
	value: FieldText;
}

/** A step of {@link formToJSON}. */
interface FormStep {
	/** Bytes of the form that the step visits. */
	visited: number;
	/** What comes next in the JSON text. */
	json: string;
}

/** The fields of a form in their order, between steps that visit its bytes. Throws {@link FormFault}. */
export type FormFields = Iterable<FormField | { visited: number }>;

/** Why a form can't become JSON. */
export class FormFault extends Error {
	readonly code:
		| "TooManyFields"
		| "UnsupportedCharset"
		| "UnsupportedMultipart"
		| "InvalidMultipart";

	constructor(code: FormFault["code"]) {
		super(code);
		this.code = code;
	}
}

/** A name where it first appears, and all its values. */
interface Member {
	name: FieldText;
	values: FieldText[];
}

/**
 * Turns the fields of a form into the text of a JSON object, step by step. Names keep the order in which they first appear; the
 * values of a repeated name become an array. A JavaScript object would move names like "1" to the front and lose "__proto__".
 * Throws {@link FormFault}, also for a byte that isn't of the encoding.
 */
export function* formToJSON(
	fields: FormFields,
	encoding = "utf-8",
): Generator<FormStep, void> {
	const members = new Map<string, Member>();
	for (const field of fields) {
		if ("visited" in field) {
			yield { visited: field.visited, json: "" };
			continue;
		}
		const { name, value } = field;
		const key = yield* nameKey(name, encoding);
		const member = members.get(key);
		if (member) member.values.push(value);
		else members.set(key, { name, values: [value] });
	}
	let before = "{";
	for (const { name, values } of members.values()) {
		yield* textOf(name, encoding, `${before}"`, '":');
		const isList = values.length > 1;
		for (const [n, value] of values.entries())
			yield* textOf(
				value,
				encoding,
				isList ? `${n === 0 ? "[" : ","}"` : '"',
				'"',
			);
		before = isList ? "]," : ",";
	}
	yield { visited: 0, json: end(before) };
}

/** What ends the object. @param before what would precede another name. */
function end(before: string): string {
	return before === "{" ? "{}" : before.replace(",", "}");
}

/** A form with more fields is refused. */
const maxFields = 10_000;

/**
 * The fields of a form (WHATWG URL §5.1). The work is linear in its bytes, whatever they are: URLSearchParams takes quadratic
 * time for fields without "=", and would hold up every sender.
 */
export function* urlencodedFields(
	form: Buffer,
): Generator<FormField | { visited: number }, void> {
	const text = (from: number, to: number): FieldText => ({
		bytes: form,
		from,
		to,
		isPercentEncoded: true,
		encoding: undefined,
	});
	let fields = 0;
	let separators = 0;
	for (let from = 0; from < form.length; ) {
		if (++separators >= stepBytes) {
			yield { visited: separators };
			separators = 0;
		}
		const found = form.indexOf(ampersand, from);
		const to = found < 0 ? form.length : found;
		if (to > from) {
			if (++fields > maxFields) throw new FormFault("TooManyFields");
			const split = form.subarray(from, to).indexOf(equals);
			const nameTo = split < 0 ? to : from + split;
			yield {
				name: text(from, nameTo),
				value: text(split < 0 ? to : nameTo + 1, to),
			};
		}
		from = to + 1;
	}
	yield { visited: separators };
}

/** The charset that a form names in a field of its own (HTML §4.10.21.5, RFC 7578 §4.6); undefined if it has none. */
export function* charsetField(
	fields: FormFields,
): Generator<number, string | undefined> {
	for (const field of fields) {
		if ("visited" in field) {
			yield field.visited;
			continue;
		}
		const { name, value } = field;
		if (name.to - name.from > maxCharsetName) continue;
		if (!charsetNames.has(latin1(name))) continue;
		return latin1({
			...value,
			to: Math.min(value.to, value.from + maxCharsetName),
		});
	}
	return undefined;
}

const charsetNames = new Set(["charset", "_charset_"]);
/** Longer than any charset's name, however it is encoded. */
const maxCharsetName = 100;

function latin1(text: FieldText): string {
	return decode(text, text.from, text.to).bytes.toString("latin1");
}

/**
 * The same for the same names only. A long name is known by its digest: V8 gives all strings of 16 KiB or more of one
 * length the same hash, so a Map would compare each with all others.
 */
function* nameKey(
	name: FieldText,
	encoding: string,
): Generator<FormStep, string> {
	let text = "";
	let digest: Hash | undefined;
	for (const piece of pieces(name, encoding)) {
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
	field: FieldText,
	encoding: string,
	before: string,
	after: string,
): Generator<FormStep, void> {
	yield { visited: 0, json: before };
	for (const { text, bytes } of pieces(field, encoding))
		yield { visited: bytes, json: JSON.stringify(text).slice(1, -1) };
	yield { visited: 0, json: after };
}

/** The text of encoded bytes, in pieces. A byte order mark stays. */
function* pieces(
	text: FieldText,
	formEncoding: string,
): Generator<{ text: string; bytes: number }> {
	const { from, to, encoding = formEncoding } = text;
	if (to - from <= stepBytes) {
		const { bytes } = decode(text, from, to);
		yield { text: shortText(bytes, encoding), bytes: to - from };
		return;
	}
	const decoded = strictly(strictDecoder(encoding));
	for (let at = from; at < to; ) {
		const { bytes, end } = decode(text, at, Math.min(at + stepBytes, to));
		yield { text: decoded(bytes, true), bytes: end - at };
		at = end;
	}
	yield { text: decoded(), bytes: 0 };
}

function shortText(bytes: Buffer, encoding: string): string {
	if (encoding === "utf-8") {
		if (!isUtf8(bytes)) throw new FormFault("UnsupportedCharset");
		return bytes.toString();
	}
	let decoder = decoders.get(encoding);
	if (!decoder) {
		decoder = strictDecoder(encoding);
		decoders.set(encoding, decoder);
	}
	try {
		return strictly(decoder)(bytes);
	} catch (error) {
		// It may still be in the middle of a character.
		decoders.delete(encoding);
		throw error;
	}
}

/** By encoding. Each takes some microseconds to make, and a form has thousands of fields. */
const decoders = new Map<string, ReturnType<typeof strictDecoder>>();

function strictly(
	decoder: ReturnType<typeof strictDecoder>,
): ReturnType<typeof strictDecoder> {
	return (...bytes) => {
		try {
			return decoder(...bytes);
		} catch {
			throw new FormFault("UnsupportedCharset");
		}
	};
}

/** Decodes what begins before `until`, and where that ends. */
function decode(
	{ bytes: form, to, isPercentEncoded }: FieldText,
	from: number,
	until: number,
): { bytes: Buffer; end: number } {
	const encoded = form.subarray(from, until);
	if (
		!isPercentEncoded ||
		(!encoded.includes(percent) && !encoded.includes(plus))
	)
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
