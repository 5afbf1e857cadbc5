import { streamName } from "../../../packages/contracts/nats.ts";
import type { UtcDate } from "../../../packages/contracts/utc-date.ts";

/** Identifies a source in the bucket. */
export interface SourceName {
	account: string;
	sourceKey: string;
}

/** A folder of objects: a source's events of one date, or those of them in quarantine. */
export interface DateFolder extends SourceName {
	date: UtcDate;
	quarantined?: true;
}

const endOfName = `-${"0".repeat(20)}.parquet`.length;

/** Which cut made the object of a date's folder with this name (see {@link ObjectKeys.events}). Throws if none did. */
export function cutOfName(name: string): { stream: string; first: number } {
	const stream = name.slice(0, -endOfName);
	const end = name.slice(-endOfName);
	if (stream === "" || !/^-\d{20}\.parquet$/.test(end))
		throw new Error(`${name} isn't the name of an object that a cut has made`);
	return { stream, first: Number(end.slice(1, 21)) };
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

	/** Not among the events, so that no reader of events finds them. */
	allQuarantined(): string {
		return `${this.#prefix}quarantine/`;
	}

	/** Rows that were released from quarantine, beside their records; see lake/release/release-store.ts. */
	allReleases(): string {
		return `${this.#prefix}releases/`;
	}

	releasesOfSource({ account, sourceKey }: SourceName): string {
		return `${this.allReleases()}account=${account}/source=${sourceKey}/`;
	}

	releasesOfDate(folder: DateFolder): string {
		return `${this.releasesOfSource(folder)}date=${folder.date}/`;
	}

	/** The record with this number. */
	release(folder: DateFolder, number: number): string {
		return `${this.releasesOfDate(folder)}${String(number).padStart(12, "0")}.json`;
	}

	/** @param attempt tells objects apart of which only one gets the record. */
	released(folder: DateFolder, number: number, attempt: string): string {
		return this.release(folder, number).replace(
			/\.json$/,
			`-${attempt}.parquet`,
		);
	}

	allCuts(): string {
		return `${this.#prefix}cuts/`;
	}

	/** Cut records of all streams that a shard has had; see packages/contracts/nats.ts streamName. */
	cutsOfShard(shard: number): string {
		return `${this.allCuts()}${streamsOf(shard)}`;
	}

	cutsOfStream(stream: string): string {
		return `${this.allCuts()}${stream}/`;
	}

	cut(stream: string, first: number): string {
		return `${this.cutsOfStream(stream)}${sequence(first)}.json`;
	}

	/** What counts as lost of cuts; see archive/losses.ts. */
	allLosses(): string {
		return `${this.#prefix}losses/`;
	}

	lossesOfShard(shard: number): string {
		return `${this.allLosses()}${streamsOf(shard)}`;
	}

	/** @param first of the cut. */
	loss(stream: string, first: number): string {
		return `${this.allLosses()}${stream}/${sequence(first)}.json`;
	}

	ledgersOfShard(shard: number): string {
		return `${this.#prefix}ledgers/${shard}/`;
	}

	/**
	 * The newest snapshot sorts last, and those of earlier versions, whose keys are times, before all.
	 * @param number No clock says which is the newest: one that was ahead would say so for as long.
	 */
	ledger(shard: number, number: number): string {
		return `${this.ledgersOfShard(shard)}snapshot-${sequence(number)}.json`;
	}

	/** A part of a snapshot: some sources' objects of one date. Sorts before all snapshots. `name` is unlike all others. */
	ledgerPart(shard: number, date: UtcDate, name: string): string {
		return `${this.ledgersOfShard(shard)}parts/date=${date}/${name}.json`;
	}

	/** One object for each cut, source and date, and one for those of its events in quarantine. */
	events(folder: DateFolder, stream: string, first: number): string {
		return `${this.eventsOfDate(folder)}${stream}-${sequence(first)}.parquet`;
	}

	eventsOfDate(folder: DateFolder): string {
		const source = folder.quarantined
			? this.quarantineOfSource(folder)
			: this.eventsOfSource(folder);
		return `${source}date=${folder.date}/`;
	}

	eventsOfSource({ account, sourceKey }: SourceName): string {
		return `${this.allEvents()}account=${account}/source=${sourceKey}/`;
	}

	quarantineOfSource({ account, sourceKey }: SourceName): string {
		return `${this.allQuarantined()}account=${account}/source=${sourceKey}/`;
	}

	/** What Runs got of sources before it was cut; see ingest/lake/manifest/early-objects.ts. Not among the events. */
	allEarly(): string {
		return `${this.#prefix}early/`;
	}

	earlyOfSource({ account, sourceKey }: SourceName): string {
		return `${this.allEarly()}account=${account}/source=${sourceKey}/`;
	}

	early(folder: DateFolder, name: string): string {
		return `${this.earlyOfSource(folder)}date=${folder.date}/${name}`;
	}

	allErasures(): string {
		return `${this.#prefix}erasures/`;
	}

	/** What was erased of a source; see lake/erasure/erasure-store.ts. */
	erasuresOfSource({ account, sourceKey }: SourceName): string {
		return `${this.allErasures()}account=${account}/source=${sourceKey}/`;
	}

	tombstone({ account, sourceKey }: SourceName): string {
		return `${this.tombstones()}account=${account}/source=${sourceKey}.json`;
	}

	tombstones(): string {
		return `${this.#prefix}deleted/`;
	}

	/** The log of {@link allReleases}; see archive/write/numbered-log.ts. */
	additions(): string {
		return `${this.#prefix}additions/`;
	}

	/** The log of tombstones. */
	deletions(): string {
		return `${this.#prefix}deletions/`;
	}

	/** One record for each compacted folder; see lake/compaction/record.ts. */
	compaction(folder: DateFolder): string {
		return `${this.compactionsOfSource(folder)}date=${folder.date}.json`;
	}

	/** Of its events, or of those in quarantine. */
	compactionsOfSource({
		account,
		sourceKey,
		quarantined,
	}: SourceName & Pick<DateFolder, "quarantined">): string {
		const all = quarantined ? this.quarantineCompactions() : this.compactions();
		return `${all}account=${account}/source=${sourceKey}/`;
	}

	compactions(): string {
		return `${this.#prefix}compactions/`;
	}

	/** Apart from the others: readers of the bucket take those for the events'. */
	quarantineCompactions(): string {
		return `${this.#prefix}quarantine-compactions/`;
	}

	/** Which of a shard's compactions nothing is left to remove of; see lake/compaction/shard-records.ts. */
	checkedCompactions(shard: number): string {
		return `${this.#prefix}checked/compactions-${shard}/`;
	}

	/** Which objects a reader of the bucket reads; see lake/lists/lister.ts. */
	allLists(): string {
		return `${this.#prefix}lists/`;
	}

	listsOfSource({ account, sourceKey }: SourceName): string {
		return `${this.allLists()}account=${account}/source=${sourceKey}/`;
	}

	/** @param name a shard's number, or `released`. */
	list(group: SourceName & { date: UtcDate }, name: string | number): string {
		return `${this.listsOfSource(group)}date=${group.date}/${name}.txt`;
	}

	/** How long sources' events stay, for those that say; see lake/retention/source-retention.ts. */
	allRetentions(): string {
		return `${this.#prefix}retention/`;
	}

	retentionsOfSource({ account, sourceKey }: SourceName): string {
		return `${this.allRetentions()}account=${account}/source=${sourceKey}/`;
	}

	/** What the ledger says of single dates, for those that it forgets before their events go; see lake/retention/date-ledgers.ts. */
	allDates(): string {
		return `${this.#prefix}dates/`;
	}

	datesOfSource({ account, sourceKey }: SourceName): string {
		return `${this.allDates()}account=${account}/source=${sourceKey}/`;
	}

	ledgersOfDate(group: SourceName & { date: UtcDate }): string {
		return `${this.datesOfSource(group)}date=${group.date}/ledger`;
	}

	/** @param shard undefined for that of an earlier version, of a source that had one shard. */
	ledgerOfDate(
		group: SourceName & { date: UtcDate },
		shard: number | undefined,
	): string {
		const suffix = shard === undefined ? "" : `-${shard}`;
		return `${this.ledgersOfDate(group)}${suffix}.json`;
	}

	/** Files that people upload, for Imports. */
	allUploads(): string {
		return `${this.#prefix}uploads/`;
	}

	uploadsOf(account: string): string {
		return `${this.allUploads()}account=${account}/`;
	}

	upload(account: string, sha256: string): string {
		return this.uploadsOf(account) + sha256;
	}

	/** Links that were given for uploads; see lake/manifest/uploads.ts. */
	uploadLinksOf(account: string): string {
		return `${this.allUploads()}links/account=${account}/`;
	}

	/** What Imports' Jobs leave for archive. */
	allImports(): string {
		return `${this.#prefix}imports/`;
	}

	importsOfSource({ account, sourceKey }: SourceName): string {
		return `${this.allImports()}account=${account}/source=${sourceKey}/`;
	}

	/** @param operation its uid. @param part from 1. */
	importPart(source: SourceName, operation: string, part: number): string {
		return `${this.importsOfSource(source)}${operation}/${part}`;
	}

	allRuns(): string {
		return `${this.#prefix}runs/`;
	}

	/** A Run's manifest; each renewal of its links is a further object. */
	run(uid: string, signing = 1): string {
		return `${this.allRuns()}${uid}${signing > 1 ? `-${signing}` : ""}.json`;
	}

	/** Which cuts the Run's manifest has; see lake/request/shares.ts. */
	runThrough(uid: string): string {
		return `${this.allRuns()}${uid}-through.json`;
	}

	/** What the Run's Job left; see {@link run}. */
	runResult(uid: string, signing: number): string {
		return `${this.allRuns()}${uid}-${signing}-result.json`;
	}

	/** The end of the log of the last Job of a Run or an Operation. The account is part of the key, so nobody asks for another's. */
	log({ run, account }: { run: string; account: string }): string {
		return `${this.allRuns()}account=${account}/${run}.log`;
	}

	/** What an Operation's Job found; see {@link run}. */
	report(uid: string, signing: number): string {
		return `${this.allRuns()}${uid}-${signing}-report.json`;
	}

	days(): string {
		return `${this.#prefix}days/`;
	}

	day(date: UtcDate): string {
		return `${this.days()}${date}`;
	}

	/** Which archive works on the whole bucket; see lake/retention/turns.ts. */
	turns(name: string): string {
		return `${this.#prefix}turns/${name}/`;
	}

	/** How far work on the whole bucket has come that takes more than one turn. */
	cursors(name: string): string {
		return `${this.#prefix}cursors/${name}/`;
	}

	/** Written at every start to check that the store supports conditional writes. */
	probe(): string {
		return `${this.#prefix}conditional-write-probe`;
	}
}

function sequence(number: number): string {
	return String(number).padStart(20, "0");
}

/** What the names of all the streams of a shard begin with. */
function streamsOf(shard: number): string {
	return streamName(shard, "");
}
