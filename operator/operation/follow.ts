import type { Operation, OperationStatus } from "../../crds/generated/types.ts";
import type { Job } from "../../kube/kinds.ts";
import { endedAs } from "../job/endings.ts";
import { failedAttempts } from "../job/failed-attempts.ts";
import { jobOutcome } from "../job/outcome.ts";
import { linksExpired } from "../job/work-steps.ts";
import type { OperationErrorCode } from "./errors.ts";
import { decideImport } from "./import.ts";
import type { OperationState } from "./state.ts";
import {
	deadlineMs,
	type OperationAction,
	steps,
	transition,
} from "./transition.ts";
import { readReport } from "./work/report.ts";

/** The Operation has a Job: wait for it, or record its result. */
export function follow(
	state: OperationState,
	job: Job,
	now: number,
): OperationAction[] {
	const { operation, pods } = state;
	const { import: left } = operation.status ?? {};
	if (left)
		return operation.spec.cancel
			? transition.cancel(operation, {}, now)
			: decideImport(state, left, now);
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
		const question = steps.askForResult(
			operation,
			{
				sourceKey: operation.status?.sourceKey,
				shard: state.source?.status?.shard,
				stored: state.stored,
				endedAt: at,
			},
			now,
		);
		if (question) return question;
	}
	const facts = {
		completionTime: at,
		...tried,
		...(result.log && { log: result.log }),
	};
	if (result.outcome === "Succeeded")
		return recordReport(state, stored?.report, facts, now);
	const { error } = result;
	if (error.code === "ManifestExpired" && hasTime(operation, now))
		return steps.startOver(operation, linksExpired, {}, now);
	return transition.fail(operation, "OperationFailed", error, facts, now);
}

function recordReport(
	state: OperationState,
	report: string | undefined,
	facts: OperationStatus,
	now: number,
): OperationAction[] {
	const { operation } = state;
	const { type, failIfBlocked } = operation.spec;
	const found = readReport(report, type);
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

function hasTime(operation: Operation, now: number): boolean {
	const { spec, status } = operation;
	const { startTime } = status ?? {};
	if (!startTime || spec.cancel) return false;
	return now < deadlineMs(operation, startTime);
}
