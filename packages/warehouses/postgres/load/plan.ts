import type { LoadInput, TableColumn } from "../../../contracts/job.ts";
import type { Manifest } from "../../../contracts/manifest.ts";
import { quoteName } from "../../../duckdb/quoting.ts";
import { type JsonLimits, mayBeDeeper } from "../../load/body-value.ts";
import {
	asFilled,
	type ColumnComment,
	columnSql,
	isUnfitSql,
	missingComments,
} from "../../load/columns.ts";
import type { LoadDay } from "../../load/load-day.ts";
import {
	fits,
	incompatibility,
	planTable,
	type TableType,
	type WantedColumn,
} from "../../load/table-plan.ts";
import type { PostgresTableOptions } from "../input.ts";
import { maxNameBytes, type PostgresTable } from "./catalog.ts";
import { PostgresFailure } from "./failure.ts";

/** What a load does. */
export interface PostgresPlan {
	/**
	 * `Days`: it changes days of the table, which it may create. `Whole`: it changes all rows of the table that is there. `Swap`: it fills
	 * a new table, which takes the place of what is there.
	 */
	publish: "Days" | "Whole" | "Swap";
	creates: boolean;
	/** Columns that the existing table gets first. */
	added: LoadInput["table"]["columns"];
	/** On columns that lack one. */
	comments: ColumnComment[];
	/** Comments on the table while days change, and afterwards. */
	during: string;
	after: string;
	/** Names what is recorded about the table's rows; undefined for nothing. */
	record: string | undefined;
	/** Whose entries it takes over. */
	former: string | undefined;
	/** Whether the rows that stay are known to be the record's, so that days may keep theirs. */
	mayKeep: boolean;
}

/**
 * Decides how the days get into the table.
 * @param existing undefined when there is no table.
 * Throws {@link JobFailure} for what {@link useOf} refuses, and TableIncomplete if the table would lack days afterwards.
 */
export function planPostgres(
	input: LoadInput,
	manifest: Manifest,
	existing: PostgresTable | undefined,
): PostgresPlan {
	requireNames(input);
	const plan = planTable(postgresTables, input, manifest, existing);
	const { isNew, replaces, kept, record, former } = plan;
	const { columns, options } = input.table;
	const stays =
		existing &&
		!isNew &&
		fits(existing.columns, wantedColumns(columns, options));
	const publish = !replaces ? "Days" : stays ? "Whole" : "Swap";
	return {
		publish,
		creates: !existing,
		added: publish === "Swap" ? [] : plan.added,
		comments: missingComments(input.table.columns, plan.commented),
		during: plan.during(record),
		after: plan.after,
		record,
		former,
		mayKeep: kept?.record !== undefined && kept.record === record,
	};
}

function requireNames({ table: { name, columns, latest } }: LoadInput): void {
	const hasView = latest && latest.by.length > 0;
	for (const [what, text] of [
		["The table's name", name],
		...(hasView ? [["The view's name", latest.name]] : []),
		...columns.map(({ name }) => ["The column's name", name]),
	] as [string, string][])
		if (Buffer.byteLength(text) > maxNameBytes)
			throw new PostgresFailure(
				"NameTooLong",
				`${what} "${text}" has ${Buffer.byteLength(text)} bytes`,
			);
}

export const postgresTables: TableType<PostgresTable> = {
	found: (existing, input, manifest) => ({
		mark:
			existing.otherKind === undefined &&
			!("partitionOf" in (existing.comment.mark ?? {}))
				? existing.comment.mark
				: undefined,
		otherKind: existing.otherKind,
		isEmpty: existing.isEmpty,
		incompatibility: incompatibilityOf(existing, input, manifest),
	}),
	filling: ({ columns, options }) => [
		asFilled(columns).map((column) => [
			column,
			typeOf(column, options as PostgresTableOptions),
		]),
	],
};

function incompatibilityOf(
	existing: PostgresTable,
	{ table: { columns, options }, strategy }: LoadInput,
	{ dates }: Manifest,
): string | undefined {
	const {
		otherKind,
		partitionKey,
		defaultPartition,
		otherPartitions = [],
	} = existing;
	if (otherKind !== undefined) return `it is a ${otherKind}`;
	const reason = incompatibility(
		existing.columns,
		wantedColumns(columns, options),
		strategy,
		existing.comment.mark !== undefined,
	);
	if (reason !== undefined) return reason;
	if (strategy === "FullReload")
		return partitionKey === undefined
			? undefined
			: `it is partitioned by ${partitionKey}, and a full reload would undo that`;
	const wanted = keyOf(columns);
	if (partitionKey === undefined || partitionKey.replaceAll('"', "") !== wanted)
		return `it is not partitioned by ${wanted}`;
	// Rows of a day could neither be replaced there nor come beside it.
	const shared = otherPartitions.find(
		({ from = "", to = "~", name }) =>
			name !== defaultPartition &&
			dates.some(({ date }) => date >= from && date < to),
	);
	if (shared)
		return `its partition "${shared.name}" isn't that of one day, and a day is replaced as a partition of its own`;
	return defaultPartition === undefined
		? undefined
		: `it has a default partition, "${defaultPartition}", which readers would wait for whenever a day is added`;
}

