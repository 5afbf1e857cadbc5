import type { DuckDBBlobVector } from "@duckdb/node-api";
import type { LoadInput, TableColumn } from "../../../contracts/job.ts";
import { quoteName } from "../../../duckdb/quoting.ts";
import type { Session } from "../../../duckdb/session.ts";
import { defineBodyValues } from "../../load/body-values.ts";
import { bodyColumnsOf, eventRows } from "../../load/columns.ts";
import { JobFailure } from "../../load/failure.ts";
import { jsonFits } from "../../load/json-fits.ts";
import type { LoadDay, UnfitRows } from "../../load/load-day.ts";
import { countOwnValues, countValues } from "../../load/value-counts.ts";
import type { UnheldValues } from "../../load/warehouse.ts";
import type { PostgresTableOptions } from "../input.ts";
import { binaryHeader, binaryRow, binaryTrailer } from "./binary-row.ts";
import type { Transaction } from "./database.ts";
import {
	type CopiedColumn,
	copiedColumn,
	jsonbLimits,
	jsonFitsFunction,
} from "./schema.ts";

/**
 * Copies a day's rows into a relation. DuckDB makes each row's bytes: in JavaScript each value would cost as much as Postgres takes
 * to store it. Returns the values that Postgres can't hold, which are NULL.
 */
export async function copyDay(
	day: LoadDay,
	session: Session,
	table: LoadInput["table"],
	relation: string,
	transaction: Transaction,
): Promise<UnfitRows> {
	// Such as a day in quarantine of which every event was released.
	if (day.objects.length === 0 && day.rows === 0) return {};
	const { columns, options } = table;
	defineBodyValues(session);
	defineJsonFits(session);
	const copied = columns
		.map((column) =>
			copiedColumn(column, columns, options as PostgresTableOptions),
		)
		// The last one's bytes are copied once.
		.toSorted((a, b) => Number(a.isBody) - Number(b.isBody));
	const values = copied.map(({ name, value, isUnfit }) => {
		const fit = isUnfit
			? `CASE WHEN NOT (${isUnfit}) THEN ${value} END`
			: value;
		return `${fit} AS ${quoteName(name)}`;
	});
	const names = copied.map(({ name }) => quoteName(name)).join(", ");
	const rows = await transaction.copy(
		`COPY ${relation} (${names}) FROM STDIN (FORMAT binary)`,
		binaryRows(
			session,
			`SELECT ${binaryRow(copied)} FROM (SELECT ${values.join(", ")} FROM ${eventRows(day.objects, columns)})`,
		),
	);
	if (rows !== day.rows)
		throw new JobFailure(
			"ObjectMismatch",
			`The objects of ${day.date} gave ${rows} rows, but the manifest says ${day.rows}`,
		);
	return countUnfit(day, session, table);
}

/** How many bytes are sent at once, unless one row has more. */
const sentBytes = 1 << 20;

async function* binaryRows(
	session: Session,
	sql: string,
): AsyncGenerator<Uint8Array> {
	yield binaryHeader;
	for await (const chunk of session.chunks(sql)) {
		const vector = chunk.getColumnVector(0) as DuckDBBlobVector;
		let rows: Uint8Array[] = [];
		let length = 0;
		for (let row = 0; row < chunk.rowCount; row++) {
			const bytes = vector.getItemBytes(row)!;
			rows.push(bytes);
			length += bytes.length;
			if (length < sentBytes) continue;
			yield Buffer.concat(rows, length);
			[rows, length] = [[], 0];
		}
		yield Buffer.concat(rows, length);
	}
	yield binaryTrailer;
}

function defineJsonFits(session: Session): void {
	session.define(jsonFitsFunction, (json) =>
		jsonFits(json, jsonbLimits) ? "=" : "!",
	);
}

/** The values that {@link copyDay} leaves out, but for those that count as unfit whatever Postgres holds. */
export function unheldValues(
	{ columns, options }: LoadInput["table"],
	session: Session,
): UnheldValues[] {
	defineJsonFits(session);
	return columns.flatMap((column) => {
		const copied = copiedColumn(
			column,
			columns,
			options as PostgresTableOptions,
		);
		if (copied.isUnfit === undefined) return [];
		const reason =
			copied.type === "jsonb"
				? "jsonb can't hold it."
				: "Postgres' text can't hold \\u0000.";
		return { column, condition: newlyUnfit(copied), reason };
	});
}

/** Of a value that is unfit in two ways, the day's files have told already. */
function newlyUnfit({ isUnfit, isCounted }: CopiedColumn): string {
	return isCounted ? `(${isUnfit}) AND NOT (${isCounted})` : `(${isUnfit})`;
}

async function countUnfit(
	{ objects }: LoadDay,
	session: Session,
	{ columns, options }: LoadInput["table"],
): Promise<UnfitRows> {
	if (objects.length === 0) return {};
	const limited = (column: TableColumn, found?: string) => {
		const copied = copiedColumn(
			column,
			columns,
			options as PostgresTableOptions,
			found,
		);
		return copied.isUnfit === undefined ? undefined : copied;
	};
	const fromBody = await countValues(
		columns,
		objects,
		session,
		(column, found) => {
			const copied = limited(column, found);
			return copied && newlyUnfit(copied);
		},
	);
	const inBody = bodyColumnsOf(columns).map(({ name }) => name);
	const others = columns.flatMap((column) => {
		const copied = inBody.includes(column.name) ? undefined : limited(column);
		if (!copied) return [];
		const { name, value } = copied;
		const isPresent = `(${value}) IS NOT NULL`;
		return [{ name, isPresent, isUnfit: newlyUnfit(copied) }];
	});
	const own = await countOwnValues(others, objects, session);
	return Object.fromEntries(
		Object.entries({ ...fromBody, ...own }).filter(([, { rows }]) => rows > 0),
	);
}
