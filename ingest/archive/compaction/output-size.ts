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

/** Rows, and their bytes as they are outside of Parquet. */
export interface Rows {
	rows: number;
	bytes: number;
}

/** Whether objects of these rows together make one output that isn't too large. */
export function fitTogether(objects: readonly Rows[]): boolean {
	const { rows, bytes } = sum(objects);
	const bound = (mostBytes * bytesOfShortRow * rows) / bytes;
	return bytes <= Math.min(mostBytes, Math.max(fewestBytes, bound));
}

/** How many rows of an output to compress together: the more, the faster they are read, and the more memory it takes. */
export function rowGroupSize(objects: readonly Rows[]): number {
	const { rows, bytes } = sum(objects);
	const vectors = (bytesOfRowGroup * rows) / bytes / vectorRows;
	return Math.min(
		mostRowsOfGroup,
		Math.max(1, Math.floor(vectors)) * vectorRows,
	);
}

function sum(objects: readonly Rows[]): Rows {
	let [rows, bytes] = [0, 0];
	for (const object of objects) {
		rows += object.rows;
		bytes += object.bytes;
	}
	return { rows, bytes: Math.max(1, bytes) };
}
