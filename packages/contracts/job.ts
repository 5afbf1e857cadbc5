import type { Erasure } from "./archive.ts";
import type { PlanDocument } from "./tracking-plan.ts";
import type { UtcDate } from "./utc-date.ts";

/**
 * What operator hands to a Job and gets back. The input is a JSON file from a Secret that the Run or Destination owns,
 * because its manifest URL grants access. The result is the container's termination message; a load's is in the bucket, too.
 */

/** The paths that operator writes into the Pod template and the Job's process reads. */
export const jobPaths = {
	/**
	 * Secret volume with `input.json`: a {@link LoadInput} or {@link CheckInput}. The Destination's credentials are files beside
	 * it, whose paths are variables that its type of warehouse names.
	 */
	input: "/var/run/tidemill/input",
	/** emptyDir for downloaded objects. Its path is the variable {@link jobEnv.scratch}. */
	scratch: "/var/run/tidemill/scratch",
	/** The volume of a warehouse that is a file. Its path is the variable {@link jobEnv.warehouse}. */
	warehouse: "/var/lib/tidemill/warehouse",
	/** terminationMessagePath, the variable {@link jobEnv.result}. */
	result: "/dev/termination-log",
} as const;

export const jobEnv = {
	scratch: "TIDEMILL_SCRATCH",
	warehouse: "TIDEMILL_WAREHOUSE",
	result: "TIDEMILL_RESULT",
} as const;

export type Strategy = "Incremental" | "FullReload";

/** The settings of the Destination's warehouse: each type has its own (packages/warehouses/). */
export interface DestinationInput {
	type: string;
	[setting: string]: unknown;
}

export interface LoadInput {
	version: 1;
	run: { name: string; uid: string; account: string; pipeline: string };
	destination: DestinationInput;
	table: {
		name: string;
		/** In table order. Captured headers are `header_<name>`, captured query parameters `query_<name>`. */
		columns: TableColumn[];
		/** Set as the table's description when the destination creates it. */
		description: string;
		/** What the table shall have beside its columns: each type of warehouse has its own options. */
		options?: object;
		/** Absent for a table that never has a view. */
		latest?: LatestView;
	};
	/** A second table, for the events of the same days that are in quarantine; absent for none. */
	quarantineTable?: {
		name: string;
		/** Those of `table`, and `violations`. */
		columns: TableColumn[];
		description: string;
		options?: object;
	};
	/**
	 * A table with a row for each value of `table`'s rows that didn't fit its column; absent for none. Load knows its columns, since
	 * it makes their values.
	 */
	rejectedTable?: { name: string; description: string; options?: object };
	/** Which events the tables have. Absent: all. */
	filter?: EventFilter;
	/** In place of `table`, a table for each type of event. Its name stands for all of them. Absent: there is one table. */
	eventTypes?: EventTypeTables;
	/**
	 * The columns follow the events: load ends before it changes anything if it finds members of bodies that no column has, and says
	 * which, as far as there is room. Absent: the columns are those of `table`.
	 */
	evolves?: ColumnRoom;
	strategy: Strategy;
	/**
	 * Insert only the objects of a date that the table doesn't hold yet, where that can be known. Absent: replace each date, as
	 * people expect who changed rows by hand.
	 */
	adds?: true;
	/** Replace these dates also if the table has rows of them that no object holds any more (spec.acceptLoss). Absent: none. */
	acceptLoss?: UtcDate[];
	/** A person asks for the whole window (spec.full), whatever the table says of itself. */
	full?: true;
	/** Drop a table that doesn't fit `columns` and create it again (onIncompatible: Rebuild). */
	rebuild: boolean;
	/** Take over a table that isn't the Pipeline's, as it is (spec.table.adopt). Absent: it is refused. */
	adopt?: true;
	/** Load nothing, and count the rows that this would erase. */
	counts?: Erasure;
	/** Presigned GET of the {@link file://./manifest.ts Manifest}. A secret. */
	manifestURL: string;
	/** PEM certificates of the authorities behind the object store's certificate, beside the public ones. */
	authorities?: string;
}

/** A view of a table with one row for each value of some columns: the latest. */
export interface LatestView {
	name: string;
	/** Names of columns. None: there shall be no view, and one that loads have made goes. */
	by: string[];
}

/** What a column of other values than keys has, since not every warehouse compares them; undefined of one that may be in {@link LatestView.by}. */
export function kindOfNoKey({
	from,
}: Pick<TableColumn, "from">): string | undefined {
	const kind = typeof from === "object" ? "type" in from && from.type : from;
	return kind && ["Body", "Violations", "JSON", "Number"].includes(kind)
		? kind
		: undefined;
}

