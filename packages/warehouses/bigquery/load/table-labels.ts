import { createHash } from "node:crypto";
import type { LoadInput } from "../../../contracts/job.ts";
import { pipelineOf, type TableMark } from "../../load/table-mark.ts";
import type { BigQueryTable } from "./rest/api.ts";

/** Labels that load puts on tables and jobs. */
export const label = {
	/** Uid of the Run. */
	run: "tidemill-run",
	/** On a table: the snapshot time of its data, in milliseconds since the epoch. */
	snapshot: "tidemill-snapshot",
	/** On a table: the Pipeline that loads it. Its namespace and its name together are too long for one label. */
	namespace: "tidemill-namespace",
	pipeline: "tidemill-pipeline",
	/** On a table: the key of the Source that the Pipeline loads. Early builds leave it empty while `through` is. */
	source: "tidemill-source",
	/** On a table: the date of {@link TableMark} `holds`; empty while it has none. */
	through: "tidemill-through",
	/** On a view of latest rows: a digest of what it selects. */
	view: "tidemill-view",
	/** On a job: a digest of the table that it writes to. */
	table: "tidemill-table",
} as const;

/** A table's mark as labels: they go with the table when it is dropped. */
export function labelsOf({
	run,
	snapshotMs,
	pipeline,
	sourceKey,
	holds,
}: TableMark): Record<string, string> {
	const [namespace, name] = pipeline?.split("/") ?? [];
	return {
		[label.run]: run,
		[label.snapshot]: String(snapshotMs),
		...(namespace &&
			name && { [label.namespace]: namespace, [label.pipeline]: name }),
		[label.source]: sourceKey ?? holds?.sourceKey ?? "",
		[label.through]: holds?.through ?? "",
	};
}

export function markOf({
	labels = {},
}: Pick<BigQueryTable, "labels">): TableMark | undefined {
	const run = labels[label.run];
	if (!run) return undefined;
	const [namespace, name] = [labels[label.namespace], labels[label.pipeline]];
	const [sourceKey, through] = [labels[label.source], labels[label.through]];
	return {
		run,
		snapshotMs: Number(labels[label.snapshot] ?? 0),
		...(namespace && name && { pipeline: `${namespace}/${name}` }),
		...(namespace && name && sourceKey && { sourceKey }),
		...(sourceKey && through && { holds: { sourceKey, through } }),
	};
}

/**
 * The table's mark, as a load of the Pipeline reads it. A load of an early build that was interrupted leaves neither Pipeline
 * nor Source in it. The description with which it creates its table names both.
 */
export function markFor(
	table: Pick<BigQueryTable, "labels" | "description">,
	input: Pick<LoadInput, "table" | "run">,
): TableMark | undefined {
	const mark = markOf(table);
	const isUnnamed = mark && !mark.pipeline && !mark.holds;
	return isUnnamed && table.description === input.table.description
		? { ...mark, pipeline: pipelineOf(input) }
		: mark;
}

export function tableDigest(dataset: string, table: string): string {
	return createHash("sha256")
		.update(`${dataset}.${table}`)
		.digest("hex")
		.slice(0, 16);
}
