import { randomFillSync } from "node:crypto";
// uuid: the field's RFC 9562 implementation. It gets its random bytes in blocks, because one call per id costs more than the rest.
import { v7 } from "uuid";
import type { TraceContext } from "../../packages/service/trace-context.ts";

/** What the sender sent: JSON text, stored as sent, or a form, stored as a JSON object. */
export type ContentKind = "json" | "form";

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
	/** Captured headers and query parameters as a JSON object, empty when there are none. */
	headers: string;
	/** The tracking plan's {@link file://../../packages/contracts/tracking-plan.ts ValidationRecord} as JSON; empty without a plan. */
	violations: string;
	/** The tracking plan keeps the event apart: it is stored, and loaded into no table until it is released. */
	quarantined?: true | undefined;
	/** Digest of the sender's idempotency key, 32 hex digits; absent when the event has none. */
	key?: string | undefined;
	/** JSON text in UTF-8. */
	body: Uint8Array;
	/** The span that stored it. It isn't in the frame's bytes: a header of the message has it, if the event has a trace. */
	trace?: TraceContext | undefined;
}

/** What a decoded event says beside its time, its id and its body. Events share it if they say the same. */
export type EventFields = Readonly<
	Omit<FrameEvent, "id" | "receivedAtMs" | "body" | "trace">
>;

/**
 * An event in its frame's bytes. An archive holds up to hundreds of thousands of events, so each is small: its id and its body are
 * views that are made anew each time, and most share their other fields.
 */
export class DecodedEvent implements FrameEvent {
	readonly receivedAtMs: number;
	trace: TraceContext | undefined;
	readonly #fields: EventFields;
	readonly #frame: Buffer;
	readonly #start: number;
	readonly #bodyAt: number;
	readonly #end: number;

	/** @param place in the frame: where the event's id begins, and where its body begins and ends. */
	constructor(
		frame: Buffer,
		place: { start: number; bodyAt: number; end: number },
		receivedAtMs: number,
		fields: EventFields,
	) {
		this.receivedAtMs = receivedAtMs;
		this.trace = undefined;
		this.#fields = fields;
		this.#frame = frame;
		this.#start = place.start;
		this.#bodyAt = place.bodyAt;
		this.#end = place.end;
	}

	get id(): Buffer {
		return this.#frame.subarray(this.#start, this.#start + 16);
	}

	get body(): Buffer {
		return this.#frame.subarray(this.#bodyAt, this.#end);
	}

	get sourceKey(): string {
		return this.#fields.sourceKey;
	}

	get account(): string {
		return this.#fields.account;
	}

	get kind(): FrameEvent["kind"] {
		return this.#fields.kind;
	}

	get headers(): string {
		return this.#fields.headers;
	}

	get violations(): string {
		return this.#fields.violations;
	}

	get quarantined(): true | undefined {
		return this.#fields.quarantined;
	}

	get key(): string | undefined {
		return this.#fields.key;
	}
}

const block = Buffer.allocUnsafe(16 * 512);
let at = block.length;

/** Makes a UUIDv7 (RFC 9562 §5.7) of this instant, 16 bytes. */
export function newEventId(nowMs: number): Buffer {
	if (at === block.length) {
		randomFillSync(block);
		at = 0;
	}
	const random = block.subarray(at, at + 16);
	at += 16;
	return v7({ msecs: nowMs, random }, Buffer.allocUnsafe(16));
}

/** The text of an id, with its hyphens (RFC 9562 §4). */
const idText = Buffer.from("00000000-0000-0000-0000-000000000000");
/** Where the text has the two digits of each byte. */
const digitsAt = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
const digits = Buffer.from("0123456789abcdef");

/** The text of an id (RFC 9562 §4), made in one piece: uuid's own `stringify` joins it from pieces, which takes more time and memory. */
export function eventIdText(id: Uint8Array): string {
	for (let i = 0; i < 16; i++) {
		const [byte, at] = [id[i]!, digitsAt[i]!];
		idText[at] = digits[byte >> 4]!;
		idText[at + 1] = digits[byte & 15]!;
	}
	return idText.toString("latin1");
}

/**
 * The time in an event's ID, a UUIDv7 (RFC 9562 §5.7), in milliseconds since the epoch; undefined for any other text. It is
 * when the event was received. Only the event of a sender's key may be later than its ID, which is that of the key's first
 * request.
 */
export function timeOfEventID(id: string): number | undefined {
	const match =
		/^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.exec(
			id,
		);
	return match ? Number.parseInt(`${match[1]}${match[2]}`, 16) : undefined;
}
