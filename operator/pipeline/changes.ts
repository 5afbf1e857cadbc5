import type { Pipeline, Run } from "../../crds/generated/types.ts";
import { hasEnded, rowsText } from "../../crds/run.ts";
import type { Notification } from "../../packages/contracts/notification.ts";
import { findCondition } from "../../packages/kube/conditions.ts";
import { ageOf, rfc3339 } from "../../packages/kube/resource.ts";
import { cutToLength } from "../../packages/kube/text.ts";
import { type RunLateness, runOnTime } from "./lateness.ts";

/** Of a message. An error may quote what a warehouse said. */
const maxLength = 1_000;

/** What has happened since the status was written, if `spec.notify` wants to know it. The oldest first. */
export function changesOf(
	pipeline: Pipeline,
	runs: readonly Run[],
	lateness: RunLateness | undefined,
): Notification[] {
	const { types } = pipeline.spec.notify ?? {};
	return [...endsOf(pipeline, runs), ...lateOf(pipeline, lateness)].filter(
		({ type }) => !types || (types as string[]).includes(type),
	);
}

/** Each failure is a notification; a success only after a failure, or when the Pipeline was late. */
function endsOf(
	{ metadata, status }: Pipeline,
	runs: readonly Run[],
): Notification[] {
	const ended = runs
		.filter(hasEnded)
		.toSorted((a, b) => (isLater(a, b) ? 1 : -1));
	const { lastRun } = status ?? {};
	const seen = ended.find((run) => run.metadata.name === lastRun?.name);
	const isNew = (run: Run) => {
		const time = run.status!.completionTime!;
		if (!lastRun) return time >= (metadata.creationTimestamp ?? "");
		if (time !== lastRun.completionTime) return time > lastRun.completionTime!;
		return seen !== undefined && ageOf(run) > ageOf(seen);
	};
	// A Run that somebody cancelled says nothing.
	const notified = ended.findLast(
		(run) => !isNew(run) && run.status!.phase !== "Cancelled",
	);
	const before =
		lastRun?.phase === "Cancelled" ? notified?.status?.phase : lastRun?.phase;
	let hasFailed =
		before === "Failed" ||
		findCondition(status?.conditions, runOnTime)?.status === "False";
	const changes: Notification[] = [];
	for (const run of ended.filter(isNew)) {
		const { phase, completionTime } = run.status!;
		if (phase === "Cancelled" || (phase === "Succeeded" && !hasFailed))
			continue;
		hasFailed = phase === "Failed";
		changes.push({
			id: `msg_${run.metadata.uid}_${hasFailed ? "failed" : "recovered"}`,
			type: hasFailed ? "RunFailed" : "RunRecovered",
			time: completionTime!,
			message: cutToLength(endText(run), maxLength),
			run: run.metadata.name,
		});
	}
	return changes;
}

function isLater(a: Run, b: Run): boolean {
	const end = (run: Run) => `${run.status!.completionTime} ${ageOf(run)}`;
	return end(a) > end(b);
}

function endText({ metadata, status }: Run): string {
	const { error, rows, phase } = status!;
	return phase === "Failed"
		? `Run "${metadata.name}" failed${error ? ` (${error.code}): ${error.message}` : "."}`
		: `Run "${metadata.name}" loaded ${rowsText(rows)}. The one before failed or was late.`;
}

function lateOf(
	{ metadata, spec, status }: Pipeline,
	lateness: RunLateness | undefined,
): Notification[] {
	const wasLate =
		findCondition(status?.conditions, runOnTime)?.status === "False";
	if (!lateness?.isLate || wasLate) return [];
	const { slotMs, lateMs, reason } = lateness;
	return [
		{
			id: `msg_${metadata.uid}_late_${slotMs / 60_000}`,
			type: "RunLate",
			time: rfc3339(lateMs),
			message: cutToLength(
				`The Run of ${rfc3339(slotMs)} has not ended within ${spec.notify!.lateAfter}. ${reason}`,
				maxLength,
			),
		},
	];
}
