import type { Operation, OperationStatus } from "../../crds/generated/types.ts";
import type { Job } from "../../kube/kinds.ts";
import { endedAs } from "../job/endings.ts";
import { failedAttempts } from "../job/failed-attempts.ts";
import { jobOutcome } from "../job/outcome.ts";
import { withoutFact } from "../job/work-status.ts";
import type { OperationErrorCode } from "./errors.ts";
import { readReport } from "./report.ts";
import type { OperationState } from "./state.ts";
import { deadlineMs, type OperationAction, transition } from "./transition.ts";

/** Longer than an archive takes to restart. */
const patienceMs = 10 * 60_000;

/** The Operation has a Job: wait for it, or record its result. */
export function follow(
	state: OperationState,
	job: Job,
	now: number,
): OperationAction[] {
	const { operation, pods } = state;
	// The Pods of a Job go when it runs out of time.
	const attempts = Math.max(pods.length, operation.status?.attempts ?? 0);
	const stored = state.stored?.ok ? state.stored : undefined;
	const outcome = jobOutcome(job, pods, stored?.result);
	const known = operation.status?.failedAttempts;
	const tried = {
		attempts,
		...failedAttempts(known, pods, outcome.finished),
	};
	if (!outcome.finished) {
		if (operation.spec.cancel) return transition.cancel(operation, tried, now);
		const { waitingFor } = outcome;
		return waitingFor === undefined
			? transition.progress(
					operation,
					"Working",
					"The Job reads events.",
					{ phase: "Running", ...tried },
					now,
				)
			: transition.progress(
					operation,
					"PodWaiting",
					waitingFor,
					{ phase: "Pending", ...tried },
					now,
				);
	}
	const { result, at, isPodGone } = outcome;
	// The report of a Job that has succeeded is in the bucket.
	if (isPodGone || result.outcome === "Succeeded") {
		const question = askForResult(state, at, now);
		if (question) return question;
	}
	const facts = {
		completionTime: at,
		...tried,
		...(result.log && { log: result.log }),
	};
	if (result.outcome === "Succeeded")
		return recordReport(operation, stored?.report, facts, now);
	const { error } = result;
	if (error.code === "ManifestExpired" && hasTime(operation, now))
		return startOver(operation, now);
	return transition.fail(operation, "OperationFailed", error, facts, now);
}

function recordReport(
	operation: Operation,
	report: string | undefined,
	facts: OperationStatus,
	now: number,
): OperationAction[] {
	const { type, failIfBlocked } = operation.spec;
	const found = readReport(report, type);
	if (!found) {
		const error = endedAs("ResultMissing", "The Job left no readable report");
		return transition.fail(operation, "OperationFailed", error, facts, now);
	}
	const { quarantined = 0, rejected = 0 } = found.dryRun ?? {};
	if (!failIfBlocked || quarantined + rejected === 0)
		return transition.succeed(operation, { ...facts, ...found }, now);
	const error = {
		code: "EventsBlocked" satisfies OperationErrorCode,
		message: `The plan would have quarantined or rejected ${quarantined + rejected} of the events. status.dryRun.findings says why.`,
		retryable: false,
	};
	return transition.fail(
		operation,
		"EventsBlocked",
		error,
		{ ...facts, ...found },
		now,
	);
}

/** Archive has what the Job left. Undefined if there is nobody to ask, or archive has answered, or has been silent for long. */
function askForResult(
	{ operation, source, stored }: OperationState,
	endedAt: string,
	now: number,
): OperationAction[] | undefined {
	const { sourceKey } = operation.status ?? {};
	const shard = source?.status?.shard;
	if (sourceKey === undefined || shard === undefined || stored?.ok)
		return undefined;
	if (!stored) {
		const { uid, namespace } = operation.metadata;
		const question = { run: uid!, account: namespace!, sourceKey };
		return [{ type: "askResult", shard, question }];
	}
	const isLost = now - Date.parse(endedAt) > patienceMs;
	if (!stored.error.retryable || isLost) return undefined;
	return [
		...transition.progress(
			operation,
			"Working",
			`The Job has ended. Its report is not known yet: ${stored.error.message}`,
			{},
			now,
		),
		{ type: "lookAgain", afterMs: 10_000 },
	];
}

function hasTime(operation: Operation, now: number): boolean {
	const { spec, status } = operation;
	const { startTime } = status ?? {};
	if (!startTime || spec.cancel) return false;
	return now < deadlineMs(operation, startTime);
}

/** Archive is asked again, for a new Job: the links expire, and a Job may wait for a node for long. */
function startOver(operation: Operation, now: number): OperationAction[] {
	return [
		...transition.progress(
			withoutFact(operation, "attempts"),
			"Preparing",
			"The links to the objects have expired. Archive is making new ones.",
			{ phase: "Pending" },
			now,
		),
		{ type: "removeJob" },
	];
}
