import type { Pipeline, Run } from "../../crds/generated/types.ts";
import { hasEnded, rowsText } from "../../crds/run.ts";
import { unfitColumns, unfitText } from "../../crds/unfit-values.ts";
import type { Notification } from "../../packages/contracts/notification.ts";
import { findCondition } from "../../packages/kube/conditions.ts";
import { ageOf, rfc3339 } from "../../packages/kube/resource.ts";
import { cutToLength } from "../../packages/kube/text.ts";
import { type RunLateness, runOnTime } from "./lateness.ts";
import { hasBodyColumns, saysHowValuesFit, valuesFit } from "./values-fit.ts";

/** Of a message. An error may quote what a warehouse said. */
const maxLength = 1_000;

/** What has happened since the status was written, if `spec.notify` wants to know it. The oldest first. */
export function changesOf(
	pipeline: Pipeline,
	runs: readonly Run[],
	lateness: RunLateness | undefined,
): Notification[] {
	const { types } = pipeline.spec.notify ?? {};
	const ended = endedRuns(pipeline, runs);
	return [
		...endsOf(pipeline, ended),
		...valuesOf(pipeline, ended),
		...lateOf(pipeline, lateness),
	].filter(({ type }) => !types || (types as string[]).includes(type));
}

interface EndedRuns {
	/** The oldest first. */
	known: Run[];
	/** Those that ended since the status was written. */
	fresh: Run[];
}

function endedRuns(
	{ metadata, status }: Pipeline,
	runs: readonly Run[],
): EndedRuns {
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
	return {
		known: ended.filter((run) => !isNew(run)),
		fresh: ended.filter(isNew),
	};
}

/** Each failure is a notification; a success only after a failure, or when the Pipeline was late. */
function endsOf(
	{ status }: Pipeline,
	{ known, fresh }: EndedRuns,
): Notification[] {
	const { lastRun } = status ?? {};
	// A Run that somebody cancelled says nothing.
	const notified = known.findLast((run) => run.status!.phase !== "Cancelled");
	const before =
		lastRun?.phase === "Cancelled" ? notified?.status?.phase : lastRun?.phase;
	let hasFailed =
		before === "Failed" ||
		findCondition(status?.conditions, runOnTime)?.status === "False";
	const changes: Notification[] = [];
	for (const run of fresh) {
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

/** Once when values stop fitting their columns, and once when they do again. */
function valuesOf(pipeline: Pipeline, { fresh }: EndedRuns): Notification[] {
	if (!hasBodyColumns(pipeline)) return [];
	const before = findCondition(pipeline.status?.conditions, valuesFit);
	let wasUnfit = before?.status === "False";
	const changes: Notification[] = [];
	for (const { metadata, status } of fresh.filter(saysHowValuesFit)) {
		const unfit = unfitColumns(status!);
		const isUnfit = unfit.length > 0;
		if (isUnfit === wasUnfit) continue;
		wasUnfit = isUnfit;
		const message = isUnfit
			? `Run "${metadata.name}": ${unfitText(unfit)}`
			: `The values of Run "${metadata.name}" fit their columns again.`;
		changes.push({
			id: `msg_${metadata.uid}_${isUnfit ? "unfit" : "fit"}`,
			type: isUnfit ? "ValuesUnfit" : "ValuesRecovered",
			time: status!.completionTime!,
			message: cutToLength(message, maxLength),
			run: metadata.name,
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
