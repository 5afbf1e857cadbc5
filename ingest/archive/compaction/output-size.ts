const kib = 1024;
const mib = 1024 * kib;

/** What DuckDB sorts at once must roughly fit its memory. Long rows need more memory, since DuckDB's vectors grow with them. */
const mostBytes = 192 * mib;
const fewestBytes = 32 * mib;
const bytesOfShortRow = kib;

/** DuckDB processes rows in vectors of this many. */
const vectorRows = 2048;
const mostRowsOfGroup = 60 * vectorRows;
const bytesOfRowGroup = 16 * mib;

/** DuckDB holds about 50 KB of metadata for each file. */
const mostObjects = 2_000;

export interface Size {
	objects: number;
	rows: number;
	/** Of the uncompressed rows. */
	bytes: number;
}

/** Whether objects of this total size can become one output. */
export function fitTogether({ objects, rows, bytes }: Size): boolean {
	const bound = (mostBytes * bytesOfShortRow * rows) / Math.max(1, bytes);
	return (
		objects <= mostObjects &&
		bytes <= Math.min(mostBytes, Math.max(fewestBytes, bound))
	);
}

/** How many rows of an output to compress together. A larger group reads faster and takes more memory. */
export function rowGroupSize({ rows, bytes }: Size): number {
	const vectors = (bytesOfRowGroup * rows) / Math.max(1, bytes) / vectorRows;
	return Math.min(
		mostRowsOfGroup,
		Math.max(1, Math.floor(vectors)) * vectorRows,
	);
}

export function sizeOf(objects: readonly Omit<Size, "objects">[]): Size {
	let [rows, bytes] = [0, 0];
	for (const object of objects) {
		rows += object.rows;
		bytes += object.bytes;
	}
	return { objects: objects.length, rows, bytes };
}
