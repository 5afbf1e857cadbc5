import type { Pipeline, Run } from "../../crds/generated/types.ts";
import { tableNameOf } from "../../crds/table-name.ts";
import type { FoundEvent } from "../../packages/contracts/stored-event.ts";

/** Where a Pipeline has an event, or why it hasn't. */
export interface EventLoad {
	pipeline: string;
	table: string;
	/** `Loaded`, `Waiting` for a Run, `Held` in quarantine, or `Excluded` by the Pipeline's dates. */
	state: "Loaded" | "Waiting" | "Held" | "Excluded";
	/** The table's partition; absent for a table without. */
	partition?: string;
	/** The latest Run that loaded it, and when it ended. Absent if the Pipeline has removed that Run. */
	run?: string;
	loadedTime?: string;
	/** The first such Run that is still there. */
	firstRun?: string;
	/** Of a load whose Run is gone: the table has had the event since this time at the latest. */
	loadedBefore?: string;
	/** Of one that waits, if there is a schedule. */
	nextRunTime?: string;
}

/**
 * What a Pipeline of an event's Source did with it, from what it and its Runs say. A Run has every event that was stored before
 * its snapshot, of the dates that it loads.
 */
export function loadOf(
	event: Pick<
		FoundEvent,
		"time" | "storedTime" | "sourceKey" | "state" | "released"
	>,
	{ metadata, spec, status }: Pipeline,
	runs: readonly Run[],
): EventLoad {
	const date = event.time.slice(0, 10);
	// A row of quarantine is one of its date only since it was released.
	const sinceTime = event.released?.time ?? event.storedTime;
	const since = Date.parse(sinceTime);
	const hasIt = (snapshotTime: string | undefined) =>
		snapshotTime !== undefined && Date.parse(snapshotTime) >= since;
	const pipeline = metadata.name;
	const isHeld = event.state === "quarantined";
	const own = runs
		.filter(
			(run) =>
				run.spec.pipelineRef.name === pipeline &&
				run.status?.phase === "Succeeded" &&
				run.status.layout?.sourceKey === event.sourceKey &&
				hasIt(run.status.snapshotTime) &&
				isWithin(date, run.status.dates),
		)
		.sort((a, b) =>
			a.status!.snapshotTime! < b.status!.snapshotTime! ? -1 : 1,
		);
	const last = own.at(-1);
	const { lastSuccess } = status ?? {};
	const layout =
		last?.status?.layout ??
		(lastSuccess?.layout.sourceKey === event.sourceKey &&
		hasIt(lastSuccess.snapshotTime) &&
		isWithin(date, spec.dateRange)
			? lastSuccess.layout
			: undefined);
	const table =
		layout?.table ??
		status?.tableName ??
		tableNameOf(pipeline, spec.table.name);
	if (isHeld && !layout?.quarantine) return { pipeline, table, state: "Held" };
	if (layout)
		return {
			pipeline,
			table: isHeld ? `${table}_quarantine` : table,
			state: "Loaded",
			...(layout.strategy === "Incremental" && { partition: date }),
			...(last
				? {
						run: last.metadata.name,
						loadedTime: last.status!.completionTime!,
						firstRun: own[0]!.metadata.name,
					}
				: { loadedBefore: lastSuccess!.snapshotTime }),
		};
	if (!isWithin(date, spec.dateRange))
		return { pipeline, table, state: "Excluded" };
	return {
		pipeline,
		table,
		state: "Waiting",
		...(status?.nextRunTime && { nextRunTime: status.nextRunTime }),
	};
}

function isWithin(
	date: string,
	range: { start?: string; end?: string } | undefined,
): boolean {
	if (!range) return false;
	const { start = "", end = "Today" } = range;
	return date >= start && (end === "Today" || date <= end);
}
