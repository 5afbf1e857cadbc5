import {
	type Pipeline,
	pipelineKind,
	type Run,
	runKind,
} from "../../crds/generated/types.ts";
import { hasCounted } from "../../crds/run.ts";
import {
	anyTypesTableOf,
	quarantineTableOf,
	tableNameOf,
} from "../../crds/table-name.ts";
import type { FoundEvent } from "../../packages/contracts/stored-event.ts";
import { FairLimit } from "../../packages/fair/fair-limit.ts";
import { unless } from "../../packages/kube/client/client.ts";
import type { ApiRequest } from "../http/endpoint.ts";
import { readPage, readPages } from "../resources/page.ts";

/** Of a Pipeline. It keeps fewer unless it is told to keep more. */
const mostRuns = 1_000;

/** What an account's receipts read doesn't add up, however many it asks for at once. */
const receipts = new FairLimit({ atOncePerOwner: 1 });

/** What each Pipeline of a Source did with each of its events. Undefined if the caller may not see Pipelines or Runs. */
export async function readLoads(
	request: Pick<ApiRequest, "client" | "account">,
	source: string,
	events: readonly Parameters<typeof loadOf>[0][],
): Promise<EventLoad[][] | undefined> {
	const { client, account: namespace } = request;
	const read = async () => {
		const loads: EventLoad[][] = events.map(() => []);
		const fieldSelector = `spec.sourceRef.name=${source}`;
		// The Runs of one Pipeline at a time: those of all would take too much memory.
		for await (const pipelines of readPages<Pipeline>({
			client,
			kind: pipelineKind,
			namespace,
			selectors: { fieldSelector },
		}))
			for (const pipeline of pipelines) {
				const { items: runs } = await readPage<Run>(
					{
						client,
						kind: runKind,
						namespace,
						selectors: {
							fieldSelector: `spec.pipelineRef.name=${pipeline.metadata.name},status.phase=Succeeded`,
						},
					},
					mostRuns,
				);
				for (const [at, event] of events.entries())
					loads[at]!.push(loadOf(event, pipeline, runs));
			}
		return loads;
	};
	return unless(receipts.run(namespace, read), "Forbidden");
}

/** Where a Pipeline has an event, or why it hasn't. */
interface EventLoad {
	pipeline: string;
	/** With an asterisk for the type where each type of event has a table: a body may be needed to know it. */
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
	/** The Pipeline has a filter, and the table has the event only if it matches. */
	filtered?: true;
	/** Of one that waits, if there is a schedule. */
	nextRunTime?: string;
}

/**
 * What a Pipeline of an event's Source did with it, from what it and its Runs say. A Run has every event that was stored before
 * its snapshot, of the dates that it loads. Whether a filter matches isn't asked: a body may be needed for that.
 */
export function loadOf(
	event: Pick<FoundEvent, "time" | "storedTime" | "sourceKey" | "state"> & {
		released?: { time: string };
	},
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
				!hasCounted(run) &&
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
	const filtered = (layout ? layout.filter : spec.filter) !== undefined && {
		filtered: true as const,
	};
	if (layout)
		return {
			pipeline,
			table: isHeld
				? quarantineTableOf(table)
				: layout.eventTypes === undefined
					? table
					: anyTypesTableOf(table),
			state: "Loaded",
			...filtered,
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
		...filtered,
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