/** An event must match each field that is there. */
export interface EventFilter {
	types?: {
		/** The type is one of these. In the order of their code units, each once. */
		oneOf: string[];
		/** A header that isn't captured is known of an event that a plan has validated. */
		place: PlanDocument["eventType"];
	};
	/** What a JSON Pointer (RFC 6901) names in the body has this text: a string, or a number or a boolean as it is written. */
	match?: { bodyPointer: string; equals: string };
	/** Of one of the tables for types: those of a type, or of none of these. Load sets it, so that records tell. */
	table?: { place: PlanDocument["eventType"] } & (
		| { type: string }
		| { noneOf: string[] }
	);
}

/** The tables of a Pipeline with one for each type of event. */
export interface EventTypeTables {
	place: PlanDocument["eventType"];
	/** The types that have a table. */
	tables: { type: string; table: string }[];
	/** The table of all other events. */
	other: string;
	/** How many more types may get a table: load ends before it changes anything if it finds some, and says which. */
	free: number;
}

/** The most tables that a Pipeline has for types of events, beside that of the others, and the longest type in bytes. */
export const maxEventTypes = 100;
export const maxEventTypeBytes = 200;

/** How many more columns a table may get for members of bodies, and how many bytes they may have by {@link foundColumnBytes}. */
export interface ColumnRoom {
	columns: number;
	bytes: number;
}

/**
 * The most columns that members of bodies have, those of the spec and those that load has found, and the bytes of the latter, which are in
 * a Pipeline's status. A type of warehouse may hold fewer (packages/warehouses/definition/definition.ts).
 */
export const maxBodyColumns = 500;
export const maxFoundColumnBytes = 131_072;

/** A member of bodies that load has found. The pointer has at most {@link maxPointerLength} characters. */
export interface FoundColumn {
	bodyPointer: string;
	type: FoundColumnType;
}

export const foundColumnTypes = [
	"String",
	"Integer",
	"Number",
	"Boolean",
	"Timestamp",
	"Date",
	"JSON",
] as const satisfies readonly BodyColumnType[];

export type FoundColumnType = (typeof foundColumnTypes)[number];

/** As the CRD has it. */
export const maxPointerLength = 200;

/** What a column takes of a Pipeline's status at most: its name has at most 63 characters. */
export function foundColumnBytes({
	bodyPointer,
}: {
	bodyPointer: string;
	type: string;
}): number {
	return Buffer.byteLength(JSON.stringify(bodyPointer)) + 120;
}

export interface TableColumn {
	/** Name in the table: `event_id`, `timestamp`, `body`, `date`, `header_x_github_event`, … */
	name: string;
	/** Where the value comes from. */
	from:
		| "EventID"
		| "Timestamp"
		| "Body"
		| "Date"
		/** What the tracking plan found, as JSON text (packages/contracts/tracking-plan.ts); NULL for an event that is as planned. */
		| "Violations"
		/** When the load that wrote the row began, and the name of its Run: {@link TableColumn.value}. */
		| "LoadedAt"
		| "Run"
		/** A captured field: a header, lower-case, or a query parameter by {@link file://./route.ts}. */
		| { header: string }
		/** What a JSON Pointer (RFC 6901) names in the body; NULL where there is nothing, or nothing of this type. */
		| ({ bodyPointer: string } & BodyValueType)
		/** What the other columns from the body don't hold of it, as JSON text; NULL if that is nothing. */
		| RescuedValues;
	/** What a comment on the column says; absent: what follows from `from`. */
	description?: string;
	/** Of `LoadedAt` and `Run`, as text: the same for all rows that one process writes. Load sets it. */
	value?: string;
	/** Load has found it in events before they had rows, so the rows that a table has lack no value of it. */
	isFound?: true;
}

/** The pointer to all of a body, as {@link TableColumn.from} has it. */
export interface RescuedValues {
	bodyPointer: "";
	type: "String";
	isRest: true;
}

/** A type of {@link TableColumn}s from the body. A Decimal has at most `precision` digits, `scale` of them after the point. */
export type BodyValueType = (
	| { type: Exclude<BodyColumnType, "Decimal" | "Timestamp"> }
	| ({ type: "Timestamp" } & TimestampFormat)
	| { type: "Decimal"; precision: number; scale: number }
) & {
	/** Of the warehouse. Load sets them. */
	limits?: ValueLimits;
};

/** What a type of warehouse holds of a column's values, where that is less than the type has. The others don't fit. */
export interface ValueLimits {
	/** The first and the last year of instants and dates. */
	years?: readonly [first: number, last: number];
	/**
	 * A value of the type JSON must be an object, of 64-bit floating point numbers, with at most so many values in each other, in which no
	 * two values have the same path of names, such as `{"a":{"b":1},"a.b":2}`.
	 */
	objectDepth?: number;
}

