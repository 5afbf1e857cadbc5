import { streamName } from "../contracts/nats.ts";
import type { UtcDate } from "../contracts/utc-date.ts";

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

/** Which cut made the object of a date's folder with this name (see {@link objectKeys} `events`). Throws if none did. */
export function cutOfName(name: string): { stream: string; first: number } {
	const stream = name.slice(0, -endOfName);
	const end = name.slice(-endOfName);
	if (stream === "" || !/^-\d{20}\.parquet$/.test(end))
		throw new Error(`${name} isn't the name of an object that a cut has made`);
	return { stream, first: Number(end.slice(1, 21)) };
}

/** How long early objects stay. */
export const earlyDays = 3;

/** How long the objects of a folder stay that has objects of sources. */
interface FolderLife {
	/**
	 * While Runs load their date; as what holds events, which the store may remove; as long as those; as long, counted from when they
	 * were written; or so many days. Otherwise {@link file://../../ingest/lake/retention/retention-keeper.ts} says.
	 */
	stays?: "WhileLoaded" | "AsEvents" | "WithEvents" | "AsRecords" | number;
	/** Has few objects, which go last when a source is deleted. */
	isLast?: true;
}

/** All that the bucket has of sources, but for what deletes them. */
const lives = {
	// Before what they name, so that no reader follows them to what is gone.
	lists: { stays: "WhileLoaded" },
	events: { stays: "AsEvents" },
	quarantine: { stays: "AsEvents" },
	releases: { stays: "AsEvents" },
	dates: { stays: "WithEvents" },
	imports: {},
	early: { stays: earlyDays },
	// A record is written after the objects that it names, so it expires no earlier.
	compactions: { stays: "AsRecords", isLast: true },
	"quarantine-compactions": { stays: "AsRecords", isLast: true },
	retention: { isLast: true },
	// Nobody asks what was erased of a date that no Run loads. That there was an erasure stays.
	erasures: { stays: "WithEvents", isLast: true },
	"accepted-losses": { stays: "WithEvents", isLast: true },
} satisfies Record<string, FolderLife>;

/** The folder of what was added to dates beside the cuts. */
export const addedFolder = "releases" satisfies keyof typeof lives;

/** A folder with objects of sources. */
export interface SourceFolder extends FolderLife {
	/** Before {@link sourcePath}. */
	prefix: string;
}

/** Where a source's objects are in a folder. */
export function sourcePath({ account, sourceKey }: SourceName): string {
	return `account=${account}/source=${sourceKey}/`;
}

/** A folder with a source's events, by date. */
export interface SourcePlace {
	name: "Quarantine" | "Releases" | "EarlyObjects" | "Events";
	folder: string;
	/** Compaction replaces objects of it; says of which kind of a date's folders it is. */
	compacted?: Pick<DateFolder, "quarantined">;
	/** Its events are rows of a table of their own. */
	isApart?: true;
}

interface DatedSource extends SourceName {
	date: UtcDate;
}

export type ObjectKeys = ReturnType<typeof objectKeys>;

/**
 * The keys of all objects in the bucket, and what those of one folder begin with.
 * @param prefix Folder of all keys, without leading and trailing slashes; empty for a bucket of its own.
 */
