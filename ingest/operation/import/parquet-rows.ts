import { isOutOfMemory } from "../../../packages/duckdb/memory.ts";
import { parquetRows } from "../../../packages/duckdb/quoting.ts";
import type { Session } from "../../../packages/duckdb/session.ts";
import { JobFailure } from "../../../packages/warehouses/load/failure.ts";
import { type InexactType, InexactValue, type ValueType } from "./leaf-type.ts";
import { at, structOf, typeOf } from "./parquet-type.ts";
import {
	type ImportedRow,
	otherNames,
	type RowForm,
	rowsChoices,
	timeNames,
} from "./row.ts";
import { asStored, type StoredNode } from "./stored-file.ts";

/**
 * The rows of a Parquet file, which have a column `body` or are bodies, with their exact values. It appends to the file.
 * Throws {@link JobFailure} UploadInvalid.
 */
export async function* readParquetRows(
	session: Session,
	{ path, name }: { path: string; name: string },
	form: RowForm = {},
): AsyncGenerator<ImportedRow> {
	const nodes = await asStored(path).catch((error: unknown) => {
		throw unreadable(error, `${name} is no Parquet file`);
	});
	const columns = new Columns(nodes, name, form.timeZone);
	const says = form.rows ?? form.body;
	const hasOthers = columns.has("body") && columns.names.length > 1;
	if (!says && hasOthers && !isArchived(columns)) {
		const has = `body beside ${otherNames(columns.names)}`;
		yield { row: 1, undecided: { has, choices: rowsChoices } };
	}
	const rowOf =
		form.rows === "Bodies" ? bodyRow(columns, form) : eventRow(columns, form);
	const { read } = columns;
	// DuckDB gives the rows in any order, and their ids follow from their numbers.
	const sql = `SELECT ${[...read, "file_row_number"].join(", ")} FROM ${parquetRows([path], { rowNumber: true })}`;
	try {
		for await (const chunk of session.chunks(sql))
			for (const values of chunk.getRows()) {
				const row = Number(values.pop()) + 1;
				const entries = read.map((stored, i) => [stored, values[i]]);
				yield { row, ...exactly(rowOf, Object.fromEntries(entries)) };
			}
	} catch (error) {
		throw unreadable(error, `${name} can't be read to its end`);
	}
}

/** DuckDB's own words name a local path. */
function unreadable(error: unknown, what: string): unknown {
	const isOwn =
		isOutOfMemory(error) || /^INTERRUPT Error/i.test((error as Error).message);
	return error instanceof JobFailure || isOwn ? error : invalid(what);
}

const invalid = (message: string) => new JobFailure("UploadInvalid", message);

type Row = Omit<ImportedRow, "row">;
/** A row's values by their columns' stored names. */
type Stored = Readonly<Record<string, unknown>>;
type RowReader = (stored: Stored) => Row;

function exactly(rowOf: RowReader, stored: Stored): Row {
	try {
		return rowOf(stored);
	} catch (error) {
		if (!(error instanceof InexactValue)) throw error;
		const column = error.path.join(".").slice(0, 200);
		return { fault: `its column "${column}" ${error.fault}` };
	}
}

interface Column {
	name: string;
	type: ValueType;
	/** What reads a value, which may be NULL. Throws {@link InexactValue}. */
	by<T>(read: (value: unknown) => T): (stored: Stored) => T | undefined;
}

class Columns {
	/** By their stored names. */
	readonly read: string[] = [];
	readonly file: string;
	readonly #nodes: readonly StoredNode[];
	readonly #timeZone: string | undefined;

	constructor(
		nodes: readonly StoredNode[],
		file: string,
		timeZone: string | undefined,
	) {
		this.#nodes = nodes;
		this.file = file;
		this.#timeZone = timeZone;
	}

	get names(): string[] {
		return this.#nodes.map(({ element }) => element.name);
	}

	has(name: string): boolean {
		return this.names.includes(name);
	}

	/** A column that will be read. Throws {@link JobFailure} if its type has no exact values. */
	get(name: string): Column | undefined {
		const nodes = this.#nodes.filter(({ element }) => element.name === name);
		const [node] = nodes;
		if (!node) return undefined;
		if (nodes.length > 1)
			throw invalid(`${this.file} has several columns "${name}"`);
		const { stored } = node;
		if (!this.read.includes(stored)) this.read.push(stored);
		const by: Column["by"] = (read) => (values) => {
			const value = values[stored];
			return value === null ? undefined : at(name, () => read(value));
		};
		const type = this.#exact(name, typeOf(node, this.#timeZone));
		return { name, type, by };
	}

