import type { DuckDBBlobVector } from "@duckdb/node-api";
import type { LoadInput } from "../../../contracts/job.ts";
import { quoteName } from "../../../duckdb/quoting.ts";
import type { Session } from "../../../duckdb/session.ts";
import { jsonFits } from "../../load/body-value.ts";
import { defineBodyValues } from "../../load/body-values.ts";
import { eventRows } from "../../load/columns.ts";
import { JobFailure } from "../../load/failure.ts";
import type { LoadDay } from "../../load/load-day.ts";
import { largestValues, type UnheldValues } from "../../load/value-counts.ts";
import type { PostgresTableOptions } from "../input.ts";
import type { Transaction } from "./database.ts";
import { isOfSize, PostgresFailure, SizeRefused } from "./failure.ts";
import { copiedColumn, jsonbLimits, jsonFitsFunction } from "./plan.ts";
import { requireTouched } from "./touched-rows.ts";

/**
 * Copies a day's rows into a relation. DuckDB makes each row's bytes: in JavaScript each value would cost as much as Postgres takes
 * to store it. Values that Postgres can't hold are NULL.
 */
export async function copyDay(
	day: LoadDay,
	session: Session,
	table: LoadInput["table"],
	relation: string,
	transaction: Transaction,
): Promise<void> {
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
	const sent = { rows: 0 };
	const rows = await transaction.copy(
		`COPY ${relation} (${names}) FROM STDIN (FORMAT binary)`,
		binaryRows(
			session,
			`SELECT ${binaryRow(copied)} FROM (SELECT ${values.join(", ")} FROM ${eventRows(day.objects, columns)})`,
			sent,
		),
	);
	if (sent.rows !== day.rows)
		throw new JobFailure(
			"ObjectMismatch",
			`The objects of ${day.date} gave ${sent.rows} rows, but the manifest says ${day.rows}`,
		);
	await requireTouched(transaction, relation, "INSERT", sent.rows, rows);
}

/** How many bytes are sent at once, unless one row has more. */
const sentBytes = 1 << 20;

