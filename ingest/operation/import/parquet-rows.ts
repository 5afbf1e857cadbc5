import {
	parquetRows,
	quoteName,
	quoteText,
} from "../../../packages/duckdb/quoting.ts";
import type { Session } from "../../../packages/duckdb/session.ts";
import { JobFailure } from "../../../packages/warehouses/load/failure.ts";
import { type ImportedRow, timeNames } from "./row.ts";

/** The rows of a Parquet file with a column `body`. Throws {@link JobFailure} UploadInvalid. */
export async function* readParquetRows(
	session: Session,
	{ path, name }: { path: string; name: string },
): AsyncGenerator<ImportedRow> {
	// Else the machine's zone gets into times, and into bodies that are made JSON.
	await session.run("SET TimeZone = 'UTC'");
	const types = await columnTypes(session, path, name);
	const body = types.get("body");
	if (!body)
		throw new JobFailure(
			"UploadInvalid",
			`${name} has the columns ${[...types.keys()].slice(0, 20).join(", ")}, but no column "body"`,
		);
	const time = timeNames.find((each) => types.has(each));
	const columns = [
		isText(body) ? "body" : "to_json(body)::VARCHAR",
		time ? timeSql(time, types.get(time)!, name) : "NULL",
		types.has("event_id") ? "event_id::VARCHAR" : "NULL",
		!types.has("headers")
			? "NULL"
			: isText(types.get("headers")!)
				? "headers"
				: "to_json(headers)::VARCHAR",
	];
	// DuckDB gives the rows in any order, and their ids follow from their numbers.
	const rows = `read_parquet(${quoteText(path)}, file_row_number = true)`;
	const sql = `SELECT ${columns.join(", ")}, file_row_number::BIGINT FROM ${rows}`;
	try {
		for await (const chunk of session.chunks(sql))
			for (const [
				body,
				time,
				id,
				headers,
				number,
			] of chunk.getRows() as Values[])
				yield {
					row: Number(number) + 1,
					...(body === null ? { fault: "the body is null" } : { body }),
					time: typeof time === "bigint" ? Number(time) : (time ?? undefined),
					id: id ?? undefined,
					headers: headers || undefined,
				};
	} catch (error) {
		throw unreadable(error, `${name} can't be read to its end`);
	}
}

/** DuckDB's own words name a local path. */
function unreadable(error: unknown, what: string): unknown {
	const { message } = error as Error;
	const isOwn = /^(INTERRUPT|Out of Memory) Error/i.test(message);
	return error instanceof JobFailure || isOwn
		? error
		: new JobFailure("UploadInvalid", what);
}

type Values = [
	body: string | null,
	time: bigint | string | null,
	id: string | null,
	headers: string | null,
	number: bigint,
];

async function columnTypes(session: Session, path: string, name: string) {
	try {
		const columns = await session.rows<{
			column_name: string;
			column_type: string;
		}>(`DESCRIBE SELECT * FROM ${parquetRows([path])}`);
		return new Map(
			columns.map(({ column_name, column_type }) => [column_name, column_type]),
		);
	} catch (error) {
		throw unreadable(error, `${name} is no Parquet file`);
	}
}

function isText(type: string): boolean {
	return type === "VARCHAR" || type === "JSON";
}

/** A time without a zone is one of UTC. */
function timeSql(time: string, type: string, file: string): string {
	const column = quoteName(time);
	if (/^(TIMESTAMP|DATE)/.test(type)) return `epoch_ms(${column}::TIMESTAMP)`;
	if (isText(type)) return column;
	throw new JobFailure(
		"UploadInvalid",
		`The column "${time}" of ${file} has the type ${type.slice(0, 100)}, which is no time`,
	);
}
