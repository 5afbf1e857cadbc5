import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { withDuckDB } from "../duckdb.ts";
import { temporaryDirectory } from "../servers/test-server.ts";

/** A row of an object. */
export interface ArchivedRow {
	key: string;
	event_id: string;
	timestamp: string;
	date: string;
	body: string;
	kind: string;
	headers: string | null;
	violations: string | null;
}

/** The rows of one object, in their order there. */
export async function readArchivedRows(
	bytes: Buffer,
): Promise<Omit<ArchivedRow, "key">[]> {
	const directory = await temporaryDirectory("object");
	const file = join(directory, "object.parquet");
	await writeFile(file, bytes);
	try {
		const reader = await withDuckDB((duckdb) =>
			duckdb.runAndReadAll(
				`SELECT event_id, strftime(timestamp AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%gZ') AS timestamp, date::VARCHAR AS date, body, kind, headers, violations FROM read_parquet('${file}', hive_partitioning = false, file_row_number = true) ORDER BY file_row_number`,
			),
		);
		return reader.getRowObjectsJson() as unknown as Omit<ArchivedRow, "key">[];
	} finally {
		await rm(directory, { recursive: true });
	}
}
