import type { ManifestAnswer } from "../../contracts/manifest.ts";
import type { Run, RunStatus } from "../../crds/generated/types.ts";
import { rfc3339 } from "../../kube/timestamps.ts";
import { nextLookMs, type Place, placeText } from "../job/slots.ts";
import { withoutFact } from "../job/work-status.ts";
import type { Target } from "../pipeline/target.ts";
import { retryWaitMs } from "../reconcile/retry-wait.ts";
import { runJob } from "./job.ts";
import { limitPending } from "./pending.ts";
import type { RunState } from "./state.ts";
import {
	deadlineMs,
	loadingMessage,
	type RunAction,
	tell,
	transition,
} from "./transition.ts";

/**
 * Archive has answered. A Run starts only after archive has flushed: every event answered before is in the manifest.
 * @param state As it was decided on after the answer came: a Destination that is no longer Ready gets no Job.
 */
export function decideStart(
	state: RunState,
	target: Target,
	answer: ManifestAnswer,
	now: number,
): RunAction[] {
	const actions = decideAnswered(state, target, answer, now);
	return limitPending(state, actions, now);
}

function decideAnswered(
	{ run, references, image }: RunState,
	target: Target,
	answer: ManifestAnswer,
	now: number,
): RunAction[] {
	if (!answer.ok) {
		const { error } = answer;
		if (!error.retryable)
			return transition.fail(run, "ManifestRefused", error, {}, now);
		return [
			...transition.progress(
				run,
				"ManifestUnavailable",
				error.message,
				{ phase: "Pending" },
				now,
			),
			{ type: "lookAgain", afterMs: retryWaitMs(run, now) },
		];
	}
	const { pipeline } = references!;
	const { snapshotTime, closedThrough, extent, dates, url, authorities } =
		answer;
	const startTime = run.status?.startTime ?? rfc3339(now);
	const began: RunStatus = {
		phase: "Running",
		startTime,
		strategy: target.strategy,
		extent,
		...(dates && { dates }),
		snapshotTime,
		closedThrough,
		layout: target.layout,
	};
	const message = loadingMessage({ ...run, status: began }, target.tableName);
	const leftMs = deadlineMs(pipeline, startTime) - now;
	const job = {
		manifestURL: url,
		...(authorities !== undefined && { authorities }),
		extent,
		image,
		activeDeadlineSeconds: Math.max(1, Math.ceil(leftMs / 1000)),
	};
	const start = {
		type: "startJob",
		runJob: runJob(run, pipeline, target, job),
	} as const;
	return [
		// The status is written before the Job is there. A Run that Kubernetes refuses must not seem to run meanwhile.
		{ ...start, dryRun: true },
		...transition.progress(run, "Loading", message, began, now),
		{ ...start, dryRun: false },
		tell("Normal", "RunStarted", message),
	];
}

/** Archive has answered, and there are as many Jobs as there may be. */
export function decideQueued(run: Run, place: Place, now: number): RunAction[] {
	return [
		...transition.progress(
			run,
			"Queued",
			`The Run waits for its turn: ${placeText(place)}`,
			{ phase: "Pending" },
			now,
		),
		{ type: "lookAgain", afterMs: nextLookMs(place) },
	];
}

/** @param message Why Kubernetes refused the Job or its input. */
export function decideRefused(
	state: RunState,
	message: string,
	now: number,
): RunAction[] {
	const { run } = state;
	const facts = { phase: "Pending" } as const;
	// The Run's time begins when its Job starts.
	const waiting = withoutFact(run, "startTime");
	const actions: RunAction[] = [
		...transition.progress(waiting, "JobNotStarted", message, facts, now),
		tell("Warning", "JobNotStarted", message),
		{ type: "lookAgain", afterMs: retryWaitMs(run, now) },
	];
	return limitPending(state, actions, now);
}
