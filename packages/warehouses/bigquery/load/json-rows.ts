import type { LoadInput } from "../../../contracts/job.ts";
import { quoteText } from "../../../duckdb/quoting.ts";
import type { Session } from "../../../duckdb/session.ts";
import { isKept } from "../../../service/exact-json.ts";
import { defineBodyValues } from "../../load/body-values.ts";
import { columnSql, eventRows, type SizedFile } from "../../load/columns.ts";
import {
	type JsonLimits,
	jsonFits,
	mayBeDeeper,
} from "../../load/json-fits.ts";
import type { UnfitRows } from "../../load/load-day.ts";
import type { UnheldValues } from "../../load/warehouse.ts";
import { isJson } from "./schema.ts";

/*
 * A load job fills a column of the type JSON from newline-delimited JSON, CSV or Avro, and not from Parquet
 * (cloud.google.com/bigquery/docs/json-data#limitations).
 */

/**
 * What BigQuery's JSON is known to hold: 500 levels (the page above), and numbers that it doesn't round: a 64-bit integer, or what a
 * 64-bit floating point number says (cloud.google.com/bigquery/docs/reference/standard-sql/json_functions#parse_json). Whether a load
 * job would round another number or fail, no page says.
 */
const limits: JsonLimits = {
	maxDepth: 500,
	takesNul: true,
	takesNumber(number) {
		if (!/^-?\d+$/.test(number)) return isKept(number, Number(number));
		const whole = BigInt(number);
		return whole >= -(2n ** 63n) && whole < 2n ** 64n;
	},
};

const fitsFunction = "tidemill_bigquery_json_fits_1";

/** Only these can make a JSON text unfit, beside many levels: half of a surrogate pair, a long number or one with an exponent. */
const suspicious = String.raw`'(?i)\\ud[89a-f]|[0-9.]e[+-]?[0-9]|[0-9.]{16}'`;

/** Whether a body isn't one that {@link limits} has, by SQL over the rows of {@link eventRows}. */
const isUnfit =
	`(regexp_matches(body, ${suspicious}) OR ${mayBeDeeper("body", limits)})` +
	` AND ${fitsFunction}(body, '') <> '='`;

function define(session: Session): void {
	defineBodyValues(session);
	session.define(fitsFunction, (json) => (jsonFits(json, limits) ? "=" : "!"));
}

export function unheldBodies(
	{ columns, options }: LoadInput["table"],
	session: Session,
): UnheldValues[] {
	define(session);
	return columns
		.filter((column) => isJson(column, options))
		.map((column) => ({
			column,
			condition: `(${isUnfit})`,
			reason:
				"BigQuery's JSON can't hold it, or not without rounding a number.",
		}));
}

/** Of the rows of these files, how many bodies are NULL. */
export async function unfitBodies(
	files: readonly SizedFile[],
	{ columns, options }: LoadInput["table"],
	session: Session,
): Promise<UnfitRows> {
	const body = columns.find((column) => isJson(column, options));
	if (!body || files.length === 0) return {};
	define(session);
	const [found] = await session.rows<{
		rows: bigint;
		values: bigint;
		id: string | null;
	}>(
		`SELECT count(*) FILTER (${isUnfit}) AS rows, count(*) AS "values", (max(event_id) FILTER (${isUnfit}))::VARCHAR AS id FROM ${eventRows(files, [])}`,
	);
	const { rows, values, id } = found!;
	if (rows === 0n) return {};
	const counts = { rows: Number(rows), values: Number(values), eventID: id! };
	return { [body.name]: counts };
}

/** Writes a row of JSON for each event. Returns how many there are. */
export function writeJsonRows(
	files: readonly SizedFile[],
	{ columns, options }: LoadInput["table"],
	to: string,
	session: Session,
): Promise<number> {
	define(session);
	const members = columns.map((column) => {
		const { name, type, expression } = columnSql(column, columns);
		const value = isJson(column, options)
			? // A JSON text has line ends between its parts alone (RFC 8259 §7).
				`CASE WHEN NOT (${isUnfit}) THEN translate(body, chr(10) || chr(13), '  ') END`
			: jsonOf(type, `(${expression})`);
		return `${quoteText(`${JSON.stringify(name)}:`)}, coalesce(${value}, 'null')`;
	});
	const row = `concat('{', ${members.join(", ',', ")}, '}')`;
	// No JSON text has these characters, so that nothing is quoted.
	const form = `FORMAT csv, HEADER false, DELIMITER '\x01', QUOTE '\x02', ESCAPE '\x02'`;
	return session.run(
		`COPY (SELECT ${row} FROM ${eventRows(files, columns)}) TO ${quoteText(to)} (${form})`,
	);
}

/**
 * As load jobs read it: 64-bit integers and decimals as strings, so that none is rounded
 * (cloud.google.com/bigquery/docs/loading-data-cloud-storage-json#details_of_loading_json_data).
 */
function jsonOf(type: string, value: string): string {
	if (type === "BOOLEAN" || type === "DOUBLE") return `${value}::VARCHAR`;
	if (type === "TIMESTAMP WITH TIME ZONE")
		return `'"' || (${value} AT TIME ZONE 'UTC')::VARCHAR || ' UTC"'`;
	return `to_json(${value}::VARCHAR)::VARCHAR`;
}
