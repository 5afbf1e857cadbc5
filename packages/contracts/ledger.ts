import { retainedDays } from "./retention.ts";
import type { ViolationKind } from "./tracking-plan.ts";
import { addDays, type UtcDate, utcDate } from "./utc-date.ts";

/**
 * What archive has made durable of one Source in one shard. Archive publishes it in the ledger bucket after each cut: under the
 * source key, and under {@link furtherKey} where another shard's is there. A view for people and planning: the cut records are
 * the truth and can rebuild it.
 */
export interface SourceLedger {
	version: 1;
	account: string;
	sourceKey: string;
	/** Absent in the entry of a version whose Sources had one shard. */
	shard?: number;
	/** Date of the first event ever archived. */
	firstEventDate: UtcDate;
	/** Receipt time of the latest archived event, RFC 3339. */
	lastEventTime: string;
	/** The Source's shard is archived through this stream time, RFC 3339. */
	archivedThrough: string;
	/** Events archived per date, for the dates that are retained; without those that went into quarantine. */
	archived: Record<UtcDate, number>;
	/**
	 * Events that went into quarantine per date, for the dates that are retained; absent when there are none. Those that were
	 * released since count here, and in {@link AddedLedger}.
	 */
	quarantined?: Record<UtcDate, number>;
	/** How the events of the retained dates deviate from the tracking plan; absent when none does. */
	deviations?: Deviations;
}

/** A Source that has moved has another shard's ledger here. No source key has a dot. */
export function furtherKey(sourceKey: string, shard: number): string {
	return `${sourceKey}.${shard}`;
}

/**
 * How many events of one Source were released from quarantine or imported. Archive publishes it in the ledger bucket under
 * {@link addedKey} after each release and import. It follows from their records in the bucket, and can be counted again.
 */
export interface AddedLedger {
	version: 1;
	account: string;
	sourceKey: string;
	/** By date, for the dates that are kept. */
	released: AddedByDate;
	/** What is gone from the bucket for good, by a person's word. Absent for nothing. */
	lost?: LostByDate;
}

export type LostByDate = Record<UtcDate, { events: number; objects: number }>;

export type AddedByDate = Record<UtcDate, AddedEvents>;

export interface AddedEvents {
	/** Those from quarantine that are rows now. */
	events: number;
	/** Absent in the entry of a version that didn't count them; archive counts it anew. */
	imported?: number;
	/** How many parts of releases and imports made them so. */
	releases: number;
}

/** No source key has a dot. */
export function addedKey(sourceKey: string): string {
	return `released.${sourceKey}`;
}

/** The API's request for what was counted of a Source, JSON on {@link file://./nats.ts countsSubject}. */
export interface CountsRequest {
	account: string;
	sourceKey: string;
	/** That may hold events of it. */
	shards: readonly number[];
}

/** What the bucket has of a Source that is the account's. */
export interface SourceCounts {
	ledgers: (SourceLedger | DeletedLedger)[];
	released?: AddedLedger;
}

export type CountsAnswer =
	| ({ ok: true } & SourceCounts)
	| { ok: false; error: { code: string; message: string; retryable: boolean } };

/** Deviations from the tracking plan. Senders choose types, so only so many are told apart. */
export interface Deviations {
	/** At most {@link maxDeviations}, the most frequent first. */
	entries: Deviation[];
	/** All others together; absent for none. */
	others?: DeviationCount;
}

/** The events of one type that deviate in one way. An event that deviates in two ways counts in both. */
export interface Deviation extends DeviationCount {
	/** Cut to {@link maxDeviationType} characters; absent for events without a type. */
	type?: string;
	kind: ViolationKind;
}

interface DeviationCount {
	/** Stored with a note. */
	annotated: number;
	quarantined: number;
	/** When receive got the latest of them, RFC 3339. */
	lastEventTime: string;
}

export const noneCounted = { annotated: 0, quarantined: 0 };

const maxDeviations = 20;
export const maxDeviationType = 100;

/** The entry of the ledger bucket for {@link RetentionState}. */
export const retentionKey = "retention";

export interface RetentionState {
	version: 1;
	/** Days after its date for which an event stays, unless its Source says more ({@link file://./retention.ts}). */
	days: number;
	/** What removes events then: a lifecycle rule of the store, or archive's own sweep where the store has none. */
	enforcedBy: "Lifecycle" | "Sweep";
}

/** What archive tells about a shard, under {@link shardKey}. */
export interface ShardState {
	version: 1;
	shard: number;
	/**
	 * Frames that NATS acknowledged and lost before they were archived, by the date of the loss, for the dates that are
	 * retained. A frame is one to some thousand events of any Sources of the shard.
	 */
	lostFrames: Record<UtcDate, number>;
	/** Nobody can say how many frames were lost that were stored since then, RFC 3339; absent when all are counted. */
	unknownSince?: string;
	/** Archive doesn't take the shard's events to the bucket; absent while it does. */
	stopped?: ShardStop;
	/** What an administrator did last to the shard's stream, for an Event in Kubernetes. */
	intervention?: Intervention;
}

/** By `tidemill buffer`. */
export interface Intervention {
	/** RFC 3339. */
	time: string;
	/** For people. */
	text: string;
}