async function* binaryRows(
	session: Session,
	sql: string,
	sent: { rows: number },
): AsyncGenerator<Uint8Array> {
	yield binaryHeader;
	for await (const chunk of session.chunks(sql)) {
		const vector = chunk.getColumnVector(0) as DuckDBBlobVector;
		let rows: Uint8Array[] = [];
		let length = 0;
		sent.rows += chunk.rowCount;
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

/** The values that {@link copyDay} leaves out, but for those that aren't of their type: of a value that is unfit in two ways, this one counts. */
export function unheldValues(
	{ columns, options }: LoadInput["table"],
	session: Session,
): UnheldValues[] {
	defineJsonFits(session);
	return columns.flatMap((column) => {
		const copied = (found?: string) =>
			copiedColumn(column, columns, options as PostgresTableOptions, found);
		const { isUnfit, type } = copied();
		if (isUnfit === undefined) return [];
		const condition = (found?: string) => {
			const { isUnfit, isCounted } = copied(found);
			return isCounted ? `(${isUnfit}) AND NOT (${isCounted})` : isUnfit!;
		};
		const reason =
			type === "jsonb"
				? "jsonb can't hold it."
				: "Postgres' text can't hold \\u0000.";
		return { column, condition, reason };
	});
}

/** Throws the error. A refusal for the size of a row or a value names those of the day that may be meant, whose objects are on disk. */
export async function tellLargest(
	error: unknown,
	day: LoadDay,
	session: Session,
	{ columns, options }: LoadInput["table"],
): Promise<never> {
	const cause = error instanceof PostgresFailure ? error.cause : error;
	if (!isOfSize(cause)) throw error;
	const { indexes = [] }: PostgresTableOptions = options ?? {};
	const isOfIndex = /\bindex\b/i.test(cause.message);
	const among = isOfIndex ? indexes.flat() : undefined;
	const words = await largestValues([day], columns, session, among);
	throw error instanceof PostgresFailure
		? new PostgresFailure(error.code, `${error.what} ${words}`, { cause })
		: new SizeRefused(cause, words);
}

/**
 * SQL of DuckDB that gives a row as COPY's binary format has it (postgresql.org/docs/current/sql-copy.html#SQL-COPY-FILE-FORMATS).
 * The server takes it in half the time of text or CSV, since it has nothing to parse.
 * @param columns Of the rows to select from, with their types in Postgres.
 */
export function binaryRow(columns: readonly { name: string; type: string }[]) {
	const fields = columns.map(
		({ name, type }) =>
			`coalesce(${binaryField(quoteName(name), type)}, ${bytes("ffffffff")})`,
	);
	const last = fields.pop();
	const rest = joined([int(columns.length, "SMALLINT"), ...fields]);
	return last === undefined ? rest : `${rest} || ${last}`;
}

/** From both ends of a tree, so that a row of many values isn't copied with each of them: each `||` makes its bytes anew. */
function joined(parts: readonly string[]): string {
	if (parts.length === 1) return `(${parts[0]})`;
	const half = parts.length >> 1;
	return `(${joined(parts.slice(0, half))} || ${joined(parts.slice(half))})`;
}

/** What stands before the first row: the signature, no flags, no extension. */
export const binaryHeader = Buffer.from(
	"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0",
	"latin1",
);

export const binaryTrailer = Buffer.from("ffff", "hex");

const toEpochOf2000 = "946684800000000";

/** A value with its length before it, as the type's receive function takes it; NULL for NULL. */
function binaryField(value: string, type: string): string {
	const numeric = /^numeric\((\d+),(\d+)\)$/.exec(type);
	if (numeric)
		return numericField(value, Number(numeric[1]), Number(numeric[2]));
	switch (type) {
		case "text":
			return `${int(`strlen(${value})`)} || encode(${value})`;
		case "jsonb":
			// The first byte is the version of the format.
			return `${int(`strlen(${value}) + 1`)} || ${bytes("01")} || encode(${value})`;
		case "timestamp with time zone":
			return `${bytes("00000008")} || ${int(`epoch_us(${value}) - ${toEpochOf2000}`, "BIGINT")}`;
		case "date":
			return `${bytes("00000004")} || ${int(`${value} - DATE '2000-01-01'`)}`;
		case "bigint":
		case "double precision":
			return `${bytes("00000008")} || ${value}::BIT::BLOB`;
		case "boolean":
			return `${bytes("00000001")} || ${value}::BIT::BLOB`;
		default:
			throw new TypeError(`COPY of ${type} isn't defined`);
	}
}

/** Groups of four decimal digits; the server drops zeros at either end (numeric_recv in its numeric.c). */
function numericField(value: string, precision: number, scale: number): string {
	const whole = Math.max(1, Math.ceil((precision - scale) / 4));
	const fraction = Math.ceil(scale / 4);
	const part = (number: number) =>
		`split_part(abs(${value})::VARCHAR, '.', ${number})`;
	const digits = `(lpad(${part(1)}, ${4 * whole}, '0') || rpad(${part(2)}, ${4 * fraction}, '0'))`;
	const groups = Array.from({ length: whole + fraction }, (_, group) =>
		int(`substr(${digits}, ${4 * group + 1}, 4)`, "SMALLINT"),
	);
	return [
		int(8 + 2 * groups.length),
		int(groups.length, "SMALLINT"),
		int(whole - 1, "SMALLINT"),
		`CASE WHEN ${value} < 0 THEN ${bytes("4000")} ELSE ${bytes("0000")} END`,
		int(scale, "SMALLINT"),
		...groups,
	].join(" || ");
}

/** A whole number of SQL, the most significant byte first. */
function int(
	value: string | number,
	type: "SMALLINT" | "INTEGER" | "BIGINT" = "INTEGER",
): string {
	return `(${value})::${type}::BIT::BLOB`;
}

function bytes(hex: string): string {
	return `'${hex.replace(/../g, "\\x$&")}'::BLOB`;
}
