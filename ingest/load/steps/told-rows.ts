import type { BodyMatch } from "../../../packages/contracts/archive.ts";
import type { TableColumn } from "../../../packages/contracts/job.ts";
import type { ManifestErasure } from "../../../packages/contracts/manifest.ts";
import type { UtcDate } from "../../../packages/contracts/utc-date.ts";
import {
	columnNames,
	columnWords,
	rejectedColumns,
} from "../../../packages/warehouses/definition/definition.ts";
import {
	columnValue,
	isRest,
} from "../../../packages/warehouses/load/body-value.ts";
import {
	isMeant,
	meantPattern,
} from "../../../packages/warehouses/load/body-values.ts";
import type {
	BlankableColumn,
	MarkedTable,
	RowAccess,
	RowDialect,
} from "../../../packages/warehouses/load/warehouse.ts";

/** A table with what a load knows of it. */
export interface Table extends MarkedTable {
	/** The columns that a load fills today; undefined if none does. */
	loaded: readonly TableColumn[] | undefined;
	/** The last date that Runs load into it; undefined for none. */
	through: UtcDate | undefined;
}

export function isOfRejectedValues({ columns }: MarkedTable): boolean {
	const names = columns.map(({ name }) => name.toLowerCase());
	const own = Object.keys(rejectedColumns).filter((name) => name !== "date");
	const isOfEvents = ["body", "timestamp"].some((name) => names.includes(name));
	return !isOfEvents && own.every((name) => names.includes(name));
}

/** What no column from the body or the request may be called, whatever a Pipeline says (by its CRD). */
const reserved = ["EventID", "Timestamp", "Body", "Date"] as const;

/** Where a column's values come from, as far as that is known for all of its rows. */
export function sourceOf(
	{ loaded = [] }: Table,
	{ name }: BlankableColumn,
): TableColumn["from"] | undefined {
	const same = (other: string) => other.toLowerCase() === name.toLowerCase();
	return (
		loaded.find((column) => same(column.name))?.from ??
		reserved.find((from) => same(columnNames[from]))
	);
}

function columnOf(
	table: Table,
	from: TableColumn["from"],
): BlankableColumn | undefined {
	return table.columns.find((column) => sourceOf(table, column) === from);
}

/** Columns of a type from the pointer: those that a load fills, and those whose comment says that one did. */
function valuesOf(
	table: Table,
	bodyPointer: string,
	type: "String" | "Integer",
): BlankableColumn[] {
	const words = columnWords({ name: "", from: { bodyPointer, type } });
	return table.columns.filter((column) => {
		const from = sourceOf(table, column);
		if (from === undefined) return column.comment === words;
		return (
			typeof from === "object" &&
			"bodyPointer" in from &&
			!isRest(from) &&
			from.type === type &&
			from.bodyPointer === bodyPointer
		);
	});
}

/**
 * Conditions on columns with the value alone. A column of integers has each number that it can hold, and one of strings has a
 * number's text as it was written; columns of other types may have rounded it.
 */
function heldIn(
	table: Table,
	{ bodyPointer, equals, equalsNumber }: BodyMatch,
	dialect: RowDialect,
): string[] {
	const be = (type: "String" | "Integer", ...values: string[]) =>
		valuesOf(table, bodyPointer, type).map(
			({ name }) => `${dialect.name(name)} IN (${values.join(", ")})`,
		);
	if (equals !== undefined) return be("String", dialect.text(equals));
	const type = "Integer";
	const value = columnValue(equalsNumber, { type });
	const integer = value?.startsWith("=") ? value.slice(1) : undefined;
	const texts = [...new Set([equalsNumber, integer ?? equalsNumber])];
	return [
		...be("String", ...texts.map((text) => dialect.text(text))),
		...(integer === undefined ? [] : be(type, integer)),
	];
}

/** Which rows of a table are meant. */
export interface Told {
	/** Rows that meet any of these. Each is for a statement of its own. */
	conditions: string[];
	/** Those that may be meant, and of which nothing tells; undefined if that can't be. */
	untold: string | undefined;
	/** Whether the table has a column that tells at all. */
	tells: boolean;
}

