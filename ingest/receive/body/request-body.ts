import { isUtf8 } from "node:buffer";
import { maxEventBodyBytes } from "../../wire/frame.ts";
import type { ContentKind } from "../../wire/frame-event.ts";
import { type LongWork, stepBytes } from "../admission/long-work.ts";
import { type RequestRefusal, refusals } from "../request/refusal.ts";
import type { AcceptedHead } from "../request/request-head.ts";
import { formToJSON } from "../text/form.ts";
import { isJSONText } from "../text/json.ts";
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
 * The JSON text to store for a body that {@link validateText} allows: the very same bytes if they are one RFC 8259 value, or
 * the object that a form becomes. Duplicate names and lone surrogate escapes are legal and stay as sent.
 *
 * @param kind as the Content-Type names it. A JSON object or array is stored as such even if it says form, as curl's -d does.
 * @param parts of the body.
 * @param take takes bytes of receive's memory; false when there is no room.
 */
export function* jsonText(
	kind: ContentKind,
	parts: readonly Buffer[],
	take: (bytes: number) => boolean,
): LongWork<EventText | RequestRefusal> {
	if ((kind === "json" || looksLikeJSON(parts)) && (yield* isJSONText(parts)))
		return { kind: "json", parts };
	if (kind === "json") return refusals.InvalidJSON;
	const form = inOneBuffer(parts, take);
	if ("status" in form) return form;
	const text = yield* formText(form, take);
	return "status" in text ? text : { kind, parts: text };
}

/** Whether a form's bytes could be a JSON object or array. */
function looksLikeJSON(parts: readonly Buffer[]): boolean {
	const body = inOnePiece(parts);
	const first = body.find((byte) => !jsonSpace.has(byte));
	return (first === 0x7b || first === 0x5b) && isUtf8(body);
}

/** RFC 8259 §2. */
const jsonSpace = new Set(Buffer.from(" \t\r\n"));

/** JSON can take six bytes for one byte of a form (\u0000), so what it takes is counted as it grows. */
function* formText(
	form: Buffer,
	take: (bytes: number) => boolean,
): LongWork<readonly Uint8Array[] | RequestRefusal> {
	const steps = formToJSON(form);
	const parts: Buffer[] = [];
	let bytes = 0;
	let text = "";
	for (;;) {
		const { done, value } = steps.next();
		if (!done) text += value.json;
		else if (!value) return refusals.TooManyFields;
		if (done || text.length >= stepBytes) {
			const part = Buffer.from(text);
			text = "";
			bytes += part.length;
			if (bytes > maxEventBodyBytes) return refusals.BodyTooLarge;
			if (!take(part.length)) return refusals.Overloaded;
			parts.push(part);
		}
		if (done) return parts;
		yield value.visited;
	}
}
