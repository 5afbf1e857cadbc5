import type { OfShards } from "./route.ts";
import type { ViolationKind } from "./tracking-plan.ts";
import type { UtcDate } from "./utc-date.ts";

/**
 * While archive works on a request of operator's, it sends such notices, and then the answer. After some seconds without
 * either, archive has died, and its answer will never come.
 */
export interface ArchiveNotice {
	working: true;
	/** How far archive is, for people. */
	progress?: string;
}

export const noticeIntervalMs = 1_000;

/**
 * Operator's request to archive to delete all events of a Source, JSON on {@link file://./nats.ts deletionSubject}.
 * Operator repeats it until the answer says that nothing is left. No URL of the Source may still be served.
 */
export interface DeletionRequest extends OfShards {
	account: string;
	sourceKey: string;
}

export type DeletionAnswer =
	| {
			ok: true;
			/** No event of the Source is left in the bucket, nor in the stream on its way there. */
			isDone: boolean;
			/** Objects deleted for this request. */
			objects: number;
			/** While not done: events before this date are gone. */
			remainsFrom?: UtcDate;
	  }
	| { ok: false; error: { code: string; message: string; retryable: boolean } };

/**
 * Operator's request to archive to release events from quarantine, JSON on {@link file://./nats.ts releaseSubject}. An
 * Operation releases the events of a date once, however often operator repeats the request.
 */
export interface ReleaseRequest extends OfShards {
	/** metadata.uid of the Operation. */
	operation: string;
	account: string;
	sourceKey: string;
	start: UtcDate;
	end: UtcDate;
	filter: QuarantineFilter;
}

/** An event must match each field that is there. */
export interface QuarantineFilter {
	/** The events' types, as their validation records have them. */
	types?: string[];
	/** At least one of the event's violations is of these kinds. */
	kinds?: ViolationKind[];
	eventIDs?: string[];
}

/** To a request to release events from quarantine, or to add an Import's. */
export type AdditionAnswer =
	| {
			ok: true;
			/** The dates to which the Operation has added events, ascending. */
			dates: { date: UtcDate; events: number }[];
	  }
	| { ok: false; error: { code: string; message: string; retryable: boolean } };

/**
 * Operator's request to archive to erase events, JSON on {@link file://./nats.ts erasureSubject}. An Operation erases what the
 * Source has when it is asked first, however often operator repeats the request.
 */
export interface ErasureRequest extends OfShards {
	/** metadata.uid of the Operation. */
	operation: string;
	account: string;
	sourceKey: string;
	/**
	 * `Count` counts them, and changes nothing. It is a mode since an archive that doesn't know it refuses the request, where it would leave out a
	 * member that it doesn't know, and erase.
	 */
	erasure: Omit<Erasure, "mode"> & { mode: ErasureMode | "Count" };
	/** All tables are done: forget which events they were. */
	isLoaded?: boolean;
}

/** Which events, and what is left of each. */
export interface Erasure {
	mode: ErasureMode;
	/** Exactly one of both is there. */
	eventIDs?: string[];
	match?: BodyMatch;
}

/** `RemoveRow`: no table keeps a row. `BlankBody`: the row stays, without its body, headers and what they gave columns. */
export type ErasureMode = "RemoveRow" | "BlankBody";

/** What a JSON Pointer (RFC 6901) names in the body is exactly this string or number, or a list that has it. */
export type BodyMatch = { bodyPointer: string } & (
	| { equals: string; equalsNumber?: never }
	/** A JSON number, as a text: 1, 1.0 and 1e0 are one, and 2^53 + 1 isn't 2^53. */
	| { equalsNumber: string; equals?: never }
);

/** Where archive has erased, and how often: rows of events, but files of `Uploads` and `ImportParts`, and records of `Refusals`. */
export const erasurePlaces = [
	"Events",
	"CompactedInputs",
	"Quarantine",
	"Releases",
	"EarlyObjects",
	"ImportParts",
	"Uploads",
	"Refusals",
] as const;
export type ErasurePlace = (typeof erasurePlaces)[number];

export type ErasureAnswer =
	| {
			ok: true;
			places: Record<ErasurePlace, number>;
			/** A manifest whose snapshot is later has none of the events. RFC 3339. */
			time: string;
	  }
	| { ok: false; error: { code: string; message: string; retryable: boolean } };

/**
 * An archive's request to that of another shard of a Source: archive what the shard has of it, then say what that is. JSON on
 * {@link file://./nats.ts shareSubject}.
 */
export interface ShareRequest {
	account: string;
	sourceKey: string;
	/** Dates before this one are known. */
	from?: UtcDate;
}

export type ShareAnswer =
	| {
			ok: true;
			/** Absent if the shard has no events of the Source. */
			firstEventDate?: UtcDate;
			/** Of the dates that the shard's index holds. */
			dates: SharedDate[];
			/** There are more from this date on. */
			next?: UtcDate;
	  }
	| { ok: false; error: { code: string; message: string; retryable: boolean } };

/** The objects of a date and those in quarantine, by stream: see ingest/archive/ledger/date-objects.ts. */
export interface SharedDate {
	date: UtcDate;
	objects: [stream: string, packed: string][];
	quarantined: [stream: string, packed: string][];
}

/**
 * Each archive process keeps one in the bucket `archives`, under a key of its own: from before it reads its first frame, and
 * again every {@link announceEveryMs}, until it stops. Receive writes a frame of a newer version only once every living
 * archive of the shard reads that version, so an upgrade in the wrong order stops no shard.
 */
export interface ArchiveAnnouncement {
	/** It reads this version of the frame format and all earlier ones. */
	frameVersion: number;
	/** The shards that it archives. */
	shards: number[];
}

export const announceEveryMs = 5_000;

/**
 * An archive that has been silent for this long while another one of its shard announced has died. While none announces, the
 * last ones count: they may come back, and events are stored meanwhile.
 */
export const maxSilenceMs = 30_000;
