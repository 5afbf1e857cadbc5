import { totalmem } from "node:os";

const mib = 1024 * 1024;

/**
 * DuckDB's settings for a process that must stay inside its container: two fifths of the memory allowed, since DuckDB's
 * own count misses the allocator's waste (measured: 500 MiB above the limit for a million rows), within 384 MiB to 2 GiB.
 */
export function boundedMemory(
	scratch: string,
	allowedBytes: number = allowedMemory(),
): Record<string, string> {
	const limit = Math.min(
		2048,
		Math.max(384, Math.floor((allowedBytes * 0.4) / mib)),
	);
	return {
		memory_limit: `${limit}MiB`,
		temp_directory: `${scratch}/duckdb`,
		// Rows of a table have no order, and keeping one makes DuckDB hold them back: half the speed, more memory.
		preserve_insertion_order: "false",
	};
}

/** The cgroup's bound, or the machine's memory where there is none (Node then gives 2^64). */
function allowedMemory(): number {
	return Math.min(process.constrainedMemory() || Infinity, totalmem());
}
