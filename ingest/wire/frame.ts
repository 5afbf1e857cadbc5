/**
 * A frame is one JetStream message: the events that were committed together. This is its wire format, version 1, and
 * version 2, which a frame has that holds an event with an idempotency key.
 *
 * All integers are big-endian.
 *
 *     frame   "TMF" version:u8 process:16 bytes number:u48 voids:u16 {number:u48}… events:u32 {event}…
 *     event   length:u32 (of what follows) id:16 bytes receivedAt:u48 (ms since the epoch) sourceKey:16 bytes
 *             kind:u8 account:u8+bytes headers:u16+JSON violations:u16+JSON [key:16 bytes] body (the rest, untouched)
 *
 * In version 2 the highest bit of kind says that the event has a key.
 */

/** What the sender's body was: JSON text as it came, or a form turned into a JSON object. */
export type ContentKind = "json" | "form";

const kinds: readonly ContentKind[] = ["json", "form"];

export interface FrameEvent {
	/** UUIDv7, 16 bytes. */
	id: Uint8Array;
	/** Receipt time, milliseconds since the epoch; the same clock reading as in the id. */
	receivedAtMs: number;
	/** 32 hex digits. */
	sourceKey: string;
	/** Namespace of the Source. */
	account: string;
	kind: ContentKind;
	/** Captured headers as a JSON object, empty when there are none. */
	headers: string;
	/** What the tracking plan found, as JSON; empty when there is no plan or nothing to say. */
	violations: string;
	/** Digest of the sender's idempotency key, 32 hex digits; absent when the event has none. */
	key?: string | undefined;
	/** JSON text, UTF-8, byte for byte as it came. */
	body: Uint8Array;
}

/** An event without its body. */
export type EventHead = Omit<FrameEvent, "body">;

export interface Frame {
	/** The receive process: 128 random bits of its start, 32 hex digits. */
	process: string;
	/** 1, 2, 3… within the process. */
	number: number;
	/** Numbers of this process that were never stored and never will be. */
	voided: number[];
	events: FrameEvent[];
}

/** The bytes can't be a frame of a version that we know. Archive stops at one: it never skips. */
export class FrameError extends Error {
	override name = "FrameError";
}

const magic = Buffer.from("TMF", "latin1");
const fixedEventBytes = 16 + 6 + 16 + 1;
const keyBytes = 16;
const keyBit = 0x80;

export type FrameVersion = 1 | 2;

/** The JetStream message id of a frame: a repeat under it is dropped by the server for the duplicate window. */
export function frameId(process: string, number: number): string {
	return `${process}.${number}`;
}

/** One event as it stands in a frame, head and body apart. Throws as {@link encodeEventHead} does. */
export function encodeEvent(
	event: FrameEvent,
): [head: Buffer, body: Uint8Array] {
	return [encodeEventHead(event, event.body.length), event.body];
}

/**
 * What stands in a frame before an event's body, which need not be one piece.
 * Throws {@link RangeError} if account, headers or violations are longer than their length fields can say.
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
	const kind = kinds.indexOf(event.kind);
	at = head.writeUInt8(event.key === undefined ? kind : kind | keyBit, at);
	at = head.writeUInt8(accountBytes, at);
	at += head.write(event.account, at);
	at = head.writeUInt16BE(headersBytes, at);
	at += head.write(event.headers, at);
	at = head.writeUInt16BE(violationsBytes, at);
	at += head.write(event.violations, at);
	if (event.key !== undefined) head.write(event.key, at, keyBytes, "hex");
	return head;
}

/** The head of a frame; the encoded events follow it in order. @param version 2 when one of them has a key. */
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
 * Reads a frame. Bodies are views into `bytes`, not copies.
 * Throws {@link FrameError} for another version or bytes that end too early or too late.
 */
export function decodeFrame(bytes: Uint8Array): Frame {
	const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	try {
		return decode(buffer);
	} catch (error) {
		if (!(error instanceof RangeError)) throw error;
		throw new FrameError(`the frame ends too early (${buffer.length} bytes)`);
	}
}

function decode(buffer: Buffer): Frame {
	if (!buffer.subarray(0, 3).equals(magic))
		throw new FrameError("the message is not a frame");
	const version = buffer[3];
	if (version !== 1 && version !== 2)
		throw new FrameError(
			`the frame's format is version ${version}; this archive knows versions 1 and 2. Upgrade archive before receive.`,
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
		const end = at + 4 + buffer.readUInt32BE(at);
		events.push(decodeEvent(buffer, at + 4, end, version));
		at = end;
	}
	if (at !== buffer.length)
		throw new FrameError(
			`the frame has ${buffer.length} bytes where ${at} were announced`,
		);
	return { process, number, voided, events };
}

function decodeEvent(
	buffer: Buffer,
	start: number,
	end: number,
	version: FrameVersion,
): FrameEvent {
	const kindByte = buffer.readUInt8(start + 38);
	const hasKey = version === 2 && kindByte >= keyBit;
	const kind = kinds[hasKey ? kindByte - keyBit : kindByte];
	if (kind === undefined) throw new FrameError("unknown content kind");
	let at = start + fixedEventBytes;
	const text = (lengthBytes: 1 | 2): string => {
		const length = buffer.readUIntBE(at, lengthBytes);
		at += lengthBytes + length;
		return buffer.toString("utf8", at - length, at);
	};
	const account = text(1);
	const headers = text(2);
	const violations = text(2);
	const keyAt = at;
	if (hasKey) at += keyBytes;
	if (end > buffer.length || at > end) throw new RangeError();
	const event: FrameEvent = {
		id: buffer.subarray(start, start + 16),
		receivedAtMs: buffer.readUIntBE(start + 16, 6),
		sourceKey: buffer.toString("hex", start + 22, start + 38),
		account,
		kind,
		headers,
		violations,
		body: buffer.subarray(at, end),
	};
	if (hasKey) event.key = buffer.toString("hex", keyAt, at);
	return event;
}
