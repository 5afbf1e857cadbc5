import type { Pipeline, Run } from "../../crds/generated/types.ts";
import { deadlineMs } from "./transition.ts";

/** The Job starts a little later, and its attempts end a little late. */
const linkSlackSeconds = 600;

/** How long the Run's links must work. A cancelled Run's links work for no longer. */
export function linkSecondsOf(
	run: Run,
	pipeline: Pipeline,
	now: number,
): number {
	const startTime = run.status?.startTime ?? new Date(now).toISOString();
	const leftMs = Math.max(0, deadlineMs(pipeline, startTime) - now);
	return Math.ceil(leftMs / 1000) + linkSlackSeconds;
}
