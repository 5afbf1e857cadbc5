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
