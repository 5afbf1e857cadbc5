import { quoteName } from "../../../duckdb/quoting.ts";

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