/** How bodies write an instant: RFC 3339 if there is no format. */
export type TimestampFormat =
	| { format?: "UnixSeconds" | "UnixMillis" | "RFC2822" }
	/** The time of clocks in an IANA time zone. */
	| { format: "Local"; timeZone: string };

export type BodyColumnType =
	| "String"
	| "Integer"
	| "Number"
	| "Decimal"
	| "Boolean"
	| "Timestamp"
	| "Date"
	| "JSON";

export interface CheckInput {
	version: 1;
	account: string;
	destination: DestinationInput;
}

/** Kubernetes truncates a longer termination message (k8s.io/api core/v1, TerminationMessagePath). */
export const maxResultBytes = 4096;

/** The termination message: at most {@link maxResultBytes}, so messages are cut to fit. */
/** There must be room for other words in a result. */
export const maxRepairedDates = 31;

export type JobResult = (
	| {
			version: 1;
			outcome: "Succeeded";
			/** Rows that the dates have in the table. */
			rows: number;
			/** Read from the bucket. */
			bytes: number;
			objects: number;
			/** The rows among `rows` that the Run inserted, if it was one that adds. */
			addedRows?: number;
			/** The dates of which the table held every row already, if it was a Run that adds. */
			unchangedDates?: number;
			/**
			 * The dates that held other rows than Runs had put there, and that such a Run replaced: at most {@link maxRepairedDates},
			 * the latest. Absent if there are none.
			 */
			repairedDates?: UtcDate[];
			/** Rows of other dates, which stay in the table beside a whole window. Absent if there are none. */
			otherRows?: number;
			/** Rows that the Run put into the table of other types, of events that have one, and how many types these have. */
			otherTypes?: { rows: number; types: number };
			/** Rows of the table of events in quarantine, if the Run loads it. They don't count in `rows`. */
			quarantinedRows?: number;
			/** Rows with something in the column of {@link RescuedValues}. Absent if there are none. */
			rescuedRows?: number;
			/** Rows that the Run erased and that no load puts anew, or blanked. Absent if there are none. */
			erasedRows?: number;
			/** Rows that {@link LoadInput.counts} would erase; `warning` has them by table. Absent if it isn't set. */
			countedRows?: number;
			dates?: { start: UtcDate; end: UtcDate };
			/** What the warehouse does to the table that people may not expect: a sentence of at most 500 characters. */
			warning?: string;
			/** Columns from the body whose values didn't all fit, at most {@link maxUnfitColumns}, those with most first. */
			unfitValues?: UnfitValues[];
	  }
	| { version: 1; outcome: "Failed"; error: JobError }
) & {
	/** The last lines of the process's log, as far as there is room for them. */
	log?: string;
};

/** Values that are NULL in a column because they don't fit its type. */
export interface UnfitValues {
	column: string;
	rows: number;
	/** Rows that have any value there. Absent in results of earlier builds. */
	values?: number;
	/** Id of an event with such a value; the first {@link maxUnfitExamples} columns have it. */
	eventID?: string;
}

/** A column's name has at most 63 characters, so these take half of a result. */
export const maxUnfitColumns = 20;
export const maxUnfitExamples = 5;

/** As much of a log as a result has: it must leave room for the rest. */
export const maxLogEndBytes = 2_000;

/** A longer log goes to the bucket as an object of one of these sizes in bytes, ascending: its end, as far as there is room. */
export const logSizes = [8 * 1024, 64 * 1024] as const;
export const maxLogBytes = logSizes[1];

export interface JobError {
	/** From the table in docs/reference/errors.md, e.g. `DestinationBusy`. */
	code: string;
	/** What happened, to what, and what to do next. */
	message: string;
	retryable: boolean;
	/** Another attempt within minutes can't help: a Run waits, and starts another Job. No status has it. */
	waits?: true;
	/** Of `EventTypesFound`: types that have no table and may get one. */
	eventTypes?: string[];
	/** Of `EventTypesFound`: tables of types that are somebody else's, so that the types get others. */
	takenTables?: string[];
	/** Of `ColumnsFound`: members of bodies that may get a column, by pointer. */
	columns?: Record<string, FoundColumnType>;
}

/** Exit codes of `tidemill load` and `tidemill check` (sysexits.h). The Job's podFailurePolicy fails at once on `permanent`. */
export const jobExitCode = {
	succeeded: 0,
	/** EX_TEMPFAIL: a retry may help. */
	retryable: 75,
	/** EX_DATAERR: a retry can't help, or not within minutes. */
	permanent: 65,
} as const;
