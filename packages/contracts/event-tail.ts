import type { ReceivedState } from "./stored-event.ts";

/**
 * A live tail: the API asks archive for a Source's new events (JSON on {@link file://./nats.ts tailSubject}), and archive
 * answers with {@link TailMessage}s until the lease ends. The API renews the lease on {@link TailMessage.renewOn}, with a new
 * reply subject each time: NATS limits archive's answers on one. Nothing of a tail is kept: when archive is gone, the API opens another one after the last position.
 */
export interface TailRequest {
	/** Names the tail in its renewals. */
	tail: string;
	account: string;
	sourceKey: string;
	/** With the beginning of the bodies. */
	body?: boolean;
	/** Events after this place, as far as the stream has them; new ones if absent. */
	after?: TailPosition;
}

export interface TailRenewal {
	tail: string;
	/** Ends it. */
	end?: true;
}

/** A place in a shard's stream. */
export interface TailPosition {
	stream: string;
	sequence: number;
	/** Of the Source's events in the frame, from 0 on; the whole frame if absent. */
	index?: number;
}

export type TailMessage =
	| {
			ok: true;
			/** Where the API renews the lease. */
			renewOn: string;
			events: TailedEvent[];
			/** Through here, the events are all sent or left out. Absent until the first frame was read. */
			position?: TailPosition;
			/** How many events more than a tail shows in a second came since the message before. */
			leftOut?: number;
			/** Events after the asked place may be missing: the stream doesn't hold them any more, or they are too many. */
			hasGap?: true;
	  }
	| { ok: false; error: { code: string; message: string } };

/** What is shown of a new event. */
export interface TailedEvent {
	sequence: number;
	index: number;
	eventID: string;
	/** When it was received, RFC 3339. */
	time: string;
	/** As its tracking plan has it; absent without a plan. */
	type?: string;
	kind: "json" | "form";
	/** Of the body. */
	bytes: number;
	state: ReceivedState;
	/** How it deviates from its plan, each kind once; absent if it doesn't. */
	violations?: string[];
	/** The beginning of the body. */
	body?: string;
	/** The body is longer. */
	isBodyCut?: true;
}

/** A lease ends this long after its opening or last renewal. */
export const tailLeaseMs = 15_000;
export const tailRenewMs = 4_000;
/** Even without events, archive says this often that it is there. */
export const tailNoticeMs = 1_000;
