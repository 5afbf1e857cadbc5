import { stringify } from "uuid";
import {
	type TailedEvent,
	type TailMessage,
	type TailPosition,
	type TailRequest,
	tailLeaseMs,
	tailNoticeMs,
} from "../../../packages/contracts/event-tail.ts";
import { receivedState } from "../../../packages/contracts/stored-event.ts";
import type { ValidationRecord } from "../../../packages/contracts/tracking-plan.ts";
import type { ScannedEvent } from "../../wire/frame-scan.ts";

/** A person reads fewer. */
const maxEventsPerSecond = 100;
/** Of bodies and types that wait for the next message. It must fit into one. */
const maxWaitingBytes = 256 * 1024;
const bytesBesideBody = 1_024;

/** What archive keeps of one tail, bounded. All times are of a clock that never jumps. */
export class TailLease {
	readonly request: TailRequest;
	#endsAtMs: number;
	#sentAtMs = -Infinity;
	#events: TailedEvent[] = [];
	#bytes = 0;
	#leftOut = 0;
	#hasGap = false;
	#position: TailPosition | undefined;
	#second = { startMs: -Infinity, events: 0 };

	constructor(request: TailRequest, nowMs: number) {
		this.request = request;
		this.#endsAtMs = nowMs + tailLeaseMs;
	}

	renew(nowMs: number): void {
		this.#endsAtMs = nowMs + tailLeaseMs;
	}

	hasEnded(nowMs: number): boolean {
		return nowMs >= this.#endsAtMs;
	}

	/** Frames through this place count as taken. */
	startAt(position: TailPosition): void {
		this.#position = position;
	}

	/** Whether a catching up reader must wait for the next message. */
	get isFull(): boolean {
		return this.#bytes >= maxWaitingBytes;
	}

	/**
	 * Takes what a frame has for this tail. Frames come in order; one that was taken before changes nothing.
	 * @param isPaced more events in a second than a person reads are left out.
	 */
	take(
		stream: string,
		sequence: number,
		scanned: readonly ScannedEvent[],
		nowMs: number,
		isPaced = true,
	): void {
		if (this.#isBehind(stream, sequence)) return;
		const { account, sourceKey, after } = this.request;
		const first =
			after?.stream === stream && after.sequence === sequence
				? (after.index ?? Infinity) + 1
				: 0;
		for (const one of scanned) {
			if (one.event.sourceKey !== sourceKey) continue;
			// A key has one account. Nothing is shown on the word of the API alone.
			if (one.event.account !== account || one.index < first) continue;
			this.#add(sequence, one, nowMs, isPaced);
		}
		this.#position = { stream, sequence };
	}

	/** Events may be missing before what comes next. */
	skip(): void {
		this.#hasGap = true;
	}

	/** What is to be sent now; undefined if nothing is. */
	message(renewOn: string, nowMs: number): TailMessage | undefined {
		const isDue =
			this.#events.length > 0 ||
			this.#leftOut > 0 ||
			this.#hasGap ||
			nowMs - this.#sentAtMs >= tailNoticeMs;
		if (!isDue) return undefined;
		const message: TailMessage = {
			ok: true,
			renewOn,
			events: this.#events,
			...(this.#position && { position: this.#position }),
			...(this.#leftOut > 0 && { leftOut: this.#leftOut }),
			...(this.#hasGap && { hasGap: true }),
		};
		this.#events = [];
		this.#bytes = 0;
		this.#leftOut = 0;
		this.#hasGap = false;
		this.#sentAtMs = nowMs;
		return message;
	}

	#isBehind(stream: string, sequence: number): boolean {
		const position = this.#position;
		return position?.stream === stream && sequence <= position.sequence;
	}

	#add(
		sequence: number,
		one: ScannedEvent,
		nowMs: number,
		isPaced: boolean,
	): void {
		if (nowMs - this.#second.startMs >= 1_000)
			this.#second = { startMs: nowMs, events: 0 };
		const isTooFast = isPaced && this.#second.events >= maxEventsPerSecond;
		if (isTooFast || this.isFull) {
			this.#leftOut++;
			return;
		}
		this.#second.events++;
		const event = tailedEvent(sequence, one, this.request.body === true);
		this.#events.push(event);
		this.#bytes += (event.body?.length ?? 0) + bytesBesideBody;
	}
}

const maxBodyBytes = 8 * 1024;

/** What a tail shows of an event. @param withBody also the beginning of its body. */
export function tailedEvent(
	sequence: number,
	{ event, index }: ScannedEvent,
	withBody: boolean,
): TailedEvent {
	const { body, violations: text } = event;
	const { type, violations = [] }: Partial<ValidationRecord> = text
		? JSON.parse(text)
		: {};
	const kinds = [...new Set(violations.map(({ kind }) => kind))];
	return {
		sequence,
		index,
		eventID: stringify(event.id),
		time: new Date(event.receivedAtMs).toISOString(),
		...(type !== undefined && { type }),
		kind: event.kind,
		bytes: body.length,
		state: receivedState(event),
		...(kinds.length > 0 && { violations: kinds }),
		...(withBody && bodyOf(body)),
	};
}

function bodyOf(body: Uint8Array): Pick<TailedEvent, "body" | "isBodyCut"> {
	// Whole characters of UTF-8: what is cut off in the middle of one is left out.
	const text = new TextDecoder().decode(body.subarray(0, maxBodyBytes), {
		stream: true,
	});
	return {
		body: text,
		...(body.length > maxBodyBytes && { isBodyCut: true as const }),
	};
}
