import { laterInstant } from "../../../packages/contracts/clocks.ts";
import {
	type Deviations,
	type SourceLedger,
	sumOfDeviations,
} from "../../../packages/contracts/ledger.ts";
import { retainedDays } from "../../../packages/contracts/retention.ts";
import {
	addDays,
	type UtcDate,
	utcDate,
} from "../../../packages/contracts/utc-date.ts";
import type { CutRecord } from "../decide/cut.ts";
import { type CutLoss, framesOf, type Loss } from "../decide/loss.ts";
import type { SourceName } from "../s3/object-keys.ts";
import { DateObjects } from "./date-objects.ts";

export interface IndexedSource {
	account: string;
	sourceKey: string;
	firstEventDate: UtcDate;
	lastEventTime: string;
	archivedThrough: string;
	/** Of the dates that a manifest may include. A date whose objects are all lost stays, without any. */
	objects: Map<UtcDate, DateObjects>;
	/** Objects in quarantine, which aren't rows of the date. A date stays as in `objects`. */
	quarantined: Map<UtcDate, DateObjects>;
	deviations: Map<UtcDate, Deviations>;
}

/** The sequences of a stream's newest cut. */
export interface CutEnds {
	first: number;
	last: number;
}

/**
 * On how many later days the shard must have archived events before a date is forgotten. Manifests reach back fewer days,
 * but for sources whose events stay longer. Days are counted, since a clock that jumps by
 * a year has seen one day.
 */
const daysHeld = retainedDays + 2;

/** All that {@link LedgerIndex.of} restores an index from. */
export interface IndexContents {
	newestOfStream: Iterable<[stream: string, CutEnds]>;
	sources: Iterable<IndexedSource>;
	days: Iterable<UtcDate>;
	lostFrames: Iterable<[UtcDate, number]>;
}

/**
 * What a shard has archived, by source and date. It derives from the shard's cut records and nothing else. It forgets the
 * dates of more than a month ago, so its size doesn't grow with time. The records' times are NATS's and receive's: of those that
 * archive's clock calls the future none is kept against a later cut, and no date is forgotten for one.
 */
export class LedgerIndex {
	readonly #sources = new Map<string, IndexedSource>();
	readonly #newestOfStream = new Map<string, CutEnds>();
	/** The latest {@link daysHeld} days of cuts with events, ascending. */
	#days: UtcDate[] = [];
	readonly #lostFrames = new Map<UtcDate, number>();
	#archivedThrough: string | undefined;
	readonly #now: () => number;

	/** @param now in milliseconds since the epoch, by archive's clock. */
	constructor(now = Date.now) {
		this.#now = now;
	}

	/** Restores an index from a snapshot. */
	static of(contents: IndexContents, now = Date.now): LedgerIndex {
		const { newestOfStream, sources, days, lostFrames } = contents;
		const index = new LedgerIndex(now);
		for (const [date, count] of lostFrames) index.#lostFrames.set(date, count);
		for (const [stream, ends] of newestOfStream)
			index.#newestOfStream.set(stream, ends);
		for (const source of sources) {
			index.#sources.set(`${source.account}/${source.sourceKey}`, source);
			index.#reach(source.archivedThrough);
		}
		index.#days = [...days];
		return index;
	}

	get newestOfStream(): ReadonlyMap<string, CutEnds> {
		return this.#newestOfStream;
	}

	get days(): readonly UtcDate[] {
		return this.#days;
	}

	/** Frames that were lost before they were archived, by the date of the loss. */
	get lostFrames(): ReadonlyMap<UtcDate, number> {
		return this.#lostFrames;
	}

