import { maxFrameBytes } from "../../packages/contracts/nats.ts";
import {
	parseTraceparent,
	type TraceContext,
	traceparent,
} from "../../packages/service/trace-context.ts";
import {
	type ContentKind,
	DecodedEvent,
	type FrameEvent,
} from "./frame-event.ts";
import { SharedFields } from "./shared-fields.ts";

/**
 * A frame is one JetStream message: the events that were committed together. A frame with a quarantined event has version 3
 * of this format, any other with an idempotency key version 2, and the rest version 1.
 *
 * All integers are big-endian.
 *
 *     frame   "TMF" version:u8 process:16 bytes number:u48 voids:u16 {number:u48}… events:u32 {event}…
 *     event   length:u32 (of what follows) id:16 bytes receivedAt:u48 (ms since the epoch) sourceKey:16 bytes
 *             kind:u8 account:u8+bytes headers:u16+JSON violations:u16+JSON [key:16 bytes] body (the rest, untouched)
 *
 * From version 2 on the highest bit of kind says whether the event has a key. In version 3 the next bit says whether the
 * event is quarantined.
 */

const kinds: readonly ContentKind[] = ["json", "form"];

/** An event without its body. */
export type EventHead = Omit<FrameEvent, "body" | "trace">;

export interface Frame {
	/** Who numbers the frames: 128 random bits as 32 hex digits. A receive process takes new ones for each stream. */
	process: string;
	/** 1, 2, 3… within the process. */
	number: number;
	/** Numbers of this process whose frames were refused or given up. */
	voided: number[];
	events: FrameEvent[];
}

/** The bytes are not a frame of a known version. Archive stops at such a message and never skips it. */
export class FrameError extends Error {
	override name = "FrameError";
}

/** A namespace (RFC 1123 label). It becomes a part of object keys. */
export const accountForm = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** The last instant whose date has four digits for the year, as object keys and partitions have. */
const maxReceivedAtMs = Date.UTC(10_000, 0) - 1;

const magic = Buffer.from("TMF", "latin1");
const fixedEventBytes = 16 + 6 + 16 + 1;
const keyBytes = 16;
const keyBit = 0x80;
const quarantinedBit = 0x40;

export type FrameVersion = 1 | 2 | 3;

/** The newest version that this program reads and writes. */
export const newestFrameVersion: FrameVersion = 3;

/** The largest body that fits into a frame beside its captured headers (at most twice Node's 16 KiB) and the frame's own bytes. */
export const maxEventBodyBytes = maxFrameBytes - 64 * 1024;

/** The JetStream message id of a frame. Within the duplicate window the server drops a repeat with the same id. */
export function frameId(process: string, number: number): string {
	return `${process}.${number}`;
}

/** Encodes one event, head and body apart. Throws as {@link encodeEventHead} does. */
export function encodeEvent(
	event: FrameEvent,
): [head: Buffer, body: Uint8Array] {
	return [encodeEventHead(event, event.body.length), event.body];
}

/**
 * Encodes what precedes an event's body in a frame.
 * Throws {@link RangeError} if account, headers or violations are too long for their length fields.
 */
export function encodeEventHead(event: EventHead, bodyBytes: number): Buffer {
	const accountBytes = Buffer.byteLength(event.account);
	const headersBytes = Buffer.byteLength(event.headers);
	const violationsBytes = Buffer.byteLength(event.violations);
	const headBytes =
		4 +
		fixedEventBytes +
		1 +
		accountBytes +
		2 +
		headersBytes +
		2 +
		violationsBytes +
		(event.key === undefined ? 0 : keyBytes);
	const head = Buffer.allocUnsafe(headBytes);
	let at = head.writeUInt32BE(headBytes - 4 + bodyBytes, 0);
	head.set(event.id, at);
	at = head.writeUIntBE(event.receivedAtMs, at + 16, 6);
	at += head.write(event.sourceKey, at, 16, "hex");
	const kind =
		kinds.indexOf(event.kind) |
		(event.key === undefined ? 0 : keyBit) |
		(event.quarantined ? quarantinedBit : 0);
	at = head.writeUInt8(kind, at);
	at = head.writeUInt8(accountBytes, at);
	at += head.write(event.account, at);
	at = head.writeUInt16BE(headersBytes, at);
	at += head.write(event.headers, at);
	at = head.writeUInt16BE(violationsBytes, at);
	at += head.write(event.violations, at);
	if (event.key !== undefined) head.write(event.key, at, keyBytes, "hex");
	return head;
}

/** The oldest version that can hold the event. A frame has the newest of its events' versions, so that archives of an earlier release read all they can. */
export function frameVersionOf({
	key,
	quarantined,
}: Pick<EventHead, "key" | "quarantined">): FrameVersion {
	if (quarantined) return 3;
	return key === undefined ? 1 : 2;
}

/** Encodes the head of a frame. The encoded events follow it in order. @param version see {@link frameVersionOf}. */
export function encodeFrameHead(
	process: string,
	number: number,
	voided: readonly number[],
	eventCount: number,
	version: FrameVersion = 1,
): Buffer {
	const head = Buffer.allocUnsafe(4 + 16 + 6 + 2 + voided.length * 6 + 4);
	let at = magic.copy(head);
	at = head.writeUInt8(version, at);
	at += head.write(process, at, 16, "hex");
	at = head.writeUIntBE(number, at, 6);
	at = head.writeUInt16BE(voided.length, at);
	for (const other of voided) at = head.writeUIntBE(other, at, 6);
	head.writeUInt32BE(eventCount, at);
	return head;
}

