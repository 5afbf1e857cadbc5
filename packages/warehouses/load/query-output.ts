import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { csvLine } from "../../escapes/csv.ts";
import { linesForTerminal } from "../../escapes/terminal.ts";
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

/**
 * Prints a text as fast as its reader takes it. A program gets each character, and a terminal none that it would carry out.
 * @param pieces of the text, for a terminal of that width, if it is one
 */
export function print(
	pieces: (width: number | undefined) => AsyncIterable<string>,
	stdout = process.stdout,
): Promise<void> {
	const { isTTY, columns } = stdout;
	const text = isTTY ? forTerminal(pieces(columns)) : pieces(undefined);
	return pipeline(Readable.from(text), stdout, { end: false });
}

async function* forTerminal(pieces: AsyncIterable<string>) {
	for await (const piece of pieces)
		yield linesForTerminal(piece.replaceAll("\r\n", "\n"));
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
