import { availableParallelism } from "node:os";

const mib = 1024 * 1024;

/**
 * DuckDB settings for a process that must stay inside its container. Beside `memory_limit` the process needs about
 * 200 MiB for Node and libraries, and up to 60 MiB for each thread's buffers, which DuckDB doesn't count. So DuckDB gets
 * two fifths of the container's memory, or 192 MiB where the process has no limit: more makes a load no faster
 * (tools/bench/README.md). DuckDB spills the rest to `scratch`.
 *
 * @param allowedBytes the cgroup's limit; undefined when there is none.
 */
export function boundedMemory(
	scratch: string,
	allowedBytes: number | undefined = containerBytes(),
	processors: number = availableParallelism(),
): Record<string, string> {
	const limit =
		allowedBytes === undefined
			? 192
			: Math.min(2048, Math.max(128, Math.floor((allowedBytes * 0.4) / mib)));
	return {
		memory_limit: `${limit}MiB`,
		threads: String(Math.max(1, Math.min(processors, Math.floor(limit / 96)))),
		temp_directory: `${scratch}/duckdb`,
		// A table's rows have no order. Preserving one makes DuckDB hold rows back: half the speed, more memory.
		preserve_insertion_order: "false",
		// Each file is read once or twice, and the operating system caches it already.
		enable_external_file_cache: "false",
		// A thread that returns freed memory, also while the others are busy or idle: 20 to 40 MB less at a load's peak.
		allocator_background_threads: "true",
	};
}

/** Node reports 0, 2^63 or 2^64 when the process has no limit. */
function containerBytes(): number | undefined {
	const bytes = process.constrainedMemory();
	return bytes > 0 && bytes < 2 ** 60 ? bytes : undefined;
}
