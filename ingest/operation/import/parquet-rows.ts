import { isOutOfMemory } from "../../../packages/duckdb/memory.ts";
import {
	parquetRows,
	quoteName,
	quoteText,
} from "../../../packages/duckdb/quoting.ts";
import type { Session } from "../../../packages/duckdb/session.ts";
import { JobFailure } from "../../../packages/warehouses/load/failure.ts";
import {
	type ImportedRow,
	otherNames,
	type RowForm,
	rowsChoices,
	timeNames,
} from "./row.ts";

/** The rows of a Parquet file, which have a column `body` or are bodies. Throws {@link JobFailure} UploadInvalid. */
export async function* readParquetRows(
	session: Session,
	{ path, name }: { path: string; name: string },
	form: RowForm = {},
): AsyncGenerator<ImportedRow> {
	// Else the machine's zone gets into times, and into bodies that are made JSON.
	await session.run("SET TimeZone = 'UTC'");
	const types = await columnTypes(session, path, name);
	const isBodies = form.rows === "Bodies";
	const says = form.rows ?? form.body;
	if (!says && types.has("body") && types.size > 1 && !isArchived(types)) {
		const has = `body beside ${otherNames(types.keys())}`;
		yield { row: 1, undecided: { has, choices: rowsChoices } };
	}
	const { time, other } = timeColumn(types, form, name);
	const columns = [
		isBodies ? rowSql(types) : bodySql(types, form, name),
		time ?? "NULL",
		types.has("event_id") && !isBodies ? "event_id::VARCHAR" : "NULL",
		!types.has("headers") || isBodies
			? "NULL"
			: isText(types.get("headers")!)
				? "headers"
				: "to_json(headers)::VARCHAR",
		other ? `${quoteName(other)}::VARCHAR` : "NULL",
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
				otherTime,
				number,
			] of chunk.getRows() as Values[])
				yield {
					row: Number(number) + 1,
					...(isBodies && types.has("body") && { reading: "Bodies" }),
					...(body === null ? { fault: "the body is null" } : { body }),
					time: typeof time === "bigint" ? Number(time) : (time ?? undefined),
					id: id ?? undefined,
					headers: headers || undefined,
					...(otherTime !== null && {
						otherTime: `${other} is ${otherTime.slice(0, 40)}`,
					}),
				};
	} catch (error) {
		throw unreadable(error, `${name} can't be read to its end`);
	}
}

/** DuckDB's own words name a local path. */
function unreadable(error: unknown, what: string): unknown {
	const isOwn =
		isOutOfMemory(error) || /^INTERRUPT Error/i.test((error as Error).message);
	return error instanceof JobFailure || isOwn
		? error
		: new JobFailure("UploadInvalid", what);
}

type Values = [
	body: string | null,
	time: bigint | string | null,
	id: string | null,
	headers: string | null,
	otherTime: string | null,
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

/** Whether archive wrote it, as an Export's files are. */
function isArchived(types: ReadonlyMap<string, string>): boolean {
	const ours = ["event_id", "timestamp", "kind", "headers", "violations"];
	return ours.every((name) => types.has(name));
}

/** The whole row as a JSON object. */
function rowSql(types: ReadonlyMap<string, string>): string {
	const members = [...types].map(([name, type]) => {
		const column = quoteName(name);
		return `${column} := ${type === "JSON" ? `${column}::JSON` : column}`;
	});
	return `to_json(struct_pack(${members.join(", ")}))::VARCHAR`;
}

function bodySql(
	types: ReadonlyMap<string, string>,
	{ body: format }: RowForm,
	file: string,
): string {
	const type = types.get("body");
	if (type === undefined)
		throw new JobFailure(
			"UploadInvalid",
			`${file} has the columns ${[...types.keys()].slice(0, 20).join(", ")}, but no column "body". If its rows are bodies, import it with --rows bodies`,
		);
	if (format === "Text" && !isText(type))
		throw new JobFailure(
			"UploadInvalid",
			`The column "body" of ${file} has the type ${type.slice(0, 100)}, which is no text. Import it with --body json`,
		);
	// DuckDB marks JSON text of another tool by its own type.
	return type === "JSON" || (type === "VARCHAR" && format !== "JSON")
		? "body"
		: "to_json(body)::VARCHAR";
}

/**
 * A time without a zone is one of UTC.
 * @returns `time` as SQL; `other`, a column that would be the time if its type were one.
 */
function timeColumn(
	types: ReadonlyMap<string, string>,
	{ date }: RowForm,
	file: string,
): { time?: string; other?: string } {
	const times = timeNames.filter((name) => types.has(name));
	const readable = times.find((name) =>
		/^(TIMESTAMP|DATE|VARCHAR|JSON)/.test(types.get(name)!),
	);
	const [other] = times;
	if (readable === undefined && other !== undefined && date === undefined)
		throw new JobFailure(
			"UploadInvalid",
			`The column "${other}" of ${file} has the type ${types.get(other)!.slice(0, 100)}, which is no time. Set spec.import.date to give the rows a date instead`,
		);
	if (readable === undefined) return other ? { other } : {};
	const column = quoteName(readable);
	return {
		time: isText(types.get(readable)!)
			? column
			: `epoch_ms(${column}::TIMESTAMP)`,
	};
}
