import {
	type Pipeline,
	type Source,
	type SourceRetention,
	sourceKind,
} from "../../crds/generated/types.ts";
import { parseSchedule } from "../../crds/schedule.ts";
import { tableNameOf } from "../../crds/table-name.ts";
import { keptFrom, retainedDays } from "../../packages/contracts/retention.ts";
import { addDays, utcDate } from "../../packages/contracts/utc-date.ts";
import { unless } from "../../packages/kube/client/errors.ts";
import type { Handler } from "../http/endpoint.ts";
import { pipelines } from "../resources/api-resource.ts";
import { requireResource } from "../resources/resource-read.ts";

const shownRuns = 5;

/** `GET /v1/pipelines/{name}/preview`: when the next Runs start, and what a Run that starts now loads. */
export const previewPipeline: Handler = async (request) => {
	const { params } = request;
	const found = await requireResource(pipelines, request, params.name!);
	const pipeline = found as unknown as Pipeline;
	const { name } = pipeline.spec.sourceRef;
	const source = await unless(
		request.client.get<Source>(sourceKind, name, request.account),
		// Such a caller sees the dates of a Source with the usual retention.
		"Forbidden",
	);
	return previewOf(pipeline, source?.status?.retention, Date.now());
};

/** What the schedule and the last success say. A changed table or Source makes the next Run load all dates. */
export function previewOf(
	{ metadata, spec, status }: Pipeline,
	{ days = retainedDays, from }: SourceRetention = {},
	now: number,
) {
	const { dateRange, overwritePeriodDays, table } = spec;
	const today = utcDate(now);
	const retainedFrom = keptFrom({ days, from }, today);
	const isIncremental = table.columns.includes("Date");
	const { layout, closedThrough } = status?.lastSuccess ?? {};
	const first = latest(dateRange.start ?? retainedFrom, retainedFrom);
	const start =
		isIncremental && layout?.strategy === "Incremental" && closedThrough
			? latest(first, addDays(closedThrough, 1 - overwritePeriodDays))
			: first;
	const end =
		dateRange.end === "Today" || dateRange.end > today ? today : dateRange.end;
	return {
		name: metadata.name,
		nextRuns: nextRuns(spec, now),
		table: status?.tableName ?? tableNameOf(metadata.name, table.name),
		strategy: isIncremental ? "Incremental" : "FullReload",
		...(start <= end && { dates: { start, end } }),
	};
}

/** None of a schedule that is manual, invalid or suspended. */
function nextRuns({ schedule, suspend }: Pipeline["spec"], now: number) {
	const parsed = parseSchedule(schedule);
	if (suspend || !("schedule" in parsed) || !parsed.schedule) return [];
	const times: string[] = [];
	for (let at = now; times.length < shownRuns; ) {
		at = parsed.schedule.next(at);
		times.push(new Date(at).toISOString());
	}
	return times;
}

function latest(a: string, b: string): string {
	return a > b ? a : b;
}