/**
 * Decodes a frame. Bodies are views into `bytes`, not copies.
 * Throws {@link FrameError} for an unknown version, a wrong length, or what can't be a part of an object key.
 * @param shared among the frames whose events are held at once.
 */
export function decodeFrame(
	bytes: Uint8Array,
	shared = new SharedFields(),
): Frame {
	const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	try {
		return decode(buffer, shared);
	} catch (error) {
		if (!(error instanceof RangeError)) throw error;
		throw new FrameError(`the frame ends too early (${buffer.length} bytes)`);
	}
}

function decode(buffer: Buffer, shared: SharedFields): Frame {
	if (!buffer.subarray(0, 3).equals(magic))
		throw new FrameError("the message is not a frame");
	const version = buffer[3];
	if (version !== 1 && version !== 2 && version !== 3)
		throw new FrameError(
			`the frame's format is version ${version}; this archive knows versions 1 to ${newestFrameVersion}. Upgrade archive before receive.`,
		);
	const process = buffer.toString("hex", 4, 20);
	const number = buffer.readUIntBE(20, 6);
	const voidCount = buffer.readUInt16BE(26);
	let at = 28;
	const voided: number[] = [];
	for (let i = 0; i < voidCount; i++, at += 6)
		voided.push(buffer.readUIntBE(at, 6));
	const eventCount = buffer.readUInt32BE(at);
	at += 4;
	const events: FrameEvent[] = [];
	for (let i = 0; i < eventCount; i++) {
		const start = at + 4;
		const end = start + buffer.readUInt32BE(at);
		const event = decodeEvent(buffer, start, end, version, shared);
		if (event.receivedAtMs > maxReceivedAtMs)
			throw new FrameError("an event was received after the year 9999");
		events.push(event);
		at = end;
	}
	if (at !== buffer.length)
		throw new FrameError(
			`the frame has ${buffer.length} bytes, but its lengths add up to ${at}`,
		);
	return { process, number, voided, events };
}

/** Decodes the event between two places of a frame. Throws as {@link decodeFrame} does. */
export function decodeEvent(
	buffer: Buffer,
	start: number,
	end: number,
	version: FrameVersion,
	shared: SharedFields,
): DecodedEvent {
	const kindByte = buffer.readUInt8(start + 38);
	const hasKey = version >= 2 && (kindByte & keyBit) !== 0;
	const isQuarantined = version >= 3 && (kindByte & quarantinedBit) !== 0;
	const kind =
		kinds[
			kindByte - (hasKey ? keyBit : 0) - (isQuarantined ? quarantinedBit : 0)
		];
	if (kind === undefined) throw new FrameError("unknown content kind");
	const accountAt = start + fixedEventBytes + 1;
	const headersAt = accountAt + buffer.readUInt8(accountAt - 1);
	const violationsAt = headersAt + 2 + buffer.readUInt16BE(headersAt);
	const keyAt = violationsAt + 2 + buffer.readUInt16BE(violationsAt);
	const bodyAt = keyAt + (hasKey ? keyBytes : 0);
	if (end > buffer.length || bodyAt > end) throw new RangeError();
	let fields = shared.get(buffer, start + 22, headersAt, () => {
		const account = buffer.toString("utf8", accountAt, headersAt);
		if (!accountForm.test(account))
			throw new FrameError("an event's account is not a namespace");
		return {
			sourceKey: buffer.toString("hex", start + 22, start + 38),
			account,
			kind,
			headers: "",
			violations: "",
			quarantined: isQuarantined || undefined,
			key: undefined,
		};
	});
	// Without headers, violations and a key only two zero lengths follow the account.
	if (bodyAt > headersAt + 4)
		fields = {
			...fields,
			headers: buffer.toString("utf8", headersAt + 2, violationsAt),
			violations: buffer.toString("utf8", violationsAt + 2, keyAt),
			key: hasKey ? buffer.toString("hex", keyAt, bodyAt) : undefined,
		};
	const receivedAtMs = buffer.readUIntBE(start + 16, 6);
	return new DecodedEvent(buffer, { start, bodyAt, end }, receivedAtMs, fields);
}

/** The header of a frame's message. It has a value for each event with a trace: its place in the frame, and its span. */
export const traceHeader = "Tidemill-Trace";

/** A frame has room for the headers of so many. */
export const maxFrameTraces = 64;

export function frameTrace(index: number, context: TraceContext): string {
	return `${index} ${traceparent(context)}`;
}

/** The spans by their events' places. What isn't one is left out: a trace is never a reason to lose an event. */
export function readFrameTraces(
	values: readonly string[],
): Map<number, TraceContext> {
	const traces = new Map<number, TraceContext>();
	for (const value of values.slice(0, maxFrameTraces)) {
		const [, index, text] = /^(\d{1,9}) (\S+)$/.exec(value) ?? [];
		const parsed = parseTraceparent(text);
		if (!parsed) continue;
		const { traceId, spanId } = parsed;
		traces.set(Number(index), { traceId, spanId });
	}
	return traces;
}
