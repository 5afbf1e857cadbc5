import { createHash } from "node:crypto";
import type { TableMark } from "../destination/table-mark.ts";
import type { Table } from "./rest/api.ts";

/** Labels that load puts on tables and jobs. */
export const label = {
	/** Uid of the Run. */
	run: "tidemill-run",
	/** On a table: the snapshot time of its data, in milliseconds since the epoch. */
	snapshot: "tidemill-snapshot",
	/** On a table: the source key and the date of {@link TableMark} `holds`; empty while it has none. */
	source: "tidemill-source",
	through: "tidemill-through",
	/** On a job: a digest of the table that it writes to. */
	table: "tidemill-table",
} as const;

/** A table's mark as labels: they go with the table when it is dropped. */
export function labelsOf({ run, snapshotMs, holds }: TableMark) {
	return {
		[label.run]: run,
		[label.snapshot]: String(snapshotMs),
		[label.source]: holds?.sourceKey ?? "",
		[label.through]: holds?.through ?? "",
	};
}

export function markOf({
	labels = {},
}: Pick<Table, "labels">): TableMark | undefined {
	const run = labels[label.run];
	if (!run) return undefined;
	const [sourceKey, through] = [labels[label.source], labels[label.through]];
	return {
		run,
		snapshotMs: Number(labels[label.snapshot] ?? 0),
		...(sourceKey && through && { holds: { sourceKey, through } }),
	};
}

export function tableDigest(dataset: string, table: string): string {
	return createHash("sha256")
		.update(`${dataset}.${table}`)
		.digest("hex")
		.slice(0, 16);
}
