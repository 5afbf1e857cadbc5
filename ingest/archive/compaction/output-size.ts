const kib = 1024;
const mib = 1024 * kib;

/** What DuckDB sorts at once must fit its memory by and large; long rows need more of it, since its vectors are long. */
const mostBytes = 192 * mib;
const fewestBytes = 32 * mib;
const bytesOfShortRow = kib;

/** DuckDB hands on rows in vectors of so many. */
const vectorRows = 2048;
const mostRowsOfGroup = 60 * vectorRows;
const bytesOfRowGroup = 16 * mib;

/** DuckDB holds what it knows of each file, some 50 KB. */
const mostObjects = 2_000;

/** How much some objects hold. */
export interface Size {
	objects: number;
	rows: number;
	/** Of the rows, as they are outside of Parquet. */
	bytes: number;
}

/** Whether objects of this size together make one output that isn't too large. */
export function fitTogether({ objects, rows, bytes }: Size): boolean {
	const bound = (mostBytes * bytesOfShortRow * rows) / Math.max(1, bytes);
	return (
		objects <= mostObjects &&
		bytes <= Math.min(mostBytes, Math.max(fewestBytes, bound))
	);
}

/** How many rows of an output to compress together: the more, the faster they are read, and the more memory it takes. */
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
