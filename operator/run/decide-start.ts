import type { ManifestAnswer } from "../../contracts/manifest.ts";
import type { RunStatus } from "../../crds/generated/types.ts";
import { rfc3339 } from "../../kube/timestamps.ts";
import type { Target } from "../pipeline/target.ts";
import { runJob } from "./job.ts";
import { limitPending } from "./pending.ts";
import type { RunState } from "./state.ts";
import {
	deadlineMs,
	loadingMessage,
	type RunAction,
	steps,
	tell,
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
	if (!answer.ok) return steps.refusedByArchive(run, answer.error, now);
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
	return [
		...steps.start(
			run,
			runJob(run, pipeline, target, job),
			message,
			began,
			now,
		),
		tell("Normal", "RunStarted", message),
	];
}

/** @param message Why Kubernetes refused the Job or its input. */
export function decideRefused(
	state: RunState,
	message: string,
	now: number,
): RunAction[] {
	const actions = steps.refusedByKubernetes(state.run, message, now);
	return limitPending(state, actions, now);
}
