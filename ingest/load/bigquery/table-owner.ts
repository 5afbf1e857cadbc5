import { createHash } from "node:crypto";
import type { Table } from "./api.ts";

/** Labels that load puts on tables and jobs. */
export const label = {
	/** Uid of the Run. */
	run: "tidemill-run",
	/** On a table: the snapshot time of its data, in milliseconds since the epoch. */
	snapshot: "tidemill-snapshot",
	/** On a job: a digest of the table that it writes to. */
	table: "tidemill-table",
} as const;

/** The Run that a table belongs to. The Run with the latest snapshot owns it. */
export interface TableOwner {
	runUid: string;
	/** Milliseconds since the epoch. */
	snapshotMs: number;
}

export function ownerLabels({ runUid, snapshotMs }: TableOwner) {
	return { [label.run]: runUid, [label.snapshot]: String(snapshotMs) };
}

export function tableDigest(dataset: string, table: string): string {
	return createHash("sha256")
		.update(`${dataset}.${table}`)
		.digest("hex")
		.slice(0, 16);
}

/**
 * Whose the table is, as a Run sees it. `theirs`: a Run with a later snapshot owns it, so a Run that was paused meanwhile
 * must not bring back older data.
 */
export function ownershipOf(
	{ labels = {} }: Pick<Table, "labels">,
	{ runUid, snapshotMs }: TableOwner,
): "ours" | "free" | "theirs" {
	if (labels[label.run] === runUid) return "ours";
	return Number(labels[label.snapshot] ?? 0) > snapshotMs ? "theirs" : "free";
}
