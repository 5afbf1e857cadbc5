import type {
	DateFolder,
	SourceName,
} from "../../../packages/bucket/object-keys.ts";
import {
	type Deviations,
	type SourceLedger,
	sumOfDeviations,
} from "../../../packages/contracts/ledger.ts";
import { retainedDays } from "../../../packages/contracts/retention.ts";
import {
	addDays,
	laterInstant,
	type UtcDate,
	utcDate,
} from "../../../packages/contracts/utc-date.ts";
import {
	kindOf,
	type ObjectKind,
	objectKinds,
	ofKind,
	perKind,
} from "../../wire/object-kinds.ts";
import type { CutRecord } from "../decide/cut.ts";
import type { ToldStream, UntoldStream } from "../decide/left-frames.ts";
import { type CutLoss, framesOf, type Loss } from "../decide/loss.ts";
import { DateObjects, type ReplacingOutput } from "./date-objects.ts";

/** A source's objects of the dates that a manifest may include. A date whose objects are all lost stays, without any. */
type ObjectsOfDates = Record<ObjectKind, Map<UtcDate, DateObjects>>;

export interface IndexedSource extends ObjectsOfDates {
	account: string;
	sourceKey: string;
	firstEventDate: UtcDate;
	lastEventTime: string;
	archivedThrough: string;
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
	/** Both are absent in the snapshots of earlier versions. */
	missing?: readonly UntoldStream[];
	told?: readonly ToldStream[];
}

/**
 * What a shard has archived, by source and date. It derives from the shard's cut records, and from the records of
 * compactions, by which it forgets the objects that they replaced. It also forgets the dates of more than a month ago. So its size
 * grows neither with time nor with closed dates. The records' times are NATS's and receive's: of those that
 * archive's clock calls the future none is kept against a later cut, and no date is forgotten for one.
 */
export class LedgerIndex {
	readonly #sources = new Map<string, IndexedSource>();
	readonly #newestOfStream = new Map<string, CutEnds>();
	readonly #changesOfDate = new Map<UtcDate, number>();
	/** The latest {@link daysHeld} days of cuts with events, ascending. */
	#days: UtcDate[] = [];
	readonly #lostFrames = new Map<UtcDate, number>();
	/** Streams that may have held frames that nobody has counted. */
	readonly #missing = new Map<string, UntoldStream>();
	/** What processes have said of them, by stream and process. Cuts of different streams come in any order. */
	readonly #told = new Map<string, Map<string, ToldStream>>();
	#archivedThrough: string | undefined;
	readonly #now: () => number;

	/** @param now in milliseconds since the epoch, by archive's clock. */
	constructor(now = Date.now) {
		this.#now = now;
	}

	/** Restores an index from a snapshot. */
	static of(contents: IndexContents, now = Date.now): LedgerIndex {
		const { newestOfStream, sources, days, lostFrames } = contents;
		const { missing = [], told = [] } = contents;
		const index = new LedgerIndex(now);
		for (const stream of missing) index.miss(stream);
		for (const of of told) index.#hear(of);
		for (const [date, count] of lostFrames) index.#lostFrames.set(date, count);
		for (const [stream, ends] of newestOfStream)
			index.#newestOfStream.set(stream, ends);
		for (const source of sources) {
			index.#sources.set(nameOfSource(source), source);
			index.#reach(source.archivedThrough);
			for (const dates of datesOf(source))
				for (const date of dates.keys()) index.#changesOfDate.set(date, 0);
		}
		index.#days = [...days];
		return index;
	}

	get newestOfStream(): ReadonlyMap<string, CutEnds> {
		return this.#newestOfStream;
	}

	/** The dates that sources have something of, and how often that has changed since the index was made. */
	get changesOfDate(): ReadonlyMap<UtcDate, number> {
		return this.#changesOfDate;
	}

	get days(): readonly UtcDate[] {
		return this.#days;
	}

	/** Frames that were lost before they were archived, by the date of the loss. */
	get lostFrames(): ReadonlyMap<UtcDate, number> {
		return this.#lostFrames;
	}

