import type {
	TailedEvent,
	TailPosition,
} from "../../packages/contracts/live/event-tail.ts";

/** Whose new events are asked for. */
export interface TailQuestion {
	account: string;
	sourceKey: string;
	shard: number;
	withBody: boolean;
	after?: TailPosition | undefined;
}

/** What a tail learns of archive. */
export interface TailListener {
	/** @param stream that the events are in. */
	onEvents(events: TailedEvent[], stream: string): void;
	/** Events were left out: so many, or undefined if nobody knows how many. */
	onLeftOut(count: number | undefined): void;
	/** Archive shows events from now on, or doesn't, for a reason that is known or not. */
	onArchive(isThere: boolean, reason?: "TooManyTails"): void;
}
