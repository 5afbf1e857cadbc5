import { availableParallelism } from "node:os";
import { DuckDBRefusal } from "./session.ts";

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
	const limit = limitMib(allowedBytes);
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

/**
 * The same for a session that fills tables of hundreds of columns, by one thread: a transaction holds two blocks of 256 KiB for each, its
 * values and which rows have one. 500 columns fit where the process has no limit, or one of 800 MiB.
 */
export function memoryForWideTables(
	allowedBytes: number | undefined = containerBytes(),
): Record<"memory_limit" | "threads", string> {
	const least = allowedBytes === undefined ? 320 : 256;
	return {
		memory_limit: `${Math.max(least, limitMib(allowedBytes))}MiB`,
		threads: "1",
	};
}

function limitMib(allowedBytes: number | undefined): number {
	return allowedBytes === undefined
		? 192
		: Math.min(2048, Math.max(128, Math.floor((allowedBytes * 0.4) / mib)));
}

/** DuckDB reads and writes 2,048 rows of a column at once, whatever their size. A group of fewer rows takes no more than it has. */
export const vectorRows = 2_048;

/**
 * How many bytes of rows one transaction may put into vectors. DuckDB holds a vector's long texts, and besides what it counts
 * copies them up to twice when it commits.
 */
export function vectorRoom(
	allowedBytes: number | undefined = containerBytes(),
): number {
	return Math.floor((limitMib(allowedBytes) * mib) / 3);
}

/**
 * COPY's options for a Parquet file that a session with {@link boundedMemory} writes and that is read once: the lowest level of zstd takes a
 * third of the default's CPU time, and the file of a bench's day was 5 % smaller (tools/bench/README.md).
 * A group ends at so many rows or bytes, whichever comes first. A thread holds one in memory. Readers take groups of less than 16 MiB more slowly.
 */
export const passingParquet =
	"FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1, ROW_GROUP_SIZE 122880, ROW_GROUP_SIZE_BYTES 20971520";

/** The same of hundreds of columns: a dictionary takes a MiB for each of them, before it has a value. */
export const widePassingParquet = `${passingParquet}, DICTIONARY_SIZE_LIMIT 1, STRING_DICTIONARY_PAGE_SIZE_LIMIT 1024`;

/** Whether memory was not enough: DuckDB's own, or the process's for a buffer. DuckDB says so in many ways, also as a cause. */
export function isOutOfMemory(error: unknown): boolean {
	const pattern =
		/Out of Memory Error|failed to (?:pin|allocate|offload)|could not allocate block|bad_alloc|Array buffer allocation failed/i;
	return error instanceof DuckDBRefusal
		? error.match(pattern) !== null
		: error instanceof Error && pattern.test(error.message);
}

/** Node reports 0, 2^63 or 2^64 when the process has no limit. */
function containerBytes(): number | undefined {
	const bytes = process.constrainedMemory();
	return bytes > 0 && bytes < 2 ** 60 ? bytes : undefined;
}