/** As Postgres writes a partition key. */
function keyOf(columns: LoadInput["table"]["columns"]): string {
	return `RANGE (${dateColumn(columns)})`;
}

export function partitionBy(columns: LoadInput["table"]["columns"]): string {
	const date = dateColumn(columns);
	return date === undefined ? "" : ` PARTITION BY RANGE (${quoteName(date)})`;
}

/** Whether a day is changed at all. */
export function isChanged({ kept, objects }: LoadDay): boolean {
	return !kept || kept.renamed !== undefined || objects.length > 0;
}

/** What a column of a table has in Postgres, in the server's own spelling (format_type). */
export function typeOf(
	{ from }: TableColumn,
	{ bodyType = "text" }: PostgresTableOptions = {},
): string {
	switch (from) {
		case "EventID":
		case "Violations":
		case "Run":
			return "text";
		case "Body":
			return bodyType;
		case "Timestamp":
		case "LoadedAt":
			return instant;
		case "Date":
			return "date";
		default:
			if (!("bodyPointer" in from)) return "text";
			return from.type === "Decimal"
				? `numeric(${from.precision},${from.scale})`
				: types[from.type];
	}
}

const instant = "timestamp with time zone";

const types = {
	String: "text",
	Integer: "bigint",
	Number: "double precision",
	Boolean: "boolean",
	Timestamp: instant,
	Date: "date",
	JSON: "jsonb",
} as const;

export function wantedColumns(
	columns: readonly TableColumn[],
	options?: PostgresTableOptions,
): WantedColumn[] {
	return columns.map((column) => ({
		...column,
		type: typeOf(column, options),
	}));
}

export function definitions(
	columns: readonly TableColumn[],
	options?: PostgresTableOptions,
): string {
	return columns
		.map((column) => `${quoteName(column.name)} ${typeOf(column, options)}`)
		.join(", ");
}

function dateColumn(columns: readonly TableColumn[]): string | undefined {
	return columns.find(({ from }) => from === "Date")?.name;
}

/** How DuckDB makes a column's value for COPY, and which rows have a value there that Postgres can't hold. */
interface CopiedColumn {
	name: string;
	/** In Postgres. */
	type: string;
	value: string;
	/** Undefined if the column holds every value. */
	isUnfit: string | undefined;
	/** Whether the value counts as unfit whatever Postgres holds. */
	isCounted: string | undefined;
	isBody: boolean;
}

export const jsonFitsFunction = "tidemill_jsonb_fits_1";

/**
 * @param column One of `columns`, which the rows have.
 * @param found As {@link columnSql} has it.
 */
export function copiedColumn(
	column: TableColumn,
	columns: readonly TableColumn[],
	options?: PostgresTableOptions,
	found?: string,
): CopiedColumn {
	const {
		name,
		expression,
		type: engineType,
	} = columnSql(column, columns, found);
	const type = typeOf(column, options);
	const isBody = column.from === "Body";
	const value = engineType === "JSON" ? `(${expression})::VARCHAR` : expression;
	const isCounted = isUnfitSql(column, columns, found);
	const copied = { name, type, value, isBody, isCounted };
	// Only these escapes, numbers and many levels can make a JSON text unfit; looking for them is quicker than reading all texts.
	if (type === "jsonb")
		return {
			...copied,
			isUnfit: `(regexp_matches(${value}, ${suspicious}) OR ${mayBeDeeper(value, jsonbLimits)}) AND ${jsonFitsFunction}(${value}, '') <> '='`,
		};
	if (engineType === "VARCHAR" && !isBody)
		return { ...copied, isUnfit: `contains(${value}, chr(0))` };
	return { ...copied, isUnfit: undefined };
}

/** In a JSON text: an escape of half a surrogate pair or of NUL, or a number with an exponent or very long. */
const suspicious = String.raw`'(?i)\\u(?:0000|d[89a-f])|[0-9.]e[+-]?[0-9]{3}|[0-9]{1000}'`;

/**
 * jsonb refuses \u0000 (postgresql.org/docs/current/datatype-json.html), numbers beyond numeric (datatype-numeric.html), and texts as
 * deep as the server's stack: with the default max_stack_depth of 2 MB about 6,000 levels, of which we leave room.
 */
export const jsonbLimits: JsonLimits = {
	maxDepth: 1_000,
	takesNul: false,
	takesNumber: numberFits,
};

/** numeric has up to 131,072 digits before the point and 16,383 after it. */
function numberFits(number: string): boolean {
	if (number.length < 1_000 && !/[eE]/.test(number)) return true;
	const [, whole = "", fraction = "", exponent = "0"] =
		/^-?([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/.exec(number) ?? [];
	const shift = Number(exponent);
	if (fraction.length - shift > 16_383) return false;
	const digits = whole === "0" ? 0 : whole.length;
	return digits + shift <= 131_072 && Math.abs(shift) < 131_072;
}