/** Its words are in archive's log: they name streams and keys, and an account's people read this. */
export interface ShardStop {
	/** Archive goes on only once a person has acted and its process was restarted. Absent while it tries again by itself. */
	alarm?: string;
}

/** The entry of the ledger bucket for a shard. No source key has a dot. */
export function shardKey(shard: number): string {
	return `shard.${shard}`;
}

/** Replaces a Source's ledger once its events are deleted for good. Its source key is never used again. */
export interface DeletedLedger {
	version: 1;
	account: string;
	sourceKey: string;
	/** When archive was asked, RFC 3339. */
	deletedTime: string;
}

/** The same, of which nothing is counted. */
export function uncounted({
	quarantined: _,
	deviations: __,
	...kept
}: SourceLedger): SourceLedger {
	return { ...kept, archived: {} };
}

/** Which count an event that deviates belongs to. */
export function countOf(event: {
	quarantined?: true | undefined;
}): "annotated" | "quarantined" {
	return event.quarantined ? "quarantined" : "annotated";
}

/** What was counted in several places, as one; undefined for nothing. */
export function sumOfDeviations(
	all: readonly Deviations[],
): Deviations | undefined {
	const found = new DeviationTally();
	for (const { entries, others } of all) {
		for (const entry of entries) found.add(entry);
		found.addOthers(others);
	}
	return found.deviations();
}

export function keyOf({
	type,
	kind,
}: {
	type?: string | undefined;
	kind: string;
}) {
	return JSON.stringify([type, kind]);
}

/** Counts that are the most frequent by type and kind, and the sum of the others. */
export class DeviationTally {
	readonly #entries = new Map<string, Deviation>();
	#others: DeviationCount | undefined;

	add(entry: Deviation): void {
		const key = keyOf(entry);
		const before = this.#entries.get(key);
		this.#entries.set(
			key,
			before ? { ...before, ...sum(before, entry) } : entry,
		);
	}

	addOthers(others: DeviationCount | undefined): void {
		if (others) this.#others = sum(this.#others, others);
	}

	/** Those that are told apart are the most frequent; of equals, the first by name. */
	deviations(): Deviations | undefined {
		const all = [...this.#entries].sort(
			([a, one], [b, other]) =>
				eventsOf(other) - eventsOf(one) || (a < b ? -1 : 1),
		);
		const rest = all.slice(maxDeviations).map(([, entry]) => entry);
		const others = rest.reduce(sum, this.#others);
		if (all.length === 0 && !others) return undefined;
		return {
			entries: all.slice(0, maxDeviations).map(([, entry]) => entry),
			...(others && { others }),
		};
	}
}

function sum(
	one: DeviationCount | undefined,
	other: DeviationCount,
): DeviationCount {
	const { annotated, quarantined, lastEventTime } = other;
	if (!one) return { annotated, quarantined, lastEventTime };
	return {
		annotated: one.annotated + annotated,
		quarantined: one.quarantined + quarantined,
		lastEventTime: later(one.lastEventTime, lastEventTime),
	};
}

function eventsOf({ annotated, quarantined }: DeviationCount): number {
	return annotated + quarantined;
}

/** Times from Date.toISOString sort as strings. */
function later(a: string, b: string): string {
	return a > b ? a : b;
}

/** What all shards of a Source have of it, as one ledger; undefined for none. */
export function sumOfLedgers(
	ledgers: readonly SourceLedger[],
): SourceLedger | undefined {
	const [first, ...others] = ledgers;
	if (!first || others.length === 0) return first;
	const { version, account, sourceKey } = first;
	const times = inOrder(ledgers.map((one) => one.archivedThrough));
	const archivedThrough = times.at(-1)!;
	// A former shard has nothing new of the Source, so its ledger still counts the last dates of then.
	const oldest = addDays(utcDate(Date.parse(archivedThrough)), -retainedDays);
	const deviations = sumOfDeviations(
		ledgers.flatMap((one) =>
			one.lastEventTime < oldest ? [] : (one.deviations ?? []),
		),
	);
	const quarantined = sumByDate(
		oldest,
		ledgers.map((one) => one.quarantined ?? {}),
	);
	return {
		version,
		account,
		sourceKey,
		firstEventDate: inOrder(ledgers.map((one) => one.firstEventDate))[0]!,
		lastEventTime: inOrder(ledgers.map((one) => one.lastEventTime)).at(-1)!,
		archivedThrough,
		archived: sumByDate(
			oldest,
			ledgers.map((one) => one.archived),
		),
		...(Object.keys(quarantined).length > 0 && { quarantined }),
		...(deviations && { deviations }),
	};
}

function sumByDate(
	oldest: UtcDate,
	all: readonly Record<UtcDate, number>[],
): Record<UtcDate, number> {
	const sum: Record<UtcDate, number> = {};
	for (const date of inOrder(all.flatMap((one) => Object.keys(one))))
		if (date >= oldest)
			sum[date] = all.reduce((rows, one) => rows + (one[date] ?? 0), 0);
	return sum;
}

/** Dates, and times from Date.toISOString, sort as strings. */
function inOrder(texts: readonly string[]): string[] {
	return [...texts].sort();
}
