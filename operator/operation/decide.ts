import type { Operation, OperationStatus } from "../../crds/generated/types.ts";
import { hasEnded } from "../../crds/operation.ts";
import type { ManifestAnswer } from "../../packages/contracts/manifest.ts";
import type { OperationInput } from "../../packages/contracts/operation.ts";
import { rfc3339 } from "../../packages/kube/timestamps.ts";
import { lifecycle } from "../jobs/decide.ts";
import { endedAs } from "../jobs/endings.ts";
import { podTemplateProblem } from "../jobs/pod-template.ts";
import type { CompleteReason } from "../jobs/transition.ts";
import { type StoredUnder, storedUnder } from "../source/routes/keys.ts";
import { type OperationAction, transition } from "./action.ts";
import { daysOf, keptDays } from "./days.ts";
import type { OperationErrorCode } from "./errors.ts";
import { decideHistory } from "./history.ts";
import { decideImport } from "./import.ts";
import { operationJob } from "./job.ts";
import { decideRelease } from "./release.ts";
import { readReport } from "./report.ts";
import type { OperationState } from "./state.ts";
import type { PlannedWork } from "./work.ts";

/** The Job starts a little later, and its attempts end a little late. */
const linkSlackSeconds = 600;
/** A Secret holds 1 MiB. */
const maxInputBytes = 1_000_000;
const pendingLimit = {
	seconds: 3_600,
	text: "The Operation could not start within an hour.",
};

const { decideOpen, decideNotPermitted, askToStart, start } = lifecycle<
	Operation,
	"Operation",
	OperationState
>({
	noun: "Operation",
	transition,
	workIn: ({ operation }) => operation,
	working: "Working",
	workingMessage: () => "The Job reads events.",
	listing: "Archive is listing the objects to read",
	limited: [
		"SourceNotFound",
		"SourceNotReady",
		"PlanNotFound",
		"PlanNotReady",
		"AnnotationNotAllowed",
		"PriorityClassNotAllowed",
	],
	pendingLimit: () => pendingLimit,
	deadlineMs: ({ operation }, startTime) => deadlineMs(operation, startTime),
	prepare,
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
	failed: "OperationFailed",
});

/** In the order in which they are applied. */
export function decide(state: OperationState, now: number): OperationAction[] {
	const { operation, job, ended } = state;
	if (operation.metadata.deletionTimestamp) return [];
	if (hasEnded(operation))
		return [
			...(job ? [{ type: "removeJob" } as const] : []),
			...decideHistory(operation, ended, now),
		];
	const { import: left } = operation.status ?? {};
	// The Job has done its part.
	if (left)
		return operation.spec.cancel
			? transition.cancel(operation, {}, now)
			: decideImport(state, left, now);
	return decideOpen(state, now);
}

/** The operator lacks its permissions in the Operation's namespace. */
export function decideBarred(
	work: Operation,
	hasJob: boolean,
	message: string,
	now: number,
): OperationAction[] {
	const wait = { work, limit: pendingLimit, hasJob };
	return hasEnded(work) ? [] : decideNotPermitted(wait, message, now);
}

/** The Operation has had no Job yet: wait for what is missing, or for archive's answer. */
function prepare(state: OperationState, now: number): OperationAction[] {
	const { operation } = state;
	const { metadata, spec, status } = operation;
	const wait = (reason: CompleteReason<"Operation">, message: string) =>
		transition.progress(operation, reason, message, { phase: "Pending" }, now);
	const needs = needsOf(state);
	if ("missing" in needs) return wait(...needs.missing);
	if (spec.type === "Release") return decideRelease(state, needs.stored, now);
	if (state.before !== undefined)
		return wait(
			"ImportBefore",
			`The Import ${state.before} of this Source comes first.`,
		);
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
			type: "askManifest",
			shard: needs.stored.shard,
			question: {
				run: metadata.uid!,
				account: metadata.namespace!,
				sourceKey: needs.stored.sourceKey,
				extent: "Chosen",
				...dates,
				...(spec.type === "Export" ? { totals: true } : { report: true }),
				...(spec.type === "Inspect" && { released: true }),
				...(spec.import && {
					imports: [...new Set(spec.import.files.map(({ sha256 }) => sha256))],
				}),
				linkSeconds: secondsLeft(operation, now) + linkSlackSeconds,
				// An earlier Job of this Operation found its links expired.
				...(status?.startTime && { renew: true }),
			},
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
}: OperationState): Needs | { missing: [CompleteReason<"Operation">, string] } {
	const { spec } = operation;
	const missing = (...missing: [CompleteReason<"Operation">, string]) => ({
		missing,
	});
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
): OperationAction[] {
	const { operation, image } = state;
	const { metadata, spec } = operation;
	const { dates, snapshotTime, url, authorities } = answer;
	const startTime = operation.status?.startTime ?? rfc3339(now);
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
	const activeDeadlineSeconds = Math.max(1, secondsLeft(operation, now));
	const job = operationJob(operation, input, { image, activeDeadlineSeconds });
	const facts: OperationStatus = {
		phase: "Running",
		startTime,
		...(dates && { dates }),
		snapshotTime,
		sourceKey: stored.sourceKey,
		...(work.version !== undefined && { planVersion: work.version }),
	};
	return start(state, job, message, facts, now, "OperationStarted");
}

/** Archive has listed the files of an Export. There is no Job: who downloads them gets links when asking for them. */
function succeedExport(
	{ operation, source }: OperationState,
	{ dates, snapshotTime, totals }: Extract<ManifestAnswer, { ok: true }>,
	now: number,
): OperationAction[] {
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

/** The Job has succeeded, and archive has told its report. */
function recordReport(
	state: OperationState,
	facts: OperationStatus,
	now: number,
): OperationAction[] {
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
		return decideImport(
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

/** When the time of an Operation is over, all attempts together. */
function deadlineMs({ spec }: Operation, startTime: string): number {
	const { activeDeadlineSeconds } = spec.jobTemplate;
	return Date.parse(startTime) + activeDeadlineSeconds * 1000;
}

function secondsLeft(operation: Operation, now: number): number {
	const startTime = operation.status?.startTime ?? rfc3339(now);
	const leftMs = deadlineMs(operation, startTime) - now;
	return Math.ceil(Math.max(0, leftMs) / 1000);
}

function fail(
	operation: Operation,
	reason: "DatesNotReadable" | "PlanNotUsable",
	code: OperationErrorCode,
	message: string,
	now: number,
): OperationAction[] {
	const error = { code, message, retryable: false };
	return transition.fail(operation, reason, error, {}, now);
}

function countText(count: number, noun: string): string {
	return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
