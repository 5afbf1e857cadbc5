import type {
	Operation,
	OperationStatus,
	Pipeline,
} from "../../crds/generated/types.ts";
import { hasEnded } from "../../crds/run.ts";
import { isTimeZone, zoneForm } from "../../crds/wall-clock.ts";
import type { ManifestAnswer } from "../../packages/contracts/manifest.ts";
import type { OperationInput } from "../../packages/contracts/operation.ts";
import { ageOf, rfc3339 } from "../../packages/kube/resource.ts";
import { lifecycle } from "../jobs/lifecycle.ts";
import { endedAs } from "../jobs/outcome.ts";
import { podTemplateProblem } from "../jobs/template.ts";
import type { WorkAction } from "../jobs/transition.ts";
import {
	type StoredUnder,
	shardsIn,
	storedUnder,
} from "../source/routes/keys.ts";
import { tablesOf } from "./erase.ts";
import { erase, finishErase } from "./erase-decision.ts";
import { finishImport } from "./import-decision.ts";
import { readReport } from "./report.ts";
import type { OperationState } from "./state.ts";
import {
	ask,
	countText,
	maxDates,
	type OperationErrorCode,
	type OperationReasons,
	transition,
	type Waiting,
	type WorkOnOperation,
} from "./transition.ts";
import {
	daysOf,
	eventFilter,
	keptDays,
	operationJob,
	type PlannedWork,
} from "./work.ts";

/** What is done about an Operation. */
export type OperationAction =
	| WorkAction<Operation, OperationReasons>
	/** A Run of an Erase's own. */
	| { type: "createRun"; pipeline: Pipeline; name: string };

/** A Secret holds 1 MiB. */
const maxInputBytes = 1_000_000;
/** Ended Operations of a Source that stay. A result takes up to 256 KiB of the operator's memory. */
const keptOfSource = 20;
/** How long an Operation may wait for what a person or the cluster must change. */
export const pendingLimit = {
	seconds: 3_600,
	text: "The Operation could not start within an hour.",
};

const work = lifecycle<Operation, OperationReasons, OperationState>({
	noun: "Operation",
	transition,
	workIn: ({ operation }) => operation,

	prepare,
	activeDeadlineSeconds: ({ operation }) =>
		operation.spec.jobTemplate.activeDeadlineSeconds,

	resultSource({ operation, source }) {
		const { sourceKey } = operation.status ?? {};
		const shard = source?.status?.shard;
		return sourceKey === undefined || shard === undefined
			? undefined
			: { sourceKey, shard };
	},
	// The report is in the bucket.
	leavesReport: true,
	succeed: (state, _, facts, now) => recordReport(state, facts, now),
	finish(state, now) {
		const { import: left, erase } = state.operation.status ?? {};
		if (erase) return finishErase(state, erase, now);
		return left && finishImport(state, left, now);
	},

	keptMs: ({ operation }) => operation.spec.ttlSecondsAfterFinished * 1_000,
	surplus: ({ ended }) =>
		ended
			.toSorted((a, b) => (endOf(a) < endOf(b) ? 1 : -1))
			.slice(keptOfSource),

	working: "Working",
	workingMessage: () => "The Job reads events.",
	listing: "Archive is listing the objects to read",
	failed: "OperationFailed",
	limited: [
		"SourceNotFound",
		"SourceNotReady",
		"PlanNotFound",
		"PlanNotReady",
		"InvalidTimeZone",
		"TemplateTooLarge",
		"LabelNotAllowed",
		"AnnotationNotAllowed",
		"PriorityClassNotAllowed",
	],
	pendingLimit: () => pendingLimit,
});

export const { decideNotPermitted } = work;
const { askToStart, start } = work;

/** In the order in which they are applied. */
export function decide(state: OperationState, now: number): OperationAction[] {
	const { operation, pipelines } = state;
	const { metadata, spec, status } = operation;
	const isErasing =
		status?.erase &&
		!hasEnded(operation) &&
		!spec.cancel &&
		!metadata.deletionTimestamp;
	const { starts } = isErasing
		? tablesOf(pipelines, operation, status.erase!.time, now)
		: { starts: [] };
	return [
		...work.decide(state, now),
		...starts.map((run) => ({ type: "createRun", ...run }) as const),
	];
}

