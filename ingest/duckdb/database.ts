import "./allocator.ts";
import { setTimeout as delay } from "node:timers/promises";
// @duckdb/node-api: DuckDB in this process, by its makers; there is no server to talk to.
import { DuckDBInstance } from "@duckdb/node-api";

/** Another process had the file for all of the wait. The message names that process as far as DuckDB knows it. */
export class DatabaseBusy extends Error {
	override name = "DatabaseBusy";
}

export interface OpenOptions {
	/** Existing file; ":memory:" for none. */
	file: string;
	readOnly?: boolean;
	/** How long to wait for a process that has the file: DuckDB lets one write, or several read. */
	waitMs: number;
	/** DuckDB's own settings, e.g. memory_limit. */
	config?: Record<string, string>;
	signal?: AbortSignal;
	/** Called once, when the file turns out to be in use. */
	onWait?: (holder: string) => void;
}

/**
 * Opens a DuckDB file, waiting while another process has it.
 * Throws {@link DatabaseBusy} after `waitMs`, the signal's reason when aborted, else DuckDB's own error.
 */
export async function openDatabase(
	options: OpenOptions,
): Promise<DuckDBInstance> {
	const config = {
		...options.config,
		...(options.readOnly && { access_mode: "READ_ONLY" }),
	};
	const deadline = performance.now() + options.waitMs;
	for (let attempt = 0; ; attempt++) {
		try {
			return await DuckDBInstance.create(options.file, config);
		} catch (error) {
			const holder = lockHolder(error);
			if (holder === undefined) throw error;
			if (attempt === 0) options.onWait?.(holder);
			const leftMs = deadline - performance.now();
			if (leftMs <= 0)
				throw new DatabaseBusy(
					`${options.file} is in use by ${holder}, also after waiting ${options.waitMs / 1000} s`,
				);
			// The lock can't be waited for, only tried again; with jitter, so that two that wait don't stay in step.
			await delay(Math.min(leftMs, 100 + Math.random() * 200), undefined, {
				signal: options.signal,
			});
		}
	}
}

/** DuckDB's errors have no codes; this is how the one about the lock has read since 0.9. */
function lockHolder(error: unknown): string | undefined {
	if (!(error instanceof Error)) return undefined;
	if (!error.message.includes("Could not set lock on file")) return undefined;
	return (
		/Conflicting lock is held in (.+?\))/.exec(error.message)?.[1] ??
		"another process"
	);
}
