import { retainedDays, type SourceLedger } from "../../../contracts/ledger.ts";
import { addDays, type UtcDate, utcDate } from "../../../contracts/utc-date.ts";
import type { CutRecord } from "../decide/cut.ts";
import type { SourceName } from "../s3/object-keys.ts";

export interface IndexedObject {
	stream: string;
	/** First sequence of the object's cut. */
	first: number;
	rows: number;
}

export interface IndexedSource {
	account: string;
	sourceKey: string;
	firstEventDate: UtcDate;
	lastEventTime: string;
	archivedThrough: string;
	objects: Map<UtcDate, IndexedObject[]>;
}

/** The sequences of a stream's newest cut. */
export interface CutEnds {
	first: number;
	last: number;
}

/** What a shard has archived, by source and date. It derives from the shard's cut records and nothing else. */
export class LedgerIndex {
	readonly #sources = new Map<string, IndexedSource>();
	readonly #newestOfStream = new Map<string, CutEnds>();

	/** Restores an index from a snapshot. */
	static of(
		newestOfStream: Iterable<[stream: string, CutEnds]>,
		sources: Iterable<IndexedSource>,
	): LedgerIndex {
		const index = new LedgerIndex();
		for (const [stream, ends] of newestOfStream)
			index.#newestOfStream.set(stream, ends);
		for (const source of sources)
			index.#sources.set(`${source.account}/${source.sourceKey}`, source);
		return index;
	}

	get newestOfStream(): ReadonlyMap<string, CutEnds> {
		return this.#newestOfStream;
	}

	/** Adds a cut whose objects are all in the store. Each stream's cuts come in order; a known cut is ignored. */
	add(cut: CutRecord): void {
		const { first, last } = cut;
		if (last <= (this.#newestOfStream.get(cut.stream)?.last ?? 0)) return;
		this.#newestOfStream.set(cut.stream, { first, last });
		for (const group of cut.groups) {
			const { account, sourceKey, date, rows, lastEventTime } = group;
			let source = this.source(account, sourceKey);
			if (!source) {
				source = {
					account,
					sourceKey,
					firstEventDate: date,
					lastEventTime,
					archivedThrough: cut.lastFrame.time,
					objects: new Map(),
				};
				this.#sources.set(`${account}/${sourceKey}`, source);
			}
			source.firstEventDate = earlier(source.firstEventDate, date);
			source.lastEventTime = later(source.lastEventTime, lastEventTime);
			source.archivedThrough = later(
				source.archivedThrough,
				cut.lastFrame.time,
			);
			const object = { stream: cut.stream, first: cut.first, rows };
			const objects = source.objects.get(date);
			if (objects) objects.push(object);
			else source.objects.set(date, [object]);
		}
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

	/** Stream time of the latest archived frame with an event, RFC 3339; undefined before there is one. */
	get archivedThrough(): string | undefined {
		let through: string | undefined;
		for (const { archivedThrough } of this.#sources.values())
			through = later(through ?? archivedThrough, archivedThrough);
		return through;
	}
}

/** The published view of a source; see contracts/ledger.ts. */
export function ledgerOf(source: IndexedSource): SourceLedger {
	const { account, sourceKey, firstEventDate, lastEventTime } = source;
	const oldest = addDays(
		utcDate(Date.parse(source.archivedThrough)),
		-retainedDays,
	);
	return {
		version: 1,
		account,
		sourceKey,
		firstEventDate,
		lastEventTime,
		archivedThrough: source.archivedThrough,
		archived: Object.fromEntries(
			[...source.objects]
				.filter(([date]) => date >= oldest)
				.sort(([a], [b]) => (a < b ? -1 : 1))
				.map(([date, objects]) => [date, rowsOf(objects)]),
		),
	};
}

export function rowsOf(objects: readonly IndexedObject[]): number {
	return objects.reduce((sum, { rows }) => sum + rows, 0);
}

// Dates, and times from Date.toISOString, sort as strings.
function earlier(a: string, b: string): string {
	return a < b ? a : b;
}

function later(a: string, b: string): string {
	return a > b ? a : b;
}
