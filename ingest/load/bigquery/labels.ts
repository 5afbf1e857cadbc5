import { createHash } from "node:crypto";
import type { Table } from "./api.ts";

/** Labels that load puts on tables and jobs. */
export const label = {
	/** Uid of the Run. */
	run: "tidemill-run",
	/** On a table: the snapshot that its data is of, in milliseconds since the epoch. */
	snapshot: "tidemill-snapshot",
	/** On a job: digest of the table that it writes to. */
	table: "tidemill-table",
} as const;

/** A Run's claim to a table: the later snapshot has it. */
export interface Claim {
	runUid: string;
	/** Milliseconds since the epoch. */
	snapshotMs: number;
}

export function claimLabels({ runUid, snapshotMs }: Claim) {
	return { [label.run]: runUid, [label.snapshot]: String(snapshotMs) };
}

export function tableDigest(dataset: string, table: string): string {
	return createHash("sha256")
		.update(`${dataset}.${table}`)
		.digest("hex")
		.slice(0, 16);
}

/**
 * Whose the table is. `theirs`: a Run that looked later has it, so that one which slept meanwhile must not bring back
 * what it saw before.
 */
export function claimOn(
	{ labels = {} }: Pick<Table, "labels">,
	{ runUid, snapshotMs }: Claim,
): "ours" | "free" | "theirs" {
	if (labels[label.run] === runUid) return "ours";
	return Number(labels[label.snapshot] ?? 0) > snapshotMs ? "theirs" : "free";
}
