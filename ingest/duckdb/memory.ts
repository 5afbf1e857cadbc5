import { availableParallelism } from "node:os";

const mib = 1024 * 1024;

/**
 * DuckDB's settings for a process that must stay inside its container. Beside `memory_limit` such a process has about
 * 200 MiB of Node and libraries, and what DuckDB doesn't count: up to 60 MiB of buffers for each thread. So DuckDB gets
 * two fifths of the container, and 192 MiB where nothing bounds the process: more than that brings a load no speed
 * (bench/README.md), and it spills to `scratch` what doesn't fit.
 *
 * @param allowedBytes the cgroup's bound; undefined where there is none.
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
		// Rows of a table have no order, and keeping one makes DuckDB hold them back: half the speed, more memory.
		preserve_insertion_order: "false",
		// Every file is read once or twice; the system has it cached already.
		enable_external_file_cache: "false",
	};
}

/** Node gives 0, 2^63 or 2^64 where nothing bounds the process. */
function containerBytes(): number | undefined {
	const bytes = process.constrainedMemory();
	return bytes > 0 && bytes < 2 ** 60 ? bytes : undefined;
}