	/** The JSON object of all columns, which will be read. Throws as {@link get} does. */
	whole(): (stored: Stored) => string {
		for (const name of this.names) this.get(name);
		const type = structOf(this.#nodes, this.#timeZone) as ValueType;
		return (stored) => type.json({ entries: stored });
	}

	#exact(name: string, type: ValueType | InexactType): ValueType {
		if (type.json) return type;
		throw invalid(
			`The column "${name}" of ${this.file} has the type ${type.name.slice(0, 100)}, whose values can't be said exactly in JSON. Write it as text, or leave it out`,
		);
	}
}

/** Whether archive wrote it, as an Export's files are. */
function isArchived(columns: Columns): boolean {
	const ours = ["event_id", "timestamp", "kind", "headers", "violations"];
	return ours.every((name) => columns.has(name));
}

function bodyRow(columns: Columns, form: RowForm): RowReader {
	const body = columns.whole();
	const time = timeReader(columns, form);
	const { timeZone } = form;
	const reading = [
		...(columns.has("body") ? ["Bodies"] : []),
		...(timeZone === undefined ? [] : [timeZone]),
	].join(" ");
	return (stored) => ({
		...(reading !== "" && { reading }),
		body: body(stored),
		...time(stored),
		id: undefined,
		headers: undefined,
	});
}

function eventRow(columns: Columns, form: RowForm): RowReader {
	const body = bodyReader(columns, form);
	const time = timeReader(columns, form);
	const id = textReader(columns.get("event_id"));
	const headers = textReader(columns.get("headers"));
	const kind = textReader(
		isArchived(columns) ? columns.get("kind") : undefined,
	);
	return (stored) => ({
		...body(stored),
		...time(stored),
		id: id(stored),
		headers: headers(stored) || undefined,
		...(kind(stored) === "form" && { isForm: true as const }),
	});
}

function bodyReader(
	columns: Columns,
	{ body: format, timeZone }: RowForm,
): RowReader {
	const column = columns.get("body");
	const { file, names } = columns;
	if (!column)
		throw invalid(
			`${file} has the columns ${names.slice(0, 20).join(", ")}, but no column "body". If its rows are bodies, import it with --rows bodies`,
		);
	const { type } = column;
	if (format === "Text" && !type.text)
		throw invalid(
			`The column "body" of ${file} has the type ${type.name}, which is no text. Import it with --body json`,
		);
	// Text that its type calls JSON is the body, whatever is said of other texts.
	const isText = type.text && (type.isJson || format !== "JSON");
	const read = column.by(isText ? type.text! : type.json);
	const reading =
		!isText && timeZone !== undefined ? { reading: timeZone } : {};
	return (stored) => {
		const body = read(stored);
		return body === undefined
			? { fault: "the body is null" }
			: { ...reading, body };
	};
}

/** Text as it stands there; of another type its JSON. */
function textReader(
	column: Column | undefined,
): (stored: Stored) => string | undefined {
	if (!column) return () => undefined;
	const { type, by } = column;
	return by(
		type.text ?? ((value) => type.json(value).replace(/^"(.*)"$/s, "$1")),
	);
}

/** A time without a zone is one of UTC. */
function timeReader(columns: Columns, { date }: RowForm): RowReader {
	const [first, ...others] = timeNames
		.filter((name) => columns.has(name))
		.map((name) => columns.get(name)!);
	if (!first) return () => ({ time: undefined });
	const column = [first, ...others].find(({ type }) => type.ms ?? type.text);
	if (column) {
		const read = column.by<string | number>(
			(column.type.ms ?? column.type.text)!,
		);
		return (stored) => ({ time: read(stored) });
	}
	const { name, type } = first;
	if (date === undefined)
		throw invalid(
			`The column "${name}" of ${columns.file} has the type ${type.name}, which is no time. Set spec.import.date to give the rows a date instead`,
		);
	const text = textReader(first);
	return (stored) => {
		const value = text(stored);
		return {
			time: undefined,
			...(value !== undefined && {
				otherTime: `${name} is ${value.slice(0, 40)}`,
			}),
		};
	};
}
