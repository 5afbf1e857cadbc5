import type { CompactionRecord } from "../../../ingest/lake/compaction/record.ts";

/** One source's closed date: its folder in the bucket, who rewrites it and who reads it, as one plain value. */
export interface DateWorld {
	/** Both clocks, in steps of {@link tickMs}. */
	tick: number;
	/** Objects that cuts made, as the ledger knows them. Each has one event, a letter, and is named by it. */
	ledger: string[];
	/** The folder: events of each object by its name. */
	objects: Record<string, string>;
	record?: { tick: number; record: CompactionRecord };
	compactors: ModelCompactor[];
	/** What it is yet to remove, once it has looked. */
	sweeper: { names?: string[] };
	readers: ModelReader[];
	crashesLeft: number;
	/** What is yet to happen once, at any moment; see {@link file://./compaction-model.ts}. */
	turnsLeft: Turn[];
	/** Retention has removed the date, so no reader is promised anything. */
	isExpired: boolean;
	/** What is wrong, once something is. */
	fault?: string;
}

/** An object comes late; an archiver wakes that writes the first object again; retention takes all of the date. */
export type Turn = "late" | "rewrite" | "expire";

/** Links live for less than two of these, and what is replaced stays for at least two (25 hours). */
export const tickMs = 13 * 3_600_000;

export interface ModelCompactor {
	at: "look" | "read" | "write" | "verify" | "record" | "done";
	/** The ledger as it knew it. */
	known?: string[];
	/** Outputs that are done. */
	written?: string[][];
	/** Told apart from its earlier lives only by the mutation that gives outputs random names. */
	life: number;
}

export interface ModelReader {
	/** A Run reads what its manifest names; a reader of the lake does as docs/lake.md says. */
	kind: "Run" | "lake";
	at: "begin" | "choose" | "load" | "done";
	/** The tick in which it began, before its links were made. */
	since?: number;
	record?: CompactionRecord;
	/** Names in the folder, for one that lists before it asks for the record. */
	listed?: string[];
	/** What it must find: a Run this and nothing else. */
	expected?: string;
	manifest?: string[];
	/** What it is yet to read. */
	names?: string[];
	found?: string;
	/** How often its links may run out, so that it starts again with new ones. */
	renewals: number;
}
