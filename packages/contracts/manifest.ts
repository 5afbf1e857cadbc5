import type { Erasure } from "./archive.ts";
import type { OfShards } from "./route.ts";
import type { UtcDate } from "./utc-date.ts";

/**
 * How a manifest's dates relate to the days that the Pipeline's table should hold. `Whole`: they are all of them. `Rest`: all
 * from `start` on, for a table that holds the earlier ones. `Chosen`: days that a person named. Load makes a table only of
 * `Whole`, so no table lacks days.
 */
export type LoadExtent = "Whole" | "Rest" | "Chosen";

/** The dates that operator asks for. */
export interface AskedDates {
	extent: LoadExtent;
	/** Earliest date wanted. Archive clamps it to the first event's date and to today − 30. */
	start?: UtcDate;
	/** Latest date wanted. Archive clamps it to the snapshot's date. */
	end?: UtcDate;
}

/**
 * A Run's manifest: which objects hold the events of which dates, as of one instant. Archive writes it once per Run
 * (`<prefix>/runs/<Run uid>.json`, `If-None-Match: *`), and every attempt of the Run loads it. When its links expire, archive
 * writes another manifest beside it (`<Run uid>-2.json`, …) with new links to the objects that hold the same events by then.
 * A Run that turns out to need the `Whole` extent gets another manifest in the same way, with all dates as of then.
 */
export interface Manifest {
	version: 1;
	/** metadata.uid of the Run. */
	run: string;
	account: string;
	sourceKey: string;
	/**
	 * `dates` covers every event of the Source acknowledged before this instant, and only those that the bucket has: in objects of
	 * cuts, or in an early object of the Run's own. RFC 3339.
	 */
	snapshotTime: string;
	/** The latest date that can gain no more events. */
	closedThrough: UtcDate;
	/** Date of the Source's first event; absent when it has none. */
	firstEventDate?: UtcDate;
	/** When the presigned URLs expire, RFC 3339. */
	expiresAt: string;
	/**
	 * What operator asked for: load needs to know how much of the table the dates are. `since`: the snapshot time of the Run that
	 * they continue from; absent if they continue from none.
	 */
	asked: AskedDates & { since?: string };
	/**
	 * Where load puts its result, for operator to find if the Pod is gone ({@link ResultRequest}): a presigned PUT of exactly
	 * `maxResultBytes` of packages/contracts/job.ts, with these headers. A secret. Each renewal has a place of its own. Archive always
	 * gives one.
	 */
	result?: { url: string; headers: Record<string, string> };
	/**
	 * Where a Job puts the end of its log, if that is longer than a result has room for: presigned PUTs of exactly `logSizes`
	 * of packages/contracts/job.ts, in that order, all to one object. Secrets. Archive always gives them.
	 */
	logs?: { url: string; headers: Record<string, string> }[];
	/**
	 * Where an Operation's Job puts its report: a presigned PUT of exactly {@link maxReportBytes}. Only if
	 * operator asked for it. A secret.
	 */
	report?: { url: string; headers: Record<string, string> };
	/** For the Job of an Import: the files, and where its parts go, in their order. Secrets. */
	imports?: {
		files: { sha256: string; url: string; bytes: number }[];
		parts: { url: string; headers: Record<string, string> }[];
	};
	/**
	 * How many records of releases and imports each date of the Source had when the manifest was made, also dates that the
	 * manifest lacks; see {@link ManifestRequest} `releases`. Manifests of early builds lack it.
	 */
	releases?: Record<UtcDate, number>;
	/** Events of the Source were erased: its objects have rows that count no more, of the kind {@link erasedKind}. */
	erasures?: {
		/** By how many Operations, when the manifest was made. */
		asked: number;
		/** One was under way: which rows count, only the objects can tell. */
		isUnderWay?: true;
		/**
		 * What the table may still have on dates that the manifest lacks: all that was erased, or, for a table that holds the dates
		 * before `asked.start`, what was erased since then.
		 */
		others: ManifestErasure[];
	};
	/**
	 * One entry for every date that was asked for, ascending, even without events; before them, those that `releases` of the
	 * request adds.
	 */
	dates: ManifestDate[];
}