/** Times are whole seconds, so of two that ended in the same second the younger counts as the later. */
function endOf(operation: Operation): string {
	return `${operation.status?.completionTime} ${ageOf(operation)}`;
}

/** The Operation has had no Job yet: wait for what is missing, or for archive's answer. */
function prepare(state: OperationState, now: number): WorkOnOperation[] {
	const { operation } = state;
	const { spec } = operation;
	const wait = (...[reason, message]: Waiting) =>
		transition.progress(operation, reason, message, { phase: "Pending" }, now);
	const needs = needsOf(state);
	if ("missing" in needs) return wait(...needs.missing);
	const { before } = state;
	if (before !== undefined) {
		const areImports = [spec.type, before.spec.type].every(
			(type) => type === "Import",
		);
		return wait(
			areImports ? "ImportBefore" : "EraseBefore",
			`The ${before.spec.type} ${before.metadata.name} of this Source comes first.`,
		);
	}
	if (spec.type === "Release") return release(state, needs.stored, now);
	if (spec.type === "Erase") return erase(state, needs.stored, now);
	const dates = daysOf(operation, state.source, now);
	const kept = keptDays(state.source, now);
	if (dates.end < kept.start || dates.start > kept.end)
		return fail(
			operation,
			"DatesNotReadable",
			"OperationDatesNotKept",
			`spec.dates is ${dates.start} to ${dates.end}, and no events are kept for these days. Choose dates from ${kept.start} to ${kept.end}.`,
			now,
		);
	const bytes =
		spec.type === "Export"
			? 0
			: Buffer.byteLength(JSON.stringify(needs.work.work));
	if (bytes > maxInputBytes)
		return fail(
			operation,
			"PlanNotUsable",
			"PlanTooLarge",
			`The plan has ${bytes} bytes. A Job's input takes ${maxInputBytes} at most.`,
			now,
		);
	return askToStart(
		state,
		{
			shard: needs.stored.shard,
			sourceKey: needs.stored.sourceKey,
			...shardsIn(needs.stored),
			extent: "Chosen",
			...dates,
			...(spec.type === "Export" ? { totals: true } : { report: true }),
			...(spec.type === "Inspect" && { released: true }),
			...(spec.import && {
				imports: [...new Set(spec.import.files.map(({ sha256 }) => sha256))],
			}),
		},
		now,
		(answer) =>
			spec.type === "Export"
				? succeedExport(state, answer, now)
				: startWorking(state, needs, answer, now),
	);
}

interface Needs {
	stored: StoredUnder;
	work: PlannedWork;
}

/** What the Operation works with, or what it waits for. */
function needsOf({
	operation,
	source,
	work,
	podPolicy,
}: OperationState): Needs | { missing: Waiting } {
	const { spec } = operation;
	const missing = (...missing: Waiting) => ({ missing });
	const { name } = spec.sourceRef;
	if (!source)
		return missing(
			"SourceNotFound",
			`There is no Source "${name}" in this namespace. Create it, or delete this Operation.`,
		);
	const stored = storedUnder(source);
	if (!stored)
		return missing(
			"SourceNotReady",
			`Source "${name}" has no source key yet. See its conditions.`,
		);
	if (work && "fault" in work)
		return missing("PlanNotReady", work.fault.message);
	if (!work)
		return missing(
			"PlanNotFound",
			`There is no TrackingPlan "${spec.plan?.name}" in this namespace. Create it, or delete this Operation.`,
		);
	const timeZone = spec.import?.timeZone;
	if (timeZone !== undefined && !isTimeZone(timeZone))
		return missing(
			"InvalidTimeZone",
			`spec.import.timeZone is "${timeZone}". It ${zoneForm}. Create another Operation with one.`,
		);
	const problem = podTemplateProblem(
		spec.jobTemplate,
		podPolicy,
		"spec.jobTemplate",
	);
	if (problem) return missing(problem.reason, problem.message);
	return { stored, work };
}

