import {
	type Operation,
	type OperationSpec,
	operationKind,
	type Source,
	type TrackingPlan,
} from "../../crds/generated/types.ts";
import { label, managedByTidemill } from "../../crds/labels.ts";
import type { QuarantineFilter } from "../../packages/contracts/archive.ts";
import type { OperationInput } from "../../packages/contracts/operation.ts";
import { keptFrom } from "../../packages/contracts/retention.ts";
import type {
	PlanDocument,
	ViolationKind,
} from "../../packages/contracts/tracking-plan.ts";
import {
	addDays,
	type UtcDate,
	utcDate,
} from "../../packages/contracts/utc-date.ts";
import type { ConfigMap } from "../../packages/kube/kinds.ts";
import { planVersion } from "../../packages/tracking-plan/version.ts";
import { type JobWithInput, jobWithInput } from "../jobs/template.ts";
import { retentionIn } from "../reconcile/ledgers.ts";
import { documentOf, type PlanFault } from "../tracking-plan/document.ts";

/** What the Job does. Archive does the work of a Release and of an Export. */
export interface PlannedWork {
	work: OperationInput["work"] | undefined;
	/** Of the plan of a DryRun. */
	version?: string;
}

/** Events that an Inspect lists, if the Operation doesn't say. */
const defaultLimit = 20;

/** Days that a plan is tried on, if the Operation doesn't say. */
const defaultDays = 7;

/**
 * Undefined if the TrackingPlan that the Operation names is missing.
 * @param configMapOf A labelled ConfigMap of the namespace. @param keptFromDate The first date whose events are kept.
 */
export function workOf(
	{ metadata, spec }: Operation,
	plan: TrackingPlan | undefined,
	configMapOf: (name: string) => ConfigMap | undefined,
	keptFromDate: UtcDate,
): PlannedWork | { fault: PlanFault } | undefined {
	if (["Release", "Export", "Erase"].includes(spec.type))
		return { work: undefined };
	if (spec.type === "Import") {
		const { files, date, rows, body, timeZone } = spec.import!;
		return {
			work: {
				type: "Import",
				files,
				...(date !== undefined && { date }),
				...(rows !== undefined && { rows }),
				...(body !== undefined && { body }),
				...(timeZone !== undefined && { timeZone }),
				skipInvalidRows: spec.import!.skipInvalidRows ?? false,
				keptFrom: keptFromDate,
			},
		};
	}
	if (spec.type === "Inspect")
		return {
			work: {
				type: "Inspect",
				filter: eventFilter(spec.filter),
				limit: spec.limit ?? defaultLimit,
				...(spec.before !== undefined && { before: spec.before }),
			},
		};
	if (spec.type === "Draft") {
		const eventType = spec.eventType as PlanDocument["eventType"];
		return { work: { type: "Draft", eventType } };
	}
	const { inline } = spec.plan!;
	const tried = inline ? ({ metadata, spec: inline } as TrackingPlan) : plan;
	if (!tried) return undefined;
	const read = documentOf(tried, configMapOf);
	if ("fault" in read) return read;
	const { document } = read;
	return {
		work: { type: "DryRun", plan: document },
		version: planVersion(document),
	};
}

/** Which events in quarantine an Operation is about. */
export function eventFilter({
	types,
	kinds,
	eventIDs,
}: OperationSpec["filter"] & object = {}): QuarantineFilter {
	return {
		...(types && { types }),
		...(kinds && { kinds: kinds as ViolationKind[] }),
		...(eventIDs && { eventIDs }),
	};
}

interface Days {
	start: UtcDate;
	end: UtcDate;
}

/** The days whose events an Operation reads. A plan is tried on a week's events, and quarantine is looked at whole. */
export function daysOf(
	{ spec }: Operation,
	source: Source | undefined,
	now: number,
): Days {
	if (spec.dates) return spec.dates;
	if (["Inspect", "Export", "Import"].includes(spec.type))
		return keptDays(source, now);
	const end = utcDate(now);
	return { start: addDays(end, 1 - defaultDays), end };
}

/** All days whose events are kept. */
export function keptDays(source: Source | undefined, now: number): Days {
	const end = utcDate(now);
	return { start: keptFrom(retentionIn(source), end), end };
}

/** At most 62 characters, as an Operation's name has at most 52. A Run's Job has the Run's name. */
export function operationJobName(operation: string): string {
	return `${operation}-operation`;
}

export function operationInputName(operation: string): string {
	return `${operationJobName(operation)}-input`;
}

/** The Job that carries out an Operation, and its input. */
export function operationJob(
	operation: Operation,
	input: OperationInput,
	options: { image: string; activeDeadlineSeconds: number },
): JobWithInput {
	const { name } = operation.metadata;
	const {
		retries,
		activeDeadlineSeconds: _,
		...pod
	} = operation.spec.jobTemplate;
	return jobWithInput(
		{
			kind: operationKind,
			owner: operation,
			jobName: operationJobName(name),
			secretName: operationInputName(name),
			labels: { ...managedByTidemill, [label.operation]: name },
		},
		input,
		{ command: "operation", pod, retries, ...options },
	);
}
