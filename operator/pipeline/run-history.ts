import type {
	Pipeline,
	PipelineLastRun,
	PipelineLastSuccess,
	Run,
} from "../../crds/generated/types.ts";
import { hasEnded } from "../../crds/run.ts";
import { ageOf } from "../../kube/resource.ts";

/** What a Pipeline's Runs say about it. */
export interface RunHistory {
	/** The oldest Run that hasn't ended. */
	active: Run | undefined;
	lastRun: PipelineLastRun | undefined;
	/** The Run that lastRun speaks of, as long as it is there. */
	latest: Run | undefined;
	lastSuccess: PipelineLastSuccess | undefined;
	/** Ended Runs beyond what is kept. */
	surplus: Run[];
}

/** What was known stays known when its Run is gone: Runs are pruned, and people delete them. */
export function runHistory(
	{ spec, status }: Pipeline,
	runs: Run[],
): RunHistory {
	const ended = runs
		.filter(hasEnded)
		.toSorted((a, b) => compare(endOf(b), endOf(a)));
	const latest = ended.find(
		(run) => endOf(run) >= (status?.lastRun?.completionTime ?? ""),
	);
	const isSuccess = (run: Run) => run.status?.phase === "Succeeded";
	const failures = ended.filter((run) => !isSuccess(run));
	return {
		active: runs
			.filter((run) => !hasEnded(run))
			.toSorted((a, b) => compare(ageOf(a), ageOf(b)))[0],
		latest,
		lastRun: latest ? lastRunOf(latest) : status?.lastRun,
		lastSuccess: lastSuccessOf(ended, status?.lastSuccess),
		surplus: [
			...beyond(spec.runHistory.succeeded, ended.filter(isSuccess)),
			...beyond(spec.runHistory.failed, failures),
		],
	};
}

/** Times are whole seconds: of Runs that ended in the same one nobody knows the later, so they stay together. Somebody may be waiting for it. */
function beyond(kept: number, latestFirst: Run[]): Run[] {
	if (kept === 0) return latestFirst;
	const since = latestFirst[kept - 1]?.status?.completionTime ?? "";
	return latestFirst.filter((run) => run.status!.completionTime! < since);
}

/** Runs take their turns by age, so of two that ended in the same second the younger was the later. */
function endOf(run: Run): string {
	return `${run.status?.completionTime} ${ageOf(run)}`;
}

function compare(a: string, b: string): number {
	return a < b ? -1 : a > b ? 1 : 0;
}

function lastRunOf({ metadata, status }: Run): PipelineLastRun {
	return {
		name: metadata.name,
		phase: status!.phase as PipelineLastRun["phase"],
		...(status!.rows !== undefined && { rows: status!.rows }),
		completionTime: status!.completionTime!,
	};
}

/** A Run of chosen days leaves the others as they were, so the days of the next Run aren't counted from it. */
function lastSuccessOf(
	ended: Run[],
	known: PipelineLastSuccess | undefined,
): PipelineLastSuccess | undefined {
	const run = ended.find(
		({ spec, status }) => status?.phase === "Succeeded" && !spec.dates,
	);
	const { snapshotTime, closedThrough, layout } = run?.status ?? {};
	if (!snapshotTime || !closedThrough || !layout) return known;
	return known && known.snapshotTime > snapshotTime
		? known
		: { snapshotTime, closedThrough, layout };
}