export function objectKeys(prefix: string) {
	const root = prefix && `${prefix}/`;
	const all = (folder: string) => () => `${root}${folder}/`;
	/** Quarantine is not among the events, so that no reader of events finds it. */
	const folderOf = ({ quarantined }: Pick<DateFolder, "quarantined">) =>
		quarantined ? "quarantine" : "events";
	const ofSource = (folder: keyof typeof lives) => (source: SourceName) =>
		`${root}${folder}/${sourcePath(source)}`;
	const ofDate = (folder: keyof typeof lives) => (dated: DatedSource) =>
		`${ofSource(folder)(dated)}date=${dated.date}/`;

	const eventsOfDate = (folder: DateFolder) => ofDate(folderOf(folder))(folder);
	const addedRecord = (dated: DatedSource, number: number) =>
		`${ofDate("releases")(dated)}${String(number).padStart(12, "0")}.json`;
	const ledgersOfShard = (shard: number) => `${root}ledgers/${shard}/`;
	/** Those of quarantine are apart: readers of the bucket take the others for the events'. */
	const compactionsOfSource = (
		source: SourceName & Pick<DateFolder, "quarantined">,
	) =>
		ofSource(source.quarantined ? "quarantine-compactions" : "compactions")(
			source,
		);
	const ledgersOfDate = (dated: DatedSource) =>
		`${ofDate("dates")(dated)}ledger`;
	const run = (name: string) => `${root}runs/${name}`;

	return {
		sourceFolders: () =>
			Object.entries<FolderLife>(lives).map(
				([folder, life]): SourceFolder => ({
					prefix: `${root}${folder}/`,
					...life,
				}),
			),

		/** Where a source's events are, in the order in which an event may move on. */
		placesOfSource: (source: SourceName): SourcePlace[] => [
			{
				name: "Quarantine",
				folder: ofSource("quarantine")(source),
				compacted: { quarantined: true },
				isApart: true,
			},
			{ name: "Releases", folder: ofSource("releases")(source) },
			{ name: "EarlyObjects", folder: ofSource("early")(source) },
			{ name: "Events", folder: ofSource("events")(source), compacted: {} },
		],
		allEvents: (of: Pick<DateFolder, "quarantined"> = {}) =>
			all(folderOf(of))(),
		eventsOfSource: (source: SourceName & Pick<DateFolder, "quarantined">) =>
			ofSource(folderOf(source))(source),
		eventsOfDate,
		/** One object for each cut, source and date, and one for those of its events in quarantine. */
		events: (folder: DateFolder, stream: string, first: number) =>
			`${eventsOfDate(folder)}${stream}-${sequence(first)}.parquet`,

		/** Rows that were added to dates beside the cuts, and their records; see lake/addition/addition-store.ts. */
		allAdded: all("releases"),
		addedOfSource: ofSource("releases"),
		addedOfDate: ofDate("releases"),
		/** The record with this number. */
		addedRecord,
		/** @param attempt tells objects apart of which only one gets the record. */
		addedObject: (dated: DatedSource, number: number, attempt: string) =>
			addedRecord(dated, number).replace(/\.json$/, `-${attempt}.parquet`),
		/** The log of the records; see archive/write/numbered-log.ts. */
		additions: all("additions"),

		allCuts: all("cuts"),
		/** Cut records of all streams that a shard has had; see packages/contracts/nats.ts streamName. */
		cutsOfShard: (shard: number) => `${root}cuts/${streamsOf(shard)}`,
		cutsOfStream: (stream: string) => `${root}cuts/${stream}/`,
		cut: (stream: string, first: number) =>
			`${root}cuts/${stream}/${sequence(first)}.json`,
		/** What counts as lost of cuts; see archive/losses.ts. */
		allLosses: all("losses"),
		lossesOfShard: (shard: number) => `${root}losses/${streamsOf(shard)}`,
		/** @param first of the cut. */
		loss: (stream: string, first: number) =>
			`${root}losses/${stream}/${sequence(first)}.json`,

		ledgersOfShard,
		/**
		 * The newest snapshot sorts last, and those of earlier versions, whose keys are times, before all.
		 * @param number No clock says which is the newest: one that was ahead would say so for as long.
		 */
		ledger: (shard: number, number: number) =>
			`${ledgersOfShard(shard)}snapshot-${sequence(number)}.json`,
		/** A part of a snapshot: some sources' objects of one date. Sorts before all snapshots. `name` is unlike all others. */
		ledgerPart: (shard: number, date: UtcDate, name: string) =>
			`${ledgersOfShard(shard)}parts/date=${date}/${name}.json`,
		/** What the ledger says of single dates, for those that it forgets before their events go; see lake/retention/date-ledgers.ts. */
		allDates: all("dates"),
		datesOfSource: ofSource("dates"),
		ledgersOfDate,
		ledgerOfDate: (dated: DatedSource, shard: number) =>
			`${ledgersOfDate(dated)}-${shard}.json`,

		/** What Runs got of sources before it was cut; see ingest/lake/early/early-objects.ts. Not among the events. */
		allEarly: all("early"),
		earlyOfSource: ofSource("early"),
		early: (dated: DatedSource, name: string) => ofDate("early")(dated) + name,

		compactions: all("compactions"),
		quarantineCompactions: all("quarantine-compactions"),
		compactionsOfSource,
		/** One record for each compacted folder; see lake/compaction/record.ts. */
		compaction: (folder: DateFolder) =>
			`${compactionsOfSource(folder)}date=${folder.date}.json`,
		/** Which of a shard's compactions nothing is left to remove of; see lake/compaction/shard-records.ts. */
		checkedCompactions: (shard: number) =>
			`${root}checked/compactions-${shard}/`,

		/** What was erased of a source; see lake/erasure/erasure-store.ts. */
		allErasures: all("erasures"),
		erasuresOfSource: ofSource("erasures"),
		/** Objects that are gone for good by a person's word; see lake/missing/accepted-losses.ts. */
		allAcceptedLosses: all("accepted-losses"),
		acceptedLossesOfSource: ofSource("accepted-losses"),
		acceptedLossesOfDate: ofDate("accepted-losses"),
		acceptedLoss: (dated: DatedSource, number: number) =>
			`${ofDate("accepted-losses")(dated)}${String(number).padStart(12, "0")}.json`,
		tombstones: all("deleted"),
		tombstone: ({ account, sourceKey }: SourceName) =>
			`${root}deleted/account=${account}/source=${sourceKey}.json`,
		/** The log of tombstones. */
		deletions: all("deletions"),

		/** Which objects a reader of the bucket reads; see lake/lists/lister.ts. */
		allLists: all("lists"),
		listsOfSource: ofSource("lists"),
		/** @param name a shard's number, or `released`. */
		list: (dated: DatedSource, name: string | number) =>
			`${ofDate("lists")(dated)}${name}.txt`,
		/** How long sources' events stay, for those that say; see lake/retention/source-retention.ts. */
		allRetentions: all("retention"),
		retentionsOfSource: ofSource("retention"),

		/** Files that people upload, for Imports. */
		allUploads: all("uploads"),
		uploadsOf: (account: string) => `${root}uploads/account=${account}/`,
		upload: (account: string, sha256: string) =>
			`${root}uploads/account=${account}/${sha256}`,
		/** Links that were given for uploads; see lake/manifest/uploads.ts. */
		uploadLinksOf: (account: string) =>
			`${root}uploads/links/account=${account}/`,
		/** What Imports' Jobs leave for archive. */
		allImports: all("imports"),
		importsOfSource: ofSource("imports"),
		/** @param operation its uid. @param part from 1. */
		importPart: (source: SourceName, operation: string, part: number) =>
			`${ofSource("imports")(source)}${operation}/${part}`,

		allRuns: all("runs"),
		/** A Run's manifest; each renewal of its links is a further object. */
		run: (uid: string, signing = 1) =>
			run(`${uid}${signing > 1 ? `-${signing}` : ""}.json`),
		/** Which cuts the Run's manifest has; see lake/request/shares.ts. */
		runThrough: (uid: string) => run(`${uid}-through.json`),
		/** What the Run's Job left; its manifest has the link. */
		runResult: (uid: string, signing: number) =>
			run(`${uid}-${signing}-result.json`),
		/** What an Operation's Job found; its manifest has the link. */
		report: (uid: string, signing: number) =>
			run(`${uid}-${signing}-report.json`),
		/** The end of the log of the last Job of a Run or an Operation. The account is part of the key, so nobody asks for another's. */
		log: ({ run: uid, account }: { run: string; account: string }) =>
			run(`account=${account}/${uid}.log`),

		days: all("days"),
		day: (date: UtcDate) => `${root}days/${date}`,
		/** Which archive works on the whole bucket; see lake/retention/turns.ts. */
		turns: (name: string) => `${root}turns/${name}/`,
		/** How far work on the whole bucket has come that takes more than one turn. */
		cursors: (name: string) => `${root}cursors/${name}/`,
		/** Which bucket it is, and how far it has come; see archive/write/bucket-marks.ts. The newest sorts last. */
		bucketMarks: all("bucket"),
		bucketMark: (number: number) => `${root}bucket/${sequence(number)}.json`,
		/** Written at every start to check that the store supports conditional writes. */
		probe: () => `${root}conditional-write-probe`,
	};
}

/** Sequences have 20 digits, so keys sort like numbers. */
function sequence(number: number): string {
	return String(number).padStart(20, "0");
}

/** What the names of all the streams of a shard begin with. */
function streamsOf(shard: number): string {
	return streamName(shard, "");
}