/** Rows of dates before `before` are erased. */
export interface ManifestErasure extends Erasure {
	before: UtcDate;
}

/** The `kind` of what is left of an event in an object once it is erased: its id and its time. No table has a row of it. */
export const erasedKind = "erased";

/** Whether a row of an object counts, by its `kind`. */
export function isCounted(kind: string): boolean {
	return kind !== erasedKind;
}

/** The same as a condition of SQL. */
export const countedRows = `kind <> '${erasedKind}'`;

export interface ManifestDate {
	date: UtcDate;
	/** The sum of the objects' rows. */
	rows: number;
	objects: ManifestObject[];
	/**
	 * Events of the date were erased: by whom, which decides what counts of the objects, and how many of `rows` don't count.
	 */
	erased?: { by: string[]; rows: number };
	/**
	 * What the bucket has lost of the date, and a person has accepted: `rows` doesn't count it. A table may still have rows of the objects with
	 * these names, or of what replaced them. Absent if there is nothing.
	 */
	lost?: LostOfDate;
	/**
	 * Early objects of the Run that the request `follows`: a table that holds their rows holds rows of `objects`
	 * (ingest/wire/object-name.ts). Absent if there are none.
	 */
	earlier?: ManifestObject[];
	/** Those in quarantine; only for who asked for them, and absent if there are none. */
	quarantine?: {
		rows: number;
		objects: ManifestObject[];
		/** The events in these were released, and are in quarantine no more. Only for who asked for them, and absent if there are none. */
		released?: ManifestObject[];
	};
}

export interface LostOfDate {
	rows: number;
	objects: number;
	/** At most {@link maxLostNames}, the first. */
	names: string[];
}

export const maxLostNames = 10_000;

/** The events in these are in the date's quarantine no more, also where its objects still have them. */
export function leftQuarantine({ quarantine }: ManifestDate): ManifestObject[] {
	return quarantine?.released ?? [];
}

/** Objects of a date, by the place in it where a manifest has them. */
export interface ObjectList {
	at: string;
	objects: ManifestObject[];
	/** What they must add up to. */
	rows: number | "any";
	/** In which of the date's folders compaction may replace them; absent if it replaces none. */
	folder?: { quarantined?: true };
}

/** All objects that a manifest has of a date. */
export function objectLists(date: ManifestDate): ObjectList[] {
	const { rows, objects, earlier = [], quarantine } = date;
	const own = "quarantine.objects";
	return [
		{ at: "objects", objects, rows, folder: {} },
		{ at: "earlier", objects: earlier, rows: "any" },
		...(quarantine
			? [
					{
						at: own,
						objects: quarantine.objects,
						rows: quarantine.rows,
						folder: { quarantined: true as const },
					},
				]
			: []),
		{ at: "quarantine.released", objects: leftQuarantine(date), rows: "any" },
	];
}

/** The date with other objects in each of its lists. */
export async function withObjectLists(
	date: ManifestDate,
	change: (list: ObjectList) => Promise<ManifestObject[]>,
): Promise<ManifestDate> {
	const changed = new Map<string, ManifestObject[]>();
	for (const list of objectLists(date))
		changed.set(list.at, await change(list));
	const { earlier, quarantine } = date;
	return {
		...date,
		objects: changed.get("objects")!,
		...(earlier && { earlier: changed.get("earlier")! }),
		...(quarantine && {
			quarantine: {
				rows: quarantine.rows,
				objects: changed.get("quarantine.objects")!,
				...(quarantine.released && {
					released: changed.get("quarantine.released")!,
				}),
			},
		}),
	};
}

export interface ManifestObject {
	/** Object key, for errors and logs. */
	key: string;
	/** Presigned GET. A secret: it lets anyone read the object. */
	url: string;
	rows: number;
	bytes: number;
	/**
	 * How many objects compaction made it of, in the order of their names; absent for any other. Its own name derives from
	 * theirs (ingest/wire/object-name.ts), so a load knows whether it has read them.
	 */
	inputs?: number;
	/** Its rows were released from quarantine, where they still are, too. */
	released?: true;
}

