import type { QuarantineFilter } from "./archive.ts";
import type {
	PlanDocument,
	Violation,
	ViolationKind,
} from "./tracking-plan.ts";
import type { UtcDate } from "./utc-date.ts";

/**
 * What operator hands to an Operation's Job beside the manifest, and what the Job leaves in the bucket for it: the report, by
 * the manifest's link `report`. The termination message says only how the Job ended, as any other Job's.
 */

export interface OperationInput {
	version: 1;
	operation: { name: string; uid: string; account: string; source: string };
	work:
		| { type: "DryRun"; plan: PlanDocument }
		| { type: "Draft"; eventType: PlanDocument["eventType"] }
		| {
				type: "Inspect";
				filter: QuarantineFilter;
				limit: number;
				/** Only events whose ids are less. */
				before?: string;
		  }
		| ImportWork;
	/** Presigned GET of the {@link file://./manifest.ts Manifest}, whose `run` is the Operation's uid. A secret. */
	manifestURL: string;
	/** PEM certificates of the authorities behind the object store's certificate, beside the public ones. */
	authorities?: string;
}

export type OperationReport =
	| ({ version: 1; type: "DryRun" } & DryRunResult)
	| ({ version: 1; type: "Draft" } & DraftResult)
	| ({ version: 1; type: "Inspect" } & InspectResult)
	| ({ version: 1; type: "Import" } & ImportResult);

export interface ImportWork {
	type: "Import";
	files: { name: string; sha256: string }[];
	/** Of rows without a time. */
	date?: UtcDate;
	skipInvalidRows: boolean;
	/** What a row is: an event with a `body`, or a body itself. Else each row must say it. */
	rows?: "Events" | "Bodies";
	/** What a text in a row's `body` is, unless the row says it: a JSON value itself, or JSON text. */
	body?: "JSON" | "Text";
	/** IANA name. Of times in bodies that are made of a Parquet file's columns, where the file says none. */
	timeZone?: string;
	/** The first date whose events are kept. */
	keptFrom: UtcDate;
}

export interface ImportResult {
	/** Events in the parts. */
	events: number;
	/** Rows whose events are stored already. */
	duplicates: number;
	/** Rows that were left out since they are no events. */
	invalidRows: number;
	/** Of the first {@link maxListedRows} of them. */
	invalid: InvalidRow[];
	/** Rows with a number or its like for a time, which have the Import's date instead. */
	otherTimes: number;
	parts: number;
}

export interface InvalidRow {
	file: string;
	/** From 1. */
	row: number;
	message: string;
}

export const maxListedRows = 20;

/** Each event counts once: the strictest of what its violations bring about. */
export interface DryRunResult {
	events: number;
	planned: number;
	annotated: number;
	quarantined: number;
	rejected: number;
	/** The most frequent first, at most {@link maxFindings}. */
	findings: DryRunFinding[];
	/** Findings beside these. */
	otherFindings: number;
}

export interface DryRunFinding {
	/** Absent if the events have none. */
	type?: string;
	kind: ViolationKind;
	/** As a {@link Violation}'s, with `*` for every index of an array. */
	path: string;
	message: string;
	events: number;
	/** Event ID of one of them. */
	example: string;
}

export const maxFindings = 20;

export interface DraftResult {
	events: number;
	eventTypes: number;
	/** Manifest of a TrackingPlan, YAML. */
	trackingPlan: string;
}

/** What is in quarantine. */
export interface InspectResult {
	/** All that match the filter, on all pages. */
	events: number;
	/** The newest first, and as many as the report has room for. */
	page: QuarantinedEvent[];
	/** Whether older ones match, too. */
	hasMore: boolean;
}

/** Without its body: whoever may read Operations sees this. */
export interface QuarantinedEvent {
	eventID: string;
	/** RFC 3339. */
	timestamp: string;
	/** Absent if the event has none. */
	type?: string;
	plan?: string;
	planVersion?: string;
	/** The first {@link maxListedViolations}. */
	violations: Violation[];
	otherViolations?: number;
}

export const maxPage = 100;
export const maxListedViolations = 5;
