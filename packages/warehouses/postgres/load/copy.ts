import { createReadStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import type { LoadInput } from "../../../contracts/job.ts";
import { quoteName, quoteText } from "../../../duckdb/quoting.ts";
import type { Session } from "../../../duckdb/session.ts";
import { defineBodyValues } from "../../load/body-values.ts";
import { bodyColumnsOf, eventRows } from "../../load/columns.ts";
import { JobFailure } from "../../load/failure.ts";
import type { LoadDay, UnfitRows } from "../../load/load-day.ts";
import type { DayFiles } from "../../load/warehouse.ts";
import type { TableOptions } from "../input.ts";
import type { Transaction } from "./database.ts";
import { jsonFits } from "./json-fits.ts";
import { copiedColumn, escaped, jsonFitsFunction } from "./schema.ts";

/** Rows whose texts are on disk at once, of each of two slices: while Postgres reads one, DuckDB writes the next. */
const sliceRows = 50_000;

/**
 * Copies a day's rows into a relation, as COPY's text format, which DuckDB writes: in JavaScript each value would cost as much as
 * Postgres takes to store it. Returns the values that Postgres can't hold, which are NULL.
 */
export async function copyDay(
	day: LoadDay,
	session: Session,
	{ directory }: Pick<DayFiles, "directory">,
	{ columns, options }: LoadInput["table"],
	relation: string,
	transaction: Transaction,
): Promise<UnfitRows> {
	defineBodyValues(session);
	session.define(jsonFitsFunction, (json) => (jsonFits(json) ? "=" : "!"));
	const copied = columns.map((column) =>
		copiedColumn(column, columns, options as TableOptions),
	);
	const texts = copied.map(({ name, value, isUnfit }) => {
		const text = /^\(body\)|headers|violations|body_values/.test(value)
			? escaped(value)
			: value;
		const fit = isUnfit ? `CASE WHEN NOT (${isUnfit}) THEN ${text} END` : text;
		return `${fit} AS ${quoteName(name)}`;
	});
	const scratch = await mkdtemp(join(directory, "copy-"));
	const slices = slicesOf(day, sliceRows);
	const write = async ({ file, where }: Slice, index: number) => {
		const path = join(scratch, `${index}.txt`);
		await session.run(
			`COPY (SELECT ${texts.join(", ")} FROM ${eventRows([file], columns, { rowNumbers: where !== undefined })}${where ? ` WHERE ${where}` : ""}) TO ${quoteText(path)}` +
				` (FORMAT csv, DELIM '\t', QUOTE '', ESCAPE '', NULLSTR '\\N', HEADER false)`,
		);
		return path;
	};
	async function* chunks() {
		let next = slices[0] && write(slices[0], 0);
		for (let index = 0; next; index++) {
			const path = await next;
			const following = slices[index + 1];
			next = following && write(following, index + 1);
			// Its error is thrown where it is awaited.
			next?.catch(() => undefined);
			yield* createReadStream(path, { highWaterMark: 1 << 20 });
			await rm(path);
		}
	}
	try {
		const names = copied.map(({ name }) => quoteName(name)).join(", ");
		const rows = await transaction.copy(
			`COPY ${relation} (${names}) FROM STDIN`,
			chunks(),
		);
		if (rows !== day.rows)
			throw new JobFailure(
				"ObjectMismatch",
				`The objects of ${day.date} gave ${rows} rows, but the manifest says ${day.rows}`,
			);
	} finally {
		await rm(scratch, { recursive: true, force: true });
	}
	return countUnfit(day, session, copied, bodyColumnsOf(columns));
}

interface Slice {
	file: string;
	/** Of an object that is too large for one slice. */
	where: string | undefined;
}

function slicesOf({ objects }: LoadDay, most: number): Slice[] {
	return objects.flatMap(({ file, rows }): Slice[] =>
		rows <= most
			? [{ file, where: undefined }]
			: Array.from({ length: Math.ceil(rows / most) }, (_, index) => ({
					file,
					where: `file_row_number >= ${index * most} AND file_row_number < ${(index + 1) * most}`,
				})),
	);
}

async function countUnfit(
	{ objects }: LoadDay,
	session: Session,
	copied: ReturnType<typeof copiedColumn>[],
	bodyColumns: LoadInput["table"]["columns"],
): Promise<UnfitRows> {
	const limited = copied.filter(({ isUnfit }) => isUnfit !== undefined);
	if (limited.length === 0 || objects.length === 0) return {};
	const counts = limited.map(
		({ name, value, isUnfit }) =>
			`{'rows': count(*) FILTER (${isUnfit}), 'values': count(${value}), 'eventID': (max(event_id) FILTER (${isUnfit}))::VARCHAR}::JSON::VARCHAR AS ${quoteName(name)}`,
	);
	const [found = {}] = await session.rows<Record<string, string>>(
		`SELECT ${counts.join(", ")} FROM ${eventRows(
			objects.map(({ file }) => file),
			bodyColumns,
		)}`,
	);
	return Object.fromEntries(
		Object.entries(found).flatMap(([name, json]) => {
			const { rows, values, eventID } = JSON.parse(json);
			return rows > 0 ? [[name, { rows, values, eventID }]] : [];
		}),
	);
}