/** By the columns that a table has, whichever a load fills: they hold what their rows were loaded with. */
export async function tell(
	access: RowAccess,
	table: Table,
	{ before, eventIDs, match }: ManifestErasure,
): Promise<Told> {
	const { dialect } = access;
	const on = (condition?: string) => within(table, before, dialect, condition);
	const isEmpty = dialect.isEmpty ?? ((name: string) => `${name} IS NULL`);
	const id = nameOf(table, "EventID", dialect);
	const nothing: Told = { conditions: [], untold: on(), tells: false };
	if (eventIDs)
		return id === undefined
			? nothing
			: {
					conditions: among(id, eventIDs, dialect).map(on),
					untold: on(isEmpty(id)),
					tells: true,
				};
	if (!match) return nothing;
	const held = heldIn(table, match, dialect).join(" OR ");
	const bodies = columnOf(table, "Body");
	if (!bodies)
		return held === ""
			? nothing
			: { conditions: [on(`(${held})`)], untold: undefined, tells: true };
	const body = dialect.name(bodies.name);
	// A column of strings holds the texts of numbers, too, may be younger than the row, or had other values once: the body tells.
	const without = held === "" ? [] : [`(${isEmpty(body)} AND (${held}))`];
	const untold = held === "" ? on(isEmpty(body)) : undefined;
	if (dialect.bodyHas) {
		const has = dialect.bodyHas(body, match);
		const condition = on(`(${[has, ...without].join(" OR ")})`);
		return { conditions: [condition], untold, tells: true };
	}
	const text = dialect.bodyText?.(body, bodies.type) ?? body;
	const digest = dialect.bodyDigest!(text);
	const key =
		id === undefined
			? digest
			: `CASE WHEN ${isEmpty(id)} THEN ${digest} ELSE ${id} END`;
	const keys: string[] = [];
	const pattern = dialect.textHas && meantPattern(match);
	const may = [
		`NOT (${isEmpty(body)})`,
		...(pattern === undefined ? [] : [dialect.textHas!(text, pattern)]),
	].join(" AND ");
	const rows = access.read!(
		`SELECT ${key}, ${text} FROM ${dialect.table(table.name)} WHERE ${on(may)}`,
	);
	for await (const [key, body] of rows)
		if (key !== null && body !== null && isMeant(body, match)) keys.push(key);
	return {
		conditions: [...among(key, keys, dialect), ...without].map(on),
		untold,
		tells: true,
	};
}

/** The rows of the erasure's own date Runs put anew, if they load that date. */
function within(
	table: Table,
	before: UtcDate,
	dialect: RowDialect,
	condition?: string,
): string {
	const date = nameOf(table, "Date", dialect);
	const sign = before <= (table.through ?? "") ? "<" : "<=";
	const all = [
		...(date === undefined ? [] : [`${date} ${sign} ${dialect.date(before)}`]),
		...(condition === undefined ? [] : [condition]),
	];
	return all.join(" AND ") || "true";
}

function nameOf(
	table: Table,
	from: TableColumn["from"],
	dialect: RowDialect,
): string | undefined {
	const column = columnOf(table, from);
	return column && dialect.name(column.name);
}

/** Servers limit the length of a statement. */
const listed = 2_000;

function among(
	value: string,
	texts: readonly string[],
	dialect: RowDialect,
): string[] {
	const conditions: string[] = [];
	for (let at = 0; at < texts.length; at += listed) {
		const some = texts.slice(at, at + listed).map((text) => dialect.text(text));
		conditions.push(`${value} IN (${some.join(", ")})`);
	}
	return conditions;
}

/** A value that was rejected is found by the ID of its event, which the rows of events tell. */
export async function tellRejected(
	access: RowAccess,
	table: Table,
	erasure: ManifestErasure,
	told: ReadonlyMap<Table, Told>,
): Promise<Told> {
	if (erasure.eventIDs) return tell(access, table, erasure);
	const { dialect, read } = access;
	const on = (condition?: string) =>
		within(table, erasure.before, dialect, condition);
	const own = nameOf(table, "EventID", dialect)!;
	const ids = new Set<string>();
	const queries: string[] = [];
	let tells = false;
	for (const [events, which] of told) {
		const id = nameOf(events, "EventID", dialect);
		if (id === undefined || !which.tells) continue;
		tells = true;
		const from = `FROM ${dialect.table(events.name)} WHERE`;
		for (const condition of which.conditions) {
			if (!read) {
				queries.push(`${own} IN (SELECT ${id} ${from} ${condition})`);
				continue;
			}
			for await (const [found] of read(
				`SELECT ${id}, NULL ${from} ${condition}`,
			))
				if (found !== null) ids.add(found);
		}
	}
	// An event of several tables counts once.
	const conditions = [
		...among(own, [...ids], dialect),
		...(queries.length > 0 ? [`(${queries.join(" OR ")})`] : []),
	];
	return {
		conditions: conditions.map(on),
		// Where no Run loads the table, an event's row may have gone before.
		untold: tells && table.loaded ? undefined : on(),
		tells,
	};
}
