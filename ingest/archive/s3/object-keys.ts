import type { UtcDate } from "../../../contracts/utc-date.ts";

/** Identifies a source in the bucket. */
export interface SourceName {
	account: string;
	sourceKey: string;
}

/** The keys of all objects in the bucket. Sequences have 20 digits, so keys sort like numbers. */
export class ObjectKeys {
	readonly #prefix: string;

	/** @param prefix Folder of all keys, without leading and trailing slashes; empty for a bucket of its own. */
	constructor(prefix: string) {
		this.#prefix = prefix && `${prefix}/`;
	}

	allEvents(): string {
		return `${this.#prefix}events/`;
	}

	allCuts(): string {
		return `${this.#prefix}cuts/`;
	}

	/** Cut records of all streams that a shard has had; see contracts/nats.ts streamName. */
	cutsOfShard(shard: number): string {
		return `${this.allCuts()}tidemill-frames-${shard}-`;
	}

	cutsOfStream(stream: string): string {
		return `${this.allCuts()}${stream}/`;
	}

	cut(stream: string, first: number): string {
		return `${this.cutsOfStream(stream)}${sequence(first)}.json`;
	}

	ledgersOfShard(shard: number): string {
		return `${this.#prefix}ledgers/${shard}/`;
	}

	/** @param time Stream time of the snapshot's latest cut, RFC 3339, so the newest snapshot sorts last. */
	ledger(shard: number, time: string): string {
		return `${this.ledgersOfShard(shard)}${time}.json`;
	}

	/** One object for each cut, source and date. */
	events(
		group: SourceName & { date: UtcDate },
		stream: string,
		first: number,
	): string {
		return `${this.eventsOfDate(group)}${stream}-${sequence(first)}.parquet`;
	}

	eventsOfDate(group: SourceName & { date: UtcDate }): string {
		return `${this.eventsOfSource(group)}date=${group.date}/`;
	}

	eventsOfSource({ account, sourceKey }: SourceName): string {
		return `${this.allEvents()}account=${account}/source=${sourceKey}/`;
	}

	tombstone({ account, sourceKey }: SourceName): string {
		return `${this.tombstones()}account=${account}/source=${sourceKey}.json`;
	}

	tombstones(): string {
		return `${this.#prefix}deleted/`;
	}

	/** One record for each compacted source and date; see compaction/record.ts. */
	compaction(group: SourceName & { date: UtcDate }): string {
		return `${this.compactionsOfSource(group)}date=${group.date}.json`;
	}

	compactionsOfSource({ account, sourceKey }: SourceName): string {
		return `${this.compactions()}account=${account}/source=${sourceKey}/`;
	}

	compactions(): string {
		return `${this.#prefix}compactions/`;
	}

	allRuns(): string {
		return `${this.#prefix}runs/`;
	}

	/** A Run's manifest; each renewal of its links is a further object. */
	run(uid: string, signing = 1): string {
		return `${this.allRuns()}${uid}${signing > 1 ? `-${signing}` : ""}.json`;
	}

	/** What the Run's Job left; see {@link run}. */
	runResult(uid: string, signing: number): string {
		return `${this.allRuns()}${uid}-${signing}-result.json`;
	}

	days(): string {
		return `${this.#prefix}days/`;
	}

	day(date: UtcDate): string {
		return `${this.days()}${date}`;
	}

	/** Written at every start to check that the store supports conditional writes. */
	probe(): string {
		return `${this.#prefix}conditional-write-probe`;
	}
}

function sequence(number: number): string {
	return String(number).padStart(20, "0");
}
