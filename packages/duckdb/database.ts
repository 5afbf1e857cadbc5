import "./allocator.ts";
import { setTimeout as delay } from "node:timers/promises";
// @duckdb/node-api: DuckDB in this process, by its makers; there is no server to talk to.
import { DuckDBInstance } from "@duckdb/node-api";
import { DuckDBRefusal, refusing } from "./refusal.ts";

/** Another process held the file for the whole wait. The message names it as far as DuckDB knows. */
export class DatabaseBusy extends Error {
	override name = "DatabaseBusy";
}

/**
 * Opens a DuckDB file, waiting while another process holds it.
 * Throws {@link DatabaseBusy} after `waitMs`, the signal's reason when it fires, or {@link DuckDBRefusal}.
 */
export async function openDatabase(options: {
	/** An existing file, or ":memory:". */
	file: string;
	readOnly?: boolean;
	/** How long to wait for a process that holds the file: DuckDB allows one writer or several readers. */
	waitMs: number;
	/** DuckDB's own settings, such as memory_limit. */
	config?: Record<string, string>;
	signal?: AbortSignal;
	/** Called once, if the file is in use. */
	onWait?: (holder: string) => void;
}): Promise<DuckDBInstance> {
	const config = {
		...options.config,
		...(options.readOnly && { access_mode: "READ_ONLY" }),
	};
	const deadline = performance.now() + options.waitMs;
	for (let attempt = 0; ; attempt++) {
		try {
			return await refusing(() => DuckDBInstance.create(options.file, config));
		} catch (error) {
			const holder = lockHolder(error);
			if (holder === undefined) throw error;
			if (attempt === 0) options.onWait?.(holder);
			const leftMs = deadline - performance.now();
			if (leftMs <= 0)
				throw new DatabaseBusy(
					`${options.file} is still in use by ${holder} after ${options.waitMs / 1000} s`,
				);
			// DuckDB can't wait for the lock, so try again, with jitter to keep two waiting processes out of step.
			await delay(Math.min(leftMs, 100 + Math.random() * 200), undefined, {
				signal: options.signal,
			});
		}
	}
}

/** DuckDB's errors have no codes. The lock error has had these words since 0.9. */
function lockHolder(error: unknown): string | undefined {
	if (!(error instanceof DuckDBRefusal)) return undefined;
	if (!error.match(/Could not set lock on file/)) return undefined;
	return (
		error.match(/Conflicting lock is held in (.+?\))/)?.[1] ?? "another process"
	);
}