	/** Adds a cut whose objects are all in the store. Each stream's cuts come in order; a known cut is ignored. */
	add(cut: CutRecord): void {
		const { stream, first, last, groups, lastFrame, losses = [] } = cut;
		const { deviations = [] } = cut;
		if (last <= (this.#newestOfStream.get(stream)?.last ?? 0)) return;
		this.#newestOfStream.set(stream, { first, last });
		for (const loss of losses) this.#countLost(loss);
		if (groups.length === 0) return;
		const nowMs = this.#now();
		this.#reach(lastFrame.time);
		this.#see(utcDate(Date.parse(lastFrame.time)));
		for (const group of groups) {
			const { account, sourceKey, date, rows, lastEventTime } = group;
			let source = this.source(account, sourceKey);
			if (!source) {
				source = {
					account,
					sourceKey,
					firstEventDate: date,
					lastEventTime,
					archivedThrough: lastFrame.time,
					objects: new Map(),
					quarantined: new Map(),
					deviations: new Map(),
				};
				this.#sources.set(`${account}/${sourceKey}`, source);
			}
			source.firstEventDate = earlier(source.firstEventDate, date);
			source.lastEventTime = laterInstant(
				source.lastEventTime,
				lastEventTime,
				nowMs,
			);
			source.archivedThrough = laterInstant(
				source.archivedThrough,
				lastFrame.time,
				nowMs,
			);
			if (this.#isForgotten(date)) continue;
			const ofDates = group.quarantined ? source.quarantined : source.objects;
			let objects = ofDates.get(date);
			if (!objects) {
				objects = new DateObjects();
				ofDates.set(date, objects);
			}
			objects.add({ stream, first, rows });
		}
		for (const { account, sourceKey, date, ...more } of deviations) {
			const source = this.source(account, sourceKey);
			if (!source || this.#isForgotten(date)) continue;
			const before = source.deviations.get(date);
			const sum = sumOfDeviations(before ? [before, more] : [more]);
			if (sum) source.deviations.set(date, sum);
		}
	}

	/**
	 * Removes the events that are lost of a cut. Those of a cut that comes later, or of dates that are forgotten, are left out.
	 * Returns the sources that have changed; none if this was done before. A date that has no objects any more stays, so that it
	 * gets a ledger that says so.
	 */
	lose({ stream, loss }: CutLoss): IndexedSource[] {
		const changed = loss.groups.flatMap((group) => {
			const source = this.source(group.account, group.sourceKey);
			const ofDates = source?.[group.quarantined ? "quarantined" : "objects"];
			const objects = [...(ofDates?.get(group.date) ?? [])];
			const left = objects.filter(
				(object) => object.stream !== stream || object.first !== loss.from,
			);
			if (!source || left.length === objects.length) return [];
			ofDates?.set(group.date, DateObjects.of(left));
			return [source];
		});
		if (changed.length > 0) this.#countLost(loss);
		return changed;
	}

	#countLost(loss: Loss): void {
		const date = utcDate(Date.parse(loss.time));
		const before = this.#lostFrames.get(date) ?? 0;
		this.#lostFrames.set(date, before + framesOf(loss));
	}

	/** Undefined if nothing of the source is archived. */
	source(account: string, sourceKey: string): IndexedSource | undefined {
		return this.#sources.get(`${account}/${sourceKey}`);
	}

	/** Forgets a source whose events are deleted. */
	remove({ account, sourceKey }: SourceName): void {
		this.#sources.delete(`${account}/${sourceKey}`);
	}

	sources(): Iterable<IndexedSource> {
		return this.#sources.values();
	}

	/** Stream time of the latest archived frame with an event, RFC 3339; undefined before there is one. Only NATS vouches for it. */
	get archivedThrough(): string | undefined {
		return this.#archivedThrough;
	}

	#reach(time: string): void {
		this.#archivedThrough = laterInstant(
			this.#archivedThrough ?? time,
			time,
			this.#now(),
		);
	}

	/**
	 * Counts a day of cuts. A new day ends the time of the oldest date. Later days that were counted before it don't count any
	 * more: NATS's clock was ahead then, and each would take the place of a date that Runs load. With fewer days, dates stay longer.
	 */
	#see(day: UtcDate): void {
		if (this.#days.at(-1) === day) return;
		const before = this.#days.filter((each) => each < day);
		this.#days = [...before, day].slice(-daysHeld);
		const dated = [...this.#sources.values()].flatMap(
			({ objects, quarantined, deviations }) => [
				objects,
				quarantined,
				deviations,
			],
		);
		for (const map of [this.#lostFrames, ...dated])
			for (const date of map.keys())
				if (this.#isForgotten(date)) map.delete(date);
	}

	#isForgotten(date: UtcDate): boolean {
		return this.#days.length === daysHeld && date < this.#days[0]!;
	}
}

/** The published view of a source; see packages/contracts/ledger.ts. */
export function ledgerOf(
	source: IndexedSource,
	nowMs = Date.now(),
): SourceLedger {
	const { account, sourceKey, firstEventDate, lastEventTime } = source;
	const throughMs = Math.min(Date.parse(source.archivedThrough), nowMs);
	const oldest = addDays(utcDate(throughMs), -retainedDays);
	const quarantined = rowsByDate(source.quarantined, oldest);
	const deviations = sumOfDeviations(
		[...source.deviations].flatMap(([date, of]) => (date < oldest ? [] : [of])),
	);
	return {
		version: 1,
		account,
		sourceKey,
		firstEventDate,
		lastEventTime,
		archivedThrough: source.archivedThrough,
		archived: rowsByDate(source.objects, oldest),
		...(Object.keys(quarantined).length > 0 && { quarantined }),
		...(deviations && { deviations }),
	};
}

function rowsByDate(
	objects: ReadonlyMap<UtcDate, DateObjects>,
	oldest: UtcDate,
): Record<UtcDate, number> {
	return Object.fromEntries(
		[...objects]
			.filter(([date, { count }]) => date >= oldest && count > 0)
			.sort(([a], [b]) => (a < b ? -1 : 1))
			.map(([date, { rows }]) => [date, rows]),
	);
}

// Dates sort as strings.
function earlier(a: string, b: string): string {
	return a < b ? a : b;
}
