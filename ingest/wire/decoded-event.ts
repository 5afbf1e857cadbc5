import type { TraceContext } from "../../service/tracing/trace-context.ts";
import type { FrameEvent } from "./frame-event.ts";

/** What a decoded event says beside its id and its body. */
type Fields = Omit<FrameEvent, "id" | "body" | "trace">;

/**
 * An event in its frame's bytes. Its id and its body are views that are made anew each time: an archive holds tens of thousands of
 * events, and two views of each took half of the time to decode them.
 */
export class DecodedEvent implements FrameEvent {
	readonly receivedAtMs: number;
	readonly sourceKey: string;
	readonly account: string;
	readonly kind: FrameEvent["kind"];
	readonly headers: string;
	readonly violations: string;
	readonly quarantined: true | undefined;
	readonly key: string | undefined;
	trace: TraceContext | undefined;
	readonly #frame: Buffer;
	readonly #start: number;
	readonly #bodyAt: number;
	readonly #end: number;

	/** @param place in the frame: where the event's id begins, and where its body begins and ends. */
	constructor(
		frame: Buffer,
		place: { start: number; bodyAt: number; end: number },
		fields: Fields,
	) {
		this.receivedAtMs = fields.receivedAtMs;
		this.sourceKey = fields.sourceKey;
		this.account = fields.account;
		this.kind = fields.kind;
		this.headers = fields.headers;
		this.violations = fields.violations;
		this.quarantined = fields.quarantined;
		this.key = fields.key;
		this.trace = undefined;
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
}
