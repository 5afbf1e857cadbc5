import type { DuckDBDataChunk, DuckDBVarCharVector } from "@duckdb/node-api";
import { parquetRows } from "../../duckdb/quoting.ts";
import type { Session } from "../../duckdb/session.ts";

/** An event as archive has stored it. */
export interface StoredEvent {
	id: string;
	/** JSON text. */
	body: string;
	/** Captured headers, their names in lower case. */
	headers: Record<string, string>;
	/** The type that a tracking plan found when the event came; undefined if none judged it or it had none. */
	judgedType: string | undefined;
}

const columns = "event_id, body, headers, violations";

/** The events of Parquet files, a chunk of at most 2,048 at a time. Between chunks other work goes on. */
export async function* storedEvents(
	session: Session,
	files: string[],
): AsyncGenerator<Generator<StoredEvent>> {
	if (files.length === 0) return;
	const sql = `SELECT ${columns} FROM ${parquetRows(files)}`;
	for await (const chunk of session.chunks(sql)) yield eventsOf(chunk);
}

/** One at a time: a chunk of large bodies takes enough memory by itself. */
function* eventsOf(chunk: DuckDBDataChunk): Generator<StoredEvent> {
	const [ids, bodies, headers, violations] = [0, 1, 2, 3].map(
		(index) => chunk.getColumnVector(index) as DuckDBVarCharVector,
	);
	for (let row = 0; row < chunk.rowCount; row++) {
		const judgement = violations!.getItem(row);
		yield {
			id: ids!.getItem(row)!,
			body: bodies!.getItem(row)!,
			headers: JSON.parse(headers!.getItem(row) || "{}"),
			judgedType: judgement ? JSON.parse(judgement).type : undefined,
		};
	}
}
