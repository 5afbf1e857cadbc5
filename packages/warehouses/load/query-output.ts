import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import {
	type QueryResult,
	type SqlFormat,
	SqlUsageError,
} from "../definition/sql.ts";
import { renderTable } from "./query-table.ts";

/**
 * A result as text, piece by piece: `json` is one object a line, `csv` starts with a header line. Both stream and give each
 * value in full. `table` cuts columns to `width` terminal cells, if given.
 */
export async function* printed(
	{ columns, texts, values }: QueryResult,
	format: SqlFormat,
	width?: number,
): AsyncGenerator<string> {
	switch (format) {
		case "json":
			for await (const row of values)
				yield `${JSON.stringify(Object.fromEntries(columns.map(({ name }, index) => [name, row[index]])))}\n`;
			return;
		case "csv":
			yield csvLine(columns.map(({ name }) => name));
			for await (const row of texts) yield csvLine(row);
			return;
		case "table":
			yield renderTable(columns, await tableRows(texts), width);
	}
}

/** Prints a text as fast as its reader takes it. @param pieces of the text, for a terminal of that width, if it is one */
export function print(
	pieces: (width: number | undefined) => AsyncIterable<string>,
): Promise<void> {
	const { stdout } = process;
	const width = stdout.isTTY ? stdout.columns : undefined;
	return pipeline(Readable.from(pieces(width)), stdout, { end: false });
}

/** A table's columns are as wide as their widest value, so all rows are held. */
const maxTableCharacters = 64 * 1024 ** 2;

async function tableRows(
	texts: QueryResult["texts"],
): Promise<(string | null)[][]> {
	const rows: (string | null)[][] = [];
	let characters = 0;
	for await (const row of texts) {
		rows.push(row);
		for (const cell of row) characters += cell?.length ?? 4;
		if (characters > maxTableCharacters)
			throw new SqlUsageError(
				`The first ${rows.length} rows have more than ${maxTableCharacters / 1024 ** 2} MiB of text, which is too much for a table. Add LIMIT, select left(body, 100), or use --format json or csv, which print row by row.`,
			);
	}
	return rows;
}

/** One CSV record (RFC 4180: lines end in CRLF). NULL is an empty field, an empty string a quoted one. */
export function csvLine(cells: (string | null)[]): string {
	return `${cells.map(field).join(",")}\r\n`;
}

function field(cell: string | null): string {
	if (cell === null) return "";
	return cell === "" || /[",\r\n]/.test(cell)
		? `"${cell.replaceAll('"', '""')}"`
		: cell;
}

/** Names of columns as a result's, each once. */
export function distinctNames(names: readonly string[]): string[] {
	const seen = new Set<string>();
	return names.map((name) => {
		let free = name;
		for (let number = 1; seen.has(free); number++) free = `${name}_${number}`;
		seen.add(free);
		return free;
	});
}
