import type {
	ClaimedEntry,
	IdempotencyEntry,
	ShardProgress,
} from "../../../ingest/wire/idempotency-entry.ts";

/** All there is in the simulation, as one plain value. All requests have one key and are in one window unless it expires. */
export interface World {
	nowMs: number;
	/** The key's entry in the bucket. */
	kept?: Kept;
	/** Of the bucket. */
	lastRevision: number;
	/** Published, and neither stored nor lost. */
	onTheWay: ModelFrame[];
	/** Sequence 1 first. What objects-done has reached is purged, which changes nothing for archivers here. */
	stream: StreamFrame[];
	/** In order; each begins after the one before. */
	cuts: { last: number; copies: number[] }[];
	objectsDone: number;
	receivers: Receiver[];
	archivers: Archiver[];
	/** Events that a sender was told are stored. */
	told: string[];
	events: number;
	frames: number;
	requestsLeft: number;
	/** Frames with an event under another key, or none. */
	othersLeft: number;
	crashesLeft: number;
	expiriesLeft: number;
	expiries: number;
}

/** A frame with one event. */
export interface ModelFrame {
	event: string;
	frame: string;
}

export interface StreamFrame extends ModelFrame {
	atMs: number;
}

export interface Kept {
	entry: IdempotencyEntry;
	revision: number;
}

export interface ModelClaim {
	entry: ClaimedEntry;
	/** Undefined when NATS didn't say. */
	revision?: number;
}

/** What a receive process does next with its request, and what it knows. */
export type Receiver =
	| { at: "idle" }
	| { at: "create" | "read"; event: string }
	| { at: "look at stream"; event: string; kept: Kept }
	| {
			at: "look at archive";
			event: string;
			kept: Kept;
			stream: Omit<ShardProgress, "objectsDone">;
	  }
	| { at: "take over"; event: string; kept: Kept }
	| { at: "publish"; claim: ModelClaim }
	| { at: "await"; claim: ModelClaim; frame: ModelFrame }
	/** `frame` is there when the event is stored, else it isn't stored for certain. */
	| { at: "settle"; claim: ModelClaim; frame?: ModelFrame; kept?: Kept };

/** What an archiver does next. Frames are sequences. */
export type Archiver =
	| { at: "read" }
	| ({ at: "look" | "decide" } & Draft)
	| ({ at: "mark"; entry: IdempotencyEntry; revision: number } & Draft)
	| { at: "finish"; last: number };

/** A cut on its way: `next` is the sequence whose key is settled next. */
export interface Draft {
	cut: number;
	next: number;
	last: number;
	copies: number[];
}