function startWorking(
	state: OperationState,
	{ work, stored }: Needs,
	answer: Extract<ManifestAnswer, { ok: true }>,
	now: number,
): WorkOnOperation[] {
	const { operation, image } = state;
	const { metadata, spec } = operation;
	const { dates, snapshotTime, url, authorities } = answer;
	const message = dates
		? `Reading the events of ${dates.start} to ${dates.end}.`
		: "Reading no events: the Source has none in the Operation's dates.";
	const input: OperationInput = {
		version: 1,
		operation: {
			name: metadata.name,
			uid: metadata.uid!,
			account: metadata.namespace!,
			source: spec.sourceRef.name,
		},
		work: work.work!,
		manifestURL: url,
		...(authorities !== undefined && { authorities }),
	};
	const facts: OperationStatus = {
		...(dates && { dates }),
		snapshotTime,
		sourceKey: stored.sourceKey,
		...(work.version !== undefined && { planVersion: work.version }),
	};
	const jobWithin = (activeDeadlineSeconds: number) =>
		operationJob(operation, input, { image, activeDeadlineSeconds });
	return start(state, jobWithin, message, facts, now);
}

/** Archive has listed the files of an Export. There is no Job: who downloads them gets links when asking for them. */
function succeedExport(
	{ operation, source }: OperationState,
	{ dates, snapshotTime, totals }: Extract<ManifestAnswer, { ok: true }>,
	now: number,
): WorkOnOperation[] {
	const { rows, objects, bytes } = totals ?? { rows: 0, objects: 0, bytes: 0 };
	const stored = source && storedUnder(source);
	const summary = `${countText(rows, "event")} in ${countText(objects, "file")}, ${bytes} bytes`;
	const facts = {
		startTime: rfc3339(now),
		completionTime: rfc3339(now),
		...(dates && { dates }),
		snapshotTime,
		...(stored && { sourceKey: stored.sourceKey }),
		export: { events: rows, files: objects, bytes },
		summary,
	};
	return transition.succeed(operation, summary, facts, now);
}

/** The Job has succeeded, and archive has answered with its report. */
function recordReport(
	state: OperationState,
	facts: OperationStatus,
	now: number,
): WorkOnOperation[] {
	const { operation, stored } = state;
	const { type, failIfBlocked } = operation.spec;
	const found = readReport(stored?.ok ? stored.report : undefined, type);
	if (!found) {
		const error = endedAs("ResultMissing", "The Job left no readable report");
		return transition.fail(operation, "OperationFailed", error, facts, now);
	}
	if (found.import) {
		const { completionTime: _, ...tried } = facts;
		const status = { ...operation.status, ...tried };
		return finishImport(
			{ ...state, operation: { ...operation, status } },
			found.import,
			now,
		);
	}
	const all = { ...facts, ...found };
	const { quarantined = 0, rejected = 0 } = found.dryRun ?? {};
	if (!failIfBlocked || quarantined + rejected === 0)
		return transition.succeed(operation, found.summary, all, now);
	const error = {
		code: "EventsBlocked" satisfies OperationErrorCode,
		message: `The plan would have quarantined or rejected ${quarantined + rejected} of the events. status.dryRun.findings says why.`,
		retryable: false,
	};
	return transition.fail(operation, "EventsBlocked", error, all, now);
}

/** Archive releases what matches, date by date, and each event once, however often it is asked. */
function release(
	state: OperationState,
	stored: StoredUnder,
	now: number,
): WorkOnOperation[] {
	const { shard, sourceKey } = stored;
	const { operation, source } = state;
	const { metadata, spec, status } = operation;
	return ask<"askRelease">(
		state,
		{
			type: "askRelease",
			shard,
			question: {
				operation: metadata.uid!,
				account: metadata.namespace!,
				sourceKey,
				...shardsIn(stored),
				...(spec.dates ?? keptDays(source, now)),
				filter: eventFilter(spec.filter),
			},
		},
		{
			reason: "Working",
			message: "Archive is releasing events",
			facts: {
				phase: "Running",
				startTime: status?.startTime ?? rfc3339(now),
			},
			unavailable: "ReleaseUnavailable",
			refused: "ReleaseRefused",
			goOn({ dates }) {
				const events = dates.reduce((sum, each) => sum + each.events, 0);
				const summary = `${countText(events, "event")} of ${countText(dates.length, "date")} released`;
				const facts = {
					release: { events, dates: dates.slice(-maxDates) },
					summary,
				};
				return transition.succeed(operation, summary, facts, now);
			},
		},
		now,
	);
}

function fail(
	operation: Operation,
	reason: "DatesNotReadable" | "PlanNotUsable",
	code: OperationErrorCode,
	message: string,
	now: number,
): WorkOnOperation[] {
	const error = { code, message, retryable: false };
	return transition.fail(operation, reason, error, {}, now);
}