	/** Since when frames may be lost that nobody has counted, RFC 3339. */
	get unknownSince(): string | undefined {
		return this.#uncounted[0]?.since;
	}

	/** How many streams may have held them. */
	get unknownStreams(): number {
		return this.#uncounted.length;
	}

	get missing(): readonly UntoldStream[] {
		return [...this.#missing.values()];
	}

	get told(): readonly ToldStream[] {
		return [...this.#told.values()].flatMap((ofStream) => [
			...ofStream.values(),
		]);
	}

	/** The streams that nobody knows all of: some process is silent, or they held more than is cut and counted. */
	get #uncounted(): { since: string }[] {
		const streams = new Set([...this.#missing.keys(), ...this.#told.keys()]);
		return [...streams]
			.flatMap((stream) => {
				const told = this.#told.get(stream) ?? new Map<string, ToldStream>();
				const missing = this.#missing.get(stream);
				let last = this.#newestOfStream.get(stream)?.last ?? 0;
				for (const { frames } of told.values()) last += frames;
				const isKnown =
					(missing?.processes ?? []).every((process) => told.has(process)) &&
					[...told.values()].every((of) => of.last <= last);
				const since =
					missing?.since ?? [...told.values()].map((of) => of.since).sort()[0]!;
				return isKnown ? [] : [{ since }];
			})
			.sort((a, b) => (a.since < b.since ? -1 : 1));
	}

	/** It isn't known what this stream held, until its processes have said it. */
	miss({ stream, since, processes }: UntoldStream): void {
		const before = this.#missing.get(stream);
		this.#missing.set(stream, {
			stream,
			since: before ? earlier(before.since, since) : since,
			processes: [...new Set([...(before?.processes ?? []), ...processes])],
		});
	}

	#hear(told: ToldStream): void {
		const ofStream = this.#told.get(told.stream) ?? new Map();
		this.#told.set(told.stream, ofStream);
		const before = ofStream.get(told.process);
		ofStream.set(told.process, {
			...told,
			frames: told.frames + (before?.frames ?? 0),
		});
	}

	/** Adds a cut whose objects are all in the store. Each stream's cuts come in order; a known cut is ignored. */
	add(cut: CutRecord): void {
		const { stream, first, last, groups, lastFrame, losses = [] } = cut;
		const { deviations = [], left } = cut;
		if (last <= (this.#newestOfStream.get(stream)?.last ?? 0)) return;
		this.#newestOfStream.set(stream, { first, last });
		for (const loss of losses) this.#countLost(loss);
		for (const untold of left?.untold ?? []) this.miss(untold);
		for (const told of left?.told ?? []) this.#hear(told);
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
					...perKind(() => new Map()),
					deviations: new Map(),
				};
				this.#sources.set(nameOfSource(source), source);
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
			const ofDates = source[kindOf(group)];
			let objects = ofDates.get(date);
			if (!objects) {
				objects = new DateObjects();
				ofDates.set(date, objects);
			}
			objects.add({ stream, first, rows });
			this.#change(date);
		}
		for (const { account, sourceKey, date, ...more } of deviations) {
			const source = this.source(account, sourceKey);
			if (!source || this.#isForgotten(date)) continue;
			const before = source.deviations.get(date);
			const sum = sumOfDeviations(before ? [before, more] : [more]);
			if (!sum) continue;
			source.deviations.set(date, sum);
			this.#change(date);
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
			const ofDates = source?.[kindOf(group)];
			const lost = { stream, first: loss.from };
			const left = ofDates?.get(group.date)?.without(lost);
			if (!source || !left) return [];
			ofDates!.set(group.date, left);
			this.#change(group.date);
			return [source];
		});
		if (changed.length > 0) this.#countLost(loss);
		return changed;
	}

	/**
	 * Forgets the objects of a date that the outputs of its compaction replaced, once nothing can undo the compaction. No count
	 * changes: see {@link DateObjects.replace}. Returns whether that is done; false if an output replaces objects of cuts that
	 * another archive has made, and that this index learns later, or if the date has changed meanwhile.
	 */
	async replace(
		{ account, sourceKey, date, ...mark }: DateFolder,
		outputs: readonly ReplacingOutput[],
	): Promise<boolean> {
		const ofDates = () => this.source(account, sourceKey)?.[kindOf(mark)];
		const objects = ofDates()?.get(date);
		if (!objects || objects.replaced !== undefined) return true;
		if (!this.#knowsInputs(outputs)) return false;
		const { count } = objects;
		// What an index doesn't hold of them, it will never hold: the date's oldest cut records had expired when it was made.
		const left =
			(await objects.replace(outputs)) ?? (await objects.replace([]))!;
		if (ofDates()?.get(date) !== objects || objects.count !== count)
			return false;
		ofDates()!.set(date, left);
		this.#change(date);
		return true;
	}

	#knowsInputs(outputs: readonly ReplacingOutput[]): boolean {
		let [ofStream, newest] = ["", 0];
		for (const { inputs } of outputs)
			for (const { stream, first } of inputs) {
				// Nearly all are of the stream of the one before, and to look each up took as long as all the rest.
				if (stream !== ofStream)
					newest = this.#newestOfStream.get(stream)?.first ?? 0;
				ofStream = stream;
				if (first > newest) return false;
			}
		return true;
	}

	#change(date: UtcDate): void {
		this.#changesOfDate.set(date, (this.#changesOfDate.get(date) ?? 0) + 1);
	}

	#countLost(loss: Loss): void {
		const date = utcDate(Date.parse(loss.time));
		const before = this.#lostFrames.get(date) ?? 0;
		this.#lostFrames.set(date, before + framesOf(loss));
	}

	/** Undefined if nothing of the source is archived. */
	source(account: string, sourceKey: string): IndexedSource | undefined {
		return this.#sources.get(nameOfSource({ account, sourceKey }));
	}

	/** Forgets a source whose events are deleted. */
	remove(name: SourceName): void {
		const source = this.#sources.get(nameOfSource(name));
		if (!source) return;
		for (const dates of datesOf(source))
			for (const date of dates.keys()) this.#change(date);
		this.#sources.delete(nameOfSource(name));
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
		const dated = [...this.#sources.values()].flatMap(datesOf);
		for (const map of [this.#lostFrames, this.#changesOfDate, ...dated])
			for (const date of map.keys())
				if (this.#isForgotten(date)) map.delete(date);
		const isOld = ({ since }: { since: string }) =>
			this.#isForgotten(utcDate(Date.parse(since)));
		for (const [stream, missing] of this.#missing)
			if (isOld(missing)) this.#missing.delete(stream);
		for (const [stream, told] of this.#told)
			if ([...told.values()].every(isOld)) this.#told.delete(stream);
	}

	#isForgotten(date: UtcDate): boolean {
		return this.#days.length === daysHeld && date < this.#days[0]!;
	}
}

export function nameOfSource({ account, sourceKey }: SourceName): string {
	return `${account}/${sourceKey}`;
}

/** The folders of a source that the index has objects of. */
export function* foldersOf({
	account,
	sourceKey,
	...source
}: IndexedSource): Generator<{ folder: DateFolder; objects: DateObjects }> {
	for (const kind of objectKinds)
		for (const [date, objects] of source[kind])
			yield { folder: ofKind({ account, sourceKey, date }, kind), objects };
}

function datesOf(source: IndexedSource) {
	return [...objectKinds.map((kind) => source[kind]), source.deviations];
}

/** The published view of a source; see packages/contracts/ledger.ts. */
export function ledgerOf(
	source: IndexedSource,
	nowMs = Date.now(),
): SourceLedger {
	const { account, sourceKey, firstEventDate, lastEventTime } = source;
	const throughMs = Math.min(Date.parse(source.archivedThrough), nowMs);
	const oldest = addDays(utcDate(throughMs), -retainedDays);
	const { objects: archived, ...others } = perKind((kind) =>
		rowsByDate(source[kind], oldest),
	);
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
		archived,
		...Object.fromEntries(
			Object.entries(others).filter(([, of]) => Object.keys(of).length > 0),
		),
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
