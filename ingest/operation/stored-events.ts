import type {
	DuckDBDataChunk,
	DuckDBTimestampTZVector,
	DuckDBVarCharVector,
} from "@duckdb/node-api";
import { countedRows } from "../../packages/contracts/manifest.ts";
import type {
	PlanDocument,
	ValidationRecord,
} from "../../packages/contracts/tracking-plan.ts";
import { parquetRows } from "../../packages/duckdb/quoting.ts";
import type { Session } from "../../packages/duckdb/session.ts";
import { JobFailure } from "../../packages/warehouses/load/failure.ts";

/** An event as archive has stored it. */
export interface EventRow {
	id: string;
	/** JSON text. */
	body: string;
	/** Captured headers, their names in lower case. */
	headers: Record<string, string>;
	/** Milliseconds since the epoch. */
	timestampMs: number;
	/** What a tracking plan said when the event came; undefined if none validated it. */
	validation: ValidationRecord | undefined;
}

const columns = "event_id, body, headers, violations, timestamp";

/**
 * The events of Parquet files, a chunk of at most 2,048 at a time. Between chunks other work goes on.
 * @param except Files whose events are left out.
 */
export async function* storedEvents(
	session: Session,
	files: string[],
	except: string[] = [],
): AsyncGenerator<Generator<EventRow>> {
	if (files.length === 0) return;
	const others =
		except.length === 0
			? ""
			: ` AND event_id NOT IN (SELECT event_id FROM ${parquetRows(except)})`;
	const sql = `SELECT ${columns} FROM ${parquetRows(files)} WHERE ${countedRows}${others}`;
	for await (const chunk of session.chunks(sql)) yield eventsOf(chunk);
}

/** One at a time: a chunk of large bodies takes enough memory by itself. */
function* eventsOf(chunk: DuckDBDataChunk): Generator<EventRow> {
	const [ids, bodies, headers, violations] = [0, 1, 2, 3].map(
		(index) => chunk.getColumnVector(index) as DuckDBVarCharVector,
	);
	const timestamps = chunk.getColumnVector(4) as DuckDBTimestampTZVector;
	for (let row = 0; row < chunk.rowCount; row++) {
		const validation = violations!.getItem(row);
		yield {
			id: ids!.getItem(row)!,
			body: bodies!.getItem(row)!,
			headers: JSON.parse(headers!.getItem(row) || "{}"),
			timestampMs: Number(timestamps.getItem(row)!.micros / 1000n),
			validation: validation ? JSON.parse(validation) : undefined,
		};
	}
}

/**
 * Finds the header that has an event's type. Only captured headers are stored, but a plan that validated an event has recorded
 * its type.
 */
export class TypeHeader {
	readonly #header: string | undefined;
	#events = 0;
	#found = 0;

	constructor(eventType: PlanDocument["eventType"]) {
		this.#header = "header" in eventType ? eventType.header : undefined;
	}

	/** Undefined if the event had none, or it is not known, or the type is not in a header. */
	of({ headers, validation }: EventRow): string | undefined {
		if (this.#header === undefined) return undefined;
		this.#events++;
		const value = headers[this.#header] ?? validation?.type;
		if (value !== undefined) this.#found++;
		return value;
	}

	/** Throws {@link JobFailure} EventTypeUnknown if no event has the header: a result would mean nothing. */
	requireFound(): void {
		if (this.#events === 0 || this.#found > 0) return;
		throw new JobFailure(
			"EventTypeUnknown",
			`None of the ${this.#events} stored events has the header ${this.#header}, which tells their type`,
		);
	}
}
