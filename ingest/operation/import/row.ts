/** A row of a file, as it stands there. */
export interface ImportedRow {
	/** From 1. */
	row: number;
	/** What is wrong with it already. */
	fault?: string;
	/** JSON text, if it is one. */
	body?: string | undefined;
	/** RFC 3339, or milliseconds since the epoch; undefined if the row has no time. */
	time?: string | number | undefined;
	/** An event ID, perhaps of ours. */
	id?: string | undefined;
	/** JSON text of an object. */
	headers?: string | undefined;
}

/** Where a row may have its time. */
export const timeNames = ["timestamp", "received_at", "time"] as const;