/** As of when a table holds what was added to its dates; see {@link ManifestRequest} `releases`. */
export interface HeldAdditions {
	earliest: UtcDate;
	since: string;
	run?: string;
	reloads?: string[];
}

/** Operator's request to archive, JSON on {@link file://./nats.ts manifestSubject}. */
export interface ManifestRequest extends AskedDates, OfShards {
	run: string;
	account: string;
	sourceKey: string;
	/** When the operator sent this by its own clock, RFC 3339: archive compares it with its own. Early builds don't say it. */
	askedAt?: string;
	/** How long the Run may still take: its links work so long, and at most a day. Absent for a day. */
	linkSeconds?: number;
	/**
	 * The table holds the dates before `start`, from `earliest` on, as of `since` (RFC 3339): add those of them of which events
	 * were released from quarantine or imported later, that is, after the manifest of `run` (the uid of the Run that loaded
	 * then), or archived later, because a clock was behind. Without that manifest, `since` alone decides of the former, and
	 * nothing says the latter. Of the dates of `reloads`, later Runs of chosen dates, the latest of their manifests counts.
	 */
	releases?: HeldAdditions;
	/**
	 * The Run that filled the table last, and its snapshot's time. The manifest names what that Run loaded of events in no cut,
	 * so that a load which adds knows them again.
	 */
	follows?: { run: string; since: string };
	/** The links of the Run's manifest have expired: write one with new links, if there is a manifest. */
	renew?: boolean;
	/**
	 * It is for an Operation, whose uid takes the Run's place, and whose Job leaves a report. The manifest also names what is
	 * in quarantine.
	 */
	report?: boolean;
	/** The manifest also names what is in quarantine. */
	quarantine?: boolean;
	/** With `report`: the manifest also names which events of its quarantine were released. An Inspect needs that. */
	released?: boolean;
	/** The answer says how much the manifest names. */
	totals?: boolean;
	/** With `report`: it is for an Import of these files (SHA-256, hex). It names no quarantine, but all that is loaded. */
	imports?: string[];
}

export type ManifestAnswer =
	| {
			ok: true;
			/** Presigned GET of the manifest. A secret. */
			url: string;
			snapshotTime: string;
			closedThrough: UtcDate;
			firstEventDate?: UtcDate;
			extent: LoadExtent;
			/** First and last date of the manifest; absent when the range is empty. */
			dates?: { start: UtcDate; end: UtcDate };
			/** How many dates it has: not always all between those. Early builds of archive don't say it. */
			dateCount?: number;
			expiresAt: string;
			/** How much the manifest names, for who asked. */
			totals?: { rows: number; objects: number; bytes: number };
			/** PEM certificates of the authorities behind the store's certificate; absent when the public ones are enough. */
			authorities?: string;
	  }
	| { ok: false; error: { code: string; message: string; retryable: boolean } };

/** Operator's request for the result of a Run whose Pods are gone, JSON on {@link file://./nats.ts resultSubject}. */
export interface ResultRequest {
	run: string;
	account: string;
	sourceKey: string;
}

export type ResultAnswer =
	| {
			ok: true;
			/** What the Job of the Run's newest manifest left: a JobResult as JSON. Absent if it left nothing. */
			result?: string;
			/** The report of an Operation's Job: an OperationReport as JSON. Absent if it left none. */
			report?: string;
	  }
	| { ok: false; error: { code: string; message: string; retryable: boolean } };

/** The API's request for the log of a Run or an Operation, JSON on {@link file://./nats.ts logSubject}. */
export interface LogRequest {
	/** metadata.uid. */
	run: string;
	account: string;
}

export type LogAnswer =
	| {
			ok: true;
			/** What the last Job left; absent if it left nothing, since its result has all of the log. */
			log?: string;
	  }
	| { ok: false; error: { code: string; message: string; retryable: boolean } };

/** The report has exactly this length: JSON, followed by spaces. */
export const maxReportBytes = 256 * 1024;
