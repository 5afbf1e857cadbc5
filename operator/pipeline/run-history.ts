import type {
	Pipeline,
	PipelineLastRun,
	PipelineLastSuccess,
	Run,
} from "../../crds/generated/types.ts";
import { hasEnded } from "../../crds/run.ts";
import { dayMs, isOfFuture } from "../../packages/contracts/utc-date.ts";
import { ageOf } from "../../packages/kube/resource.ts";
import { isSameLayout } from "./plan-dates.ts";
import { isSameTable } from "./warehouse.ts";

/** What a Pipeline's Runs say about it. */
export interface RunHistory {
	/** The oldest Run that hasn't ended. */
	active: Run | undefined;
	lastRun: PipelineLastRun | undefined;
	/** The Run that lastRun describes, until it is deleted. */
	latest: Run | undefined;
	lastSuccess: PipelineLastSuccess | undefined;
	/** Ended Runs beyond those that the spec keeps. */
	surplus: Run[];
	/** When the oldest of the others has been kept for long enough. */
	nextExpiryMs: number | undefined;
}

/** The status remembers Runs that are pruned or that people delete. */
export function runHistory(
	{ spec, status }: Pipeline,
	runs: Run[],
	now: number,
): RunHistory {
	const keptMs = spec.runHistory.days * dayMs;
	const expiryMs = (run: Run) =>
		Date.parse(run.status!.completionTime!) + keptMs;
	const ended = runs
		.filter(hasEnded)
		.toSorted((a, b) => compare(endOf(b), endOf(a)));
	const latest = ended.find(
		(run) =>
			run.status!.completionTime! >= (status?.lastRun?.completionTime ?? ""),
	);
	const isSuccess = (run: Run) => run.status?.phase === "Succeeded";
	const failures = ended.filter((run) => !isSuccess(run));
	const surplus = new Set([
		...beyond(spec.runHistory.succeeded, ended.filter(isSuccess)),
		...beyond(spec.runHistory.failed, failures),
		...ended.filter((run) => expiryMs(run) <= now),
	]);
	const oldest = ended.findLast((run) => !surplus.has(run));
	return {
		active: runs
			.filter((run) => !hasEnded(run))
			.toSorted((a, b) => compare(ageOf(a), ageOf(b)))[0],
		latest,
		lastRun: latest ? lastRunOf(latest) : status?.lastRun,
		lastSuccess: lastSuccessOf(ended, status?.lastSuccess, now),
		surplus: [...surplus],
		nextExpiryMs: oldest && expiryMs(oldest),
	};
}

/**
 * Times are whole seconds, so the order of Runs that ended in the same second is unknown. They stay together, since
 * somebody may be waiting for one of them.
 */
function beyond(kept: number, latestFirst: Run[]): Run[] {
	if (kept === 0) return latestFirst;
	const since = latestFirst[kept - 1]?.status?.completionTime ?? "";
	return latestFirst.filter((run) => run.status!.completionTime! < since);
}

/** Runs go by age, so of two that ended in the same second the younger ended later. */
function endOf(run: Run): string {
	return `${run.status?.completionTime} ${ageOf(run)}`;
}

/** No two Runs are equal: the name is part of both texts. */
function compare(a: string, b: string): number {
	return a < b ? -1 : 1;
}

function lastRunOf({ metadata, status }: Run): PipelineLastRun {
	return {
		name: metadata.name,
		phase: status!.phase as PipelineLastRun["phase"],
		...(status!.rows !== undefined && { rows: status!.rows }),
		completionTime: status!.completionTime!,
	};
}

/**
 * A Run of chosen days says nothing about the other days, so the next Run does not continue from it, and only knows that it need not
 * load these again for what was imported before. Nor does it continue from a snapshot of the
 * future, which clocks gave that were ahead: it says that days are closed which are to come. Such a Run counts as little when
 * that future has come.
 */
function lastSuccessOf(
	ended: Run[],
	remembered: PipelineLastSuccess | undefined,
	now: number,
): PipelineLastSuccess | undefined {
	const believed = ended.filter(
		({ status }) =>
			status?.phase === "Succeeded" &&
			!isOfFuture(
				Date.parse(status.snapshotTime ?? ""),
				// The operator's own clock may have been ahead, too.
				Math.min(Date.parse(status.completionTime!), now),
			),
	);
	const run = believed.find((each) => !isOfChosenDates(each));
	const success = latestSuccess(run, remembered, now);
	if (!success) return undefined;
	const reloads = reloadsSince(success, believed);
	return { ...success, ...(reloads.length > 0 && { reloads }) };
}

function isOfChosenDates({ spec, status }: Run): boolean {
	return spec.dates !== undefined && status?.extent !== "Whole";
}

/** A manifest asks for each of them. */
const mostReloads = 10;

/** The Runs of chosen dates, by uid, that loaded the same table later. The oldest go first: then their dates are loaded once more. */
function reloadsSince(
	{ reloads = [], snapshotTime, layout }: PipelineLastSuccess,
	latestFirst: Run[],
): string[] {
	const later = latestFirst
		.filter(
			(run) =>
				isOfChosenDates(run) &&
				run.status!.snapshotTime! >= snapshotTime &&
				run.status!.layout !== undefined &&
				isSameLayout(run.status!.layout, layout),
		)
		.map(({ metadata }) => metadata.uid!)
		.toReversed();
	return [...new Set([...reloads, ...later])].slice(-mostReloads);
}

function latestSuccess(
	run: Run | undefined,
	remembered: PipelineLastSuccess | undefined,
	now: number,
): PipelineLastSuccess | undefined {
	const { snapshotTime, closedThrough, layout, dates } = run?.status ?? {};
	const known =
		remembered && !isOfFuture(Date.parse(remembered.snapshotTime), now)
			? remembered
			: undefined;
	if (!snapshotTime || !closedThrough || !layout) return known;
	if (known && known.snapshotTime > snapshotTime) return known;
	const isKnown =
		known?.runUID !== undefined && known.runUID === run!.metadata.uid;
	// The partitions of another table say so themselves.
	const isWhole = layout.strategy === "FullReload";
	const held = isWhole && dates && { dates };
	const { uid: runUID } = run!.metadata;
	const wasEmpty =
		!remembered || !isSameTable(remembered.layout, layout) || remembered.empty;
	const isEmpty = run!.status?.rows === 0 && (wasEmpty || isWhole);
	return {
		...(runUID && { runUID }),
		snapshotTime,
		closedThrough,
		...held,
		...(isEmpty && { empty: true }),
		...(isKnown && known.reloads && { reloads: known.reloads }),
		layout,
	};
}
