import type { ManifestAnswer } from "../../contracts/manifest.ts";
import type { OperationInput } from "../../contracts/operation.ts";
import type { Operation } from "../../crds/generated/types.ts";
import { hasEnded } from "../../crds/operation.ts";
import { findCondition } from "../../kube/conditions.ts";
import { rfc3339 } from "../../kube/timestamps.ts";
import { endedAs } from "../job/endings.ts";
import { podTemplateProblem } from "../job/pod-template.ts";
import { type StoredUnder, storedUnder } from "../source/webhook/keys.ts";
import type { OperationErrorCode } from "./errors.ts";
import { follow } from "./follow.ts";
import { decideHistory } from "./history.ts";
import { decideImport } from "./import.ts";
import { operationJob } from "./job.ts";
import { limitPending } from "./pending.ts";
import { decideRelease } from "./release.ts";
import type { OperationState } from "./state.ts";
import {
	deadlineMs,
	type OperationAction,
	steps,
	tell,
	transition,
	type WaitReason,
} from "./transition.ts";
import { daysOf, keptDays } from "./work/days.ts";
import type { PlannedWork } from "./work/work.ts";

/** The Job starts a little later, and its attempts end a little late. */
const linkSlackSeconds = 600;
/** A Secret holds 1 MiB. */
const maxInputBytes = 1_000_000;

/** In the order in which they are applied. */
export function decide(state: OperationState, now: number): OperationAction[] {
	const { operation, job, ended } = state;
	if (operation.metadata.deletionTimestamp) return [];
	if (hasEnded(operation))
		return [
			...(job ? [{ type: "removeJob" } as const] : []),
			...decideHistory(operation, ended, now),
		];
	const actions = job ? follow(state, job, now) : decideWithoutJob(state, now);
	return job ? actions : limitPending(operation, actions, now);
}

function decideWithoutJob(
	state: OperationState,
	now: number,
): OperationAction[] {
	const { operation } = state;
	if (operation.spec.cancel) return transition.cancel(operation, {}, now);
	if (operation.status?.import)
		return decideImport(state, operation.status.import, now);
	// The status counts attempts as soon as a Job is seen.
	if (operation.status?.attempts === undefined) return prepare(state, now);
	const error = endedAs("JobDeleted", "The Operation's Job is gone");
	return transition.fail(operation, "OperationFailed", error, {}, now);
}

/** The Operation has had no Job yet: wait for what is missing, or for archive's answer. */
function prepare(state: OperationState, now: number): OperationAction[] {
	const { operation, progress } = state;
	const { metadata, spec, status } = operation;
	const wait = (reason: WaitReason, message: string) =>
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
	const before = findCondition(status?.conditions, "Complete")?.reason;
	const isTold = before !== undefined && toldUntilNews.has(before);
	const doing = "Archive is listing the objects to read";
	return [
		...(progress !== undefined
			? wait("Preparing", `${doing}: ${progress}`)
			: isTold
				? []
				: wait("Preparing", `${doing}.`)),
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
	];
}

/** The last answer of archive or Kubernetes, and the place in the queue, stay until there is something newer. */
const toldUntilNews: ReadonlySet<string> = new Set<WaitReason>([
	"ManifestUnavailable",
	"Queued",
	"JobNotStarted",
]);

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
}: OperationState): Needs | { missing: [WaitReason, string] } {
	const { spec } = operation;
	const missing = (...missing: [WaitReason, string]) => ({ missing });
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

/** Archive has answered. @param state As it was decided on after the answer came. */
export function decideStart(
	state: OperationState,
	answer: ManifestAnswer,
	now: number,
): OperationAction[] {
	const { operation, image } = state;
	if (!answer.ok) return steps.refusedByArchive(operation, answer.error, now);
	if (operation.spec.type === "Export")
		return decideExported(state, answer, now);
	const needs = needsOf(state);
	if ("missing" in needs)
		return transition.progress(
			operation,
			...needs.missing,
			{ phase: "Pending" },
			now,
		);
	const { metadata, spec } = operation;
	const { dates, snapshotTime, url, authorities } = answer;
	const { work, stored } = needs;
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
	return [
		...steps.start(
			operation,
			operationJob(operation, input, { image, activeDeadlineSeconds }),
			message,
			{
				phase: "Running",
				startTime,
				...(dates && { dates }),
				snapshotTime,
				sourceKey: stored.sourceKey,
				...(work.version !== undefined && { planVersion: work.version }),
			},
			now,
		),
		tell("Normal", "OperationStarted", message),
	];
}

/** Archive has listed the files of an Export. There is no Job: who downloads them gets links when asking for them. */
function decideExported(
	{ operation, source }: OperationState,
	{ dates, snapshotTime, totals }: Extract<ManifestAnswer, { ok: true }>,
	now: number,
): OperationAction[] {
	const { rows, objects, bytes } = totals ?? { rows: 0, objects: 0, bytes: 0 };
	const stored = source && storedUnder(source);
	return transition.succeed(
		operation,
		{
			startTime: rfc3339(now),
			completionTime: rfc3339(now),
			...(dates && { dates }),
			snapshotTime,
			...(stored && { sourceKey: stored.sourceKey }),
			export: { events: rows, files: objects, bytes },
			summary: `${countText(rows, "event")} in ${countText(objects, "file")}, ${bytes} bytes`,
		},
		now,
	);
}

/** @param message Why Kubernetes refused the Job or its input. */
export function decideRefused(
	operation: Operation,
	message: string,
	now: number,
): OperationAction[] {
	const actions = steps.refusedByKubernetes(operation, message, now);
	return limitPending(operation, actions, now);
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
