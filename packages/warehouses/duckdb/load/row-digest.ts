import {
	DATE,
	type DuckDBDataChunk,
	type DuckDBDateVector,
	type DuckDBUIntegerVector,
	UINTEGER,
} from "@duckdb/node-api";
import type { TableColumn } from "../../../contracts/job.ts";
import { dayMs, type UtcDate, utcDate } from "../../../contracts/utc-date.ts";
import { quoteName } from "../../../duckdb/quoting.ts";
import type { Session } from "../../../duckdb/session.ts";
import type { ColumnSql } from "../../load/columns.ts";

/**
 * An aggregate over rows in any order, which changes if a row is deleted, inserted or changed. A sum, not XOR: a row that stands
 * twice counts twice. DuckDB's hash takes 0.4 s for a million rows of 500 bytes, a tenth of what md5 takes; another version of it
 * may have another hash, so the engine stands beside each digest.
 */
export function digestSql(columns: readonly { name: string }[]): string {
	return `coalesce(sum(${hashSql(columns)}), 0)::VARCHAR`;
}

function hashSql(columns: readonly { name: string }[]): string {
	return `hash(${columns.map(({ name }) => quoteName(name)).join(", ")})`;
}

let counters = 0;

/**
 * Digests of the rows that a load inserts, by date. They are added up while DuckDB writes the rows: reading these again would
 * take a quarter of the load's time.
 */
export class WrittenRows {
	readonly #digests = new Map<number, bigint>();
	readonly #counter = `tidemill_written_${counters++}`;

	constructor(session: Session) {
		session.register({
			name: this.#counter,
			volatile: true,
			parameterTypes: [UINTEGER, UINTEGER, DATE],
			returnType: DATE,
			mainFunction: (_, rows, dates) =>
				this.#count(rows, dates as DuckDBDateVector),
		});
	}

	/** The query, whose rows are counted as somebody takes them. Its columns are these, with the types of the table's. */
	counting(
		filled: readonly ColumnSql[],
		from: string,
		columns: readonly TableColumn[],
	): string {
		const date = columns.find(({ from }) => from === "Date")!.name;
		const hash = hashSql(filled);
		const counted = `${this.#counter}((${hash} >> 32)::UINTEGER, (${hash} & 4294967295)::UINTEGER, ${quoteName(date)})`;
		const selected = filled.map(({ name }) =>
			name === date ? counted : quoteName(name),
		);
		const values = filled.map(
			({ name, type, expression }) =>
				`(${expression})::${type} AS ${quoteName(name)}`,
		);
		return `SELECT ${selected.join(", ")} FROM (SELECT ${values.join(", ")} FROM ${from})`;
	}

	/** Gives the rows' dates. DuckDB calls it for vectors of rows, in any order. */
	#count(rows: DuckDBDataChunk, given: DuckDBDateVector): void {
		const [high, low] = [0, 1].map(
			(at) => rows.getColumnVector(at) as DuckDBUIntegerVector,
		);
		const dates = rows.getColumnVector(2) as DuckDBDateVector;
		let day: number | undefined;
		let [highs, lows] = [0, 0];
		const add = () => {
			if (day === undefined) return;
			const sum = (BigInt(highs) << 32n) + BigInt(lows);
			this.#digests.set(day, (this.#digests.get(day) ?? 0n) + sum);
		};
		for (let row = 0; row < rows.rowCount; row++) {
			const date = dates.getItem(row);
			given.setItem(row, date);
			if (date?.days !== day) {
				add();
				day = date?.days;
				[highs, lows] = [0, 0];
			}
			highs += high!.getItem(row)!;
			lows += low!.getItem(row)!;
		}
		add();
		given.flush();
	}

	/** By date. Dates without rows are absent. */
	get digests(): ReadonlyMap<UtcDate, bigint> {
		return new Map(
			this.#digests
				.entries()
				.map(([day, digest]) => [utcDate(day * dayMs), digest]),
		);
	}
}
