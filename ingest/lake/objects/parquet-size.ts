const kib = 1024;
const mib = 1024 * kib;

/**
 * What DuckDB sorts at once. It roughly fits its memory limit even for a release, which has a few parts for each date. A
 * compaction has as many outputs as it needs, and its memory comes on top of what cutting takes. DuckDB holds about 50 KB
 * of metadata for each file.
 */
const most = {
	output: { bytes: 64 * mib, objects: 480 },
	part: { bytes: 192 * mib, objects: 2_000 },
};
/** Long rows need more memory, since DuckDB's vectors grow with them. */
const fewestBytes = 32 * mib;
const bytesOfShortRow = kib;

/** DuckDB processes rows in vectors of this many. */
const vectorRows = 2048;
const mostRowsOfGroup = 60 * vectorRows;
/** Readers take groups of less than 16 MiB more slowly. */
const bytesOfRowGroup = 20 * mib;

export interface MergeSize {
	objects: number;
	rows: number;
	/** Of the uncompressed rows. */
	bytes: number;
}

/** Whether objects of this total size can become one output of a compaction. */
export function fitTogether(size: MergeSize): boolean {
	return fits(size, most.output);
}

/** Whether a release can take objects of this total size at once. */
export function fitPart(size: MergeSize): boolean {
	return fits(size, most.part);
}

function fits(
	{ objects, rows, bytes }: MergeSize,
	{ bytes: mostBytes, objects: mostObjects }: typeof most.output,
): boolean {
	const bound = (mostBytes * bytesOfShortRow * rows) / Math.max(1, bytes);
	return (
		objects <= mostObjects &&
		bytes <= Math.min(mostBytes, Math.max(fewestBytes, bound))
	);
}

/** How many rows of an output to compress together. A larger group reads faster and takes more memory. */
export function rowGroupSize({ rows, bytes }: MergeSize): number {
	const vectors = (bytesOfRowGroup * rows) / Math.max(1, bytes) / vectorRows;
	return Math.min(
		mostRowsOfGroup,
		Math.max(1, Math.floor(vectors)) * vectorRows,
	);
}

export function sizeOf(
	objects: readonly Omit<MergeSize, "objects">[],
): MergeSize {
	let [rows, bytes] = [0, 0];
	for (const object of objects) {
		rows += object.rows;
		bytes += object.bytes;
	}
	return { objects: objects.length, rows, bytes };
}
