import { isUtf8 } from "node:buffer";
import { maxEventBodyBytes } from "../../wire/frame.ts";
import type { ContentKind } from "../../wire/frame-event.ts";
import { type LongWork, stepBytes } from "../admission/long-work.ts";
import {
	bodyTooLarge,
	invalidJSON,
	type RequestRefusal,
	refusals,
} from "../request/refusal.ts";
import type { AcceptedHead, FormType } from "../request/request-head.ts";
import { encodingOf } from "../text/charset.ts";
import {
	charsetField,
	FormFault,
	type FormFields,
	formToJSON,
	urlencodedFields,
} from "../text/form.ts";
import { faultOf, isJSONText } from "../text/json.ts";
import { multipartFields } from "../text/multipart.ts";
import { inOneBuffer, inOnePiece } from "./body-parts.ts";

/** Validates a signed request: only now is its sender known. */
export function validateSender(
	{ route }: AcceptedHead,
	isSigned: boolean,
): RequestRefusal | undefined {
	if (!isSigned) return refusals.SignatureInvalid;
	return route.suspended ? refusals.SourceSuspended : undefined;
}

/** Validates a decompressed body before anything in it is read. */
export function validateText(
	kind: ContentKind,
	body: Buffer,
): RequestRefusal | undefined {
	if (body.length === 0) return refusals.EmptyBody;
	return kind === "json" && !isUtf8(body)
		? refusals.InvalidEncoding
		: undefined;
}

/** What is stored of a body. */
export interface EventText {
	/** What the body was. */
	kind: ContentKind;
	/** JSON text. */
	parts: readonly Uint8Array[];
}

/**
 * The JSON text to store for a body that {@link validateText} allows: the very same bytes if they are one RFC 8259 value, but for
 * a byte order mark before it (§8.1 permits to ignore one), or the object that a form becomes. Duplicate names and lone surrogate
 * escapes are legal and stay as sent.
 *
 * @param kind as the Content-Type names it. JSON that says form is stored as JSON, as curl's -d sends it.
 * @param sent the body in parts.
 * @param take takes bytes of receive's memory; false when there is no room.
 */
export function* jsonText(
	kind: ContentKind,
	sent: readonly Buffer[],
	take: (bytes: number) => boolean,
	form: FormType = {},
): LongWork<EventText | RequestRefusal> {
	const parts = withoutByteOrderMark(sent);
	if (kind === "json") return yield* validJSON(parts);
	const body = inOnePiece(parts);
	const first = body.find((byte) => !jsonSpace.has(byte)) ?? 0;
	if (startsNoForm.has(first)) {
		const isText = isUtf8(body);
		const text = yield* validJSON(parts);
		if (!isText && !("status" in text)) return refusals.InvalidEncoding;
		// What precedes a multipart body's first part may be any text.
		if (!("status" in text) || !form.multipart) return text;
	}
	const whole = inOneBuffer(sent, take);
	if ("status" in whole) return whole;
	const text = yield* formText(whole, take, form);
	return "status" in text ? text : { kind, parts: text };
}

function* validJSON(
	parts: readonly Buffer[],
): LongWork<EventText | RequestRefusal> {
	if (yield* isJSONText(parts)) return { kind: "json", parts };
	return invalidJSON(yield* faultOf(parts));
}

function withoutByteOrderMark(parts: readonly Buffer[]): readonly Buffer[] {
	if (parts[0]?.[0] !== byteOrderMark[0]) return parts;
	const head = Buffer.concat(
		parts.slice(0, 3).map((part) => part.subarray(0, 3)),
	);
	if (!head.subarray(0, 3).equals(byteOrderMark)) return parts;
	let left = byteOrderMark.length;
	return parts.flatMap((part) => {
		const taken = Math.min(left, part.length);
		left -= taken;
		return taken === part.length ? [] : [part.subarray(taken)];
	});
}

const byteOrderMark = Buffer.from("\ufeff");

/** RFC 8259 §2. */
const jsonSpace = new Set(Buffer.from(" \t\r\n"));

/** What writes forms percent-encodes these (WHATWG URL §5.2), so a body that begins so is meant as JSON or XML. */
const startsNoForm = new Set(Buffer.from('{["<'));

function* formText(
	body: Buffer,
	take: (bytes: number) => boolean,
	{ encoding, multipart }: FormType,
): LongWork<readonly Uint8Array[] | RequestRefusal> {
	if (multipart && multipart.boundary === undefined)
		return refusals.UnsupportedMultipart;
	const fields = () =>
		multipart
			? multipartFields(body, multipart.boundary!)
			: urlencodedFields(body);
	try {
		return yield* fieldsText(fields(), take, encoding);
	} catch (fault) {
		if (!(fault instanceof FormFault)) throw fault;
		if (fault.code !== "UnsupportedCharset" || encoding !== undefined)
			return refusals[fault.code];
	}
	// Nothing but the form itself says what it is, if it isn't UTF-8.
	try {
		const label = yield* charsetField(fields());
		const named = label === undefined ? undefined : encodingOf(label);
		if (named === undefined || named === "utf-8")
			return refusals.UnsupportedCharset;
		return yield* fieldsText(fields(), take, named);
	} catch (fault) {
		if (!(fault instanceof FormFault)) throw fault;
		return refusals[fault.code];
	}
}

/** JSON can take six bytes for one byte of a form (\u0000), so what it takes is counted as it grows. */
function* fieldsText(
	fields: FormFields,
	take: (bytes: number) => boolean,
	encoding: string | undefined,
): LongWork<readonly Uint8Array[] | RequestRefusal> {
	const steps = formToJSON(fields, encoding);
	const parts: Buffer[] = [];
	let bytes = 0;
	let text = "";
	for (;;) {
		const { done, value } = steps.next();
		if (!done) text += value.json;
		if (done || text.length >= stepBytes) {
			const part = Buffer.from(text);
			text = "";
			bytes += part.length;
			if (bytes > maxEventBodyBytes) return bodyTooLarge(maxEventBodyBytes);
			if (!take(part.length)) return refusals.Overloaded;
			parts.push(part);
		}
		if (done) return parts;
		yield value.visited;
	}
}
