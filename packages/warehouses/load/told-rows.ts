import type { TableColumn } from "../../contracts/job.ts";
import type { ManifestErasure } from "../../contracts/manifest.ts";
import type { UtcDate } from "../../contracts/utc-date.ts";
import {
	columnNames,
	columnWords,
	rejectedColumns,
} from "../definition/column-words.ts";
import { isRest } from "./body-paths.ts";
import { hasString } from "./body-values.ts";
import type {
	ErasableColumn,
	ErasableTable,
	ErasingAccess,
	ErasingDialect,
} from "./erasing-access.ts";

/** A table with what a load knows of it. */
export interface Table extends ErasableTable {
	/** The columns that a load fills today; undefined if none does. */
	loaded: readonly TableColumn[] | undefined;
	/** The last date that Runs load into it; undefined for none. */
	through: UtcDate | undefined;
}

export function isOfRejectedValues({ columns }: ErasableTable): boolean {
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
	{ name }: ErasableColumn,
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
): ErasableColumn | undefined {
	return table.columns.find((column) => sourceOf(table, column) === from);
}

/** Columns of strings from the pointer: those that a load fills, and those whose comment says that one did. */
function valuesOf(table: Table, bodyPointer: string): ErasableColumn[] {
	const words = columnWords({
		name: "",
		from: { bodyPointer, type: "String" },
	});
	return table.columns.filter((column) => {
		const from = sourceOf(table, column);
		if (from === undefined) return column.comment === words;
		return (
			typeof from === "object" &&
			"bodyPointer" in from &&
			!isRest(from) &&
			from.type === "String" &&
			from.bodyPointer === bodyPointer
		);
	});
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
	access: ErasingAccess,
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
	const held = valuesOf(table, match.bodyPointer)
		.map(({ name }) => `${dialect.name(name)} = ${dialect.text(match.equals)}`)
		.join(" OR ");
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
		const has = dialect.bodyHas(body, match, bodies.type);
		const condition = on(`(${[has, ...without].join(" OR ")})`);
		return { conditions: [condition], untold, tells: true };
	}
	const digest = dialect.bodyDigest!(body);
	const key =
		id === undefined
			? digest
			: `CASE WHEN ${isEmpty(id)} THEN ${digest} ELSE ${id} END`;
	const keys: string[] = [];
	const rows = access.read!(
		`SELECT ${key}, ${body} FROM ${dialect.table(table.name)} WHERE ${on(`NOT (${isEmpty(body)})`)}`,
	);
	for await (const [key, body] of rows)
		if (key !== null && body !== null && hasString(body, match)) keys.push(key);
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
	dialect: ErasingDialect,
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
	dialect: ErasingDialect,
): string | undefined {
	const column = columnOf(table, from);
	return column && dialect.name(column.name);
}

/** Servers limit the length of a statement. */
const listed = 2_000;

function among(
	value: string,
	texts: readonly string[],
	dialect: ErasingDialect,
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
	access: ErasingAccess,
	table: Table,
	erasure: ManifestErasure,
	told: ReadonlyMap<Table, Told>,
): Promise<Told> {
	if (erasure.eventIDs) return tell(access, table, erasure);
	const { dialect, read } = access;
	const on = (condition?: string) =>
		within(table, erasure.before, dialect, condition);
	const own = nameOf(table, "EventID", dialect)!;
	const conditions: string[] = [];
	let tells = false;
	for (const [events, which] of told) {
		const id = nameOf(events, "EventID", dialect);
		if (id === undefined || !which.tells) continue;
		tells = true;
		const from = `FROM ${dialect.table(events.name)} WHERE`;
		for (const condition of which.conditions) {
			if (!read) {
				conditions.push(`${own} IN (SELECT ${id} ${from} ${condition})`);
				continue;
			}
			const ids: string[] = [];
			for await (const [found] of read(
				`SELECT ${id}, NULL ${from} ${condition}`,
			))
				if (found !== null) ids.push(found);
			conditions.push(...among(own, ids, dialect));
		}
	}
	return {
		conditions: conditions.map(on),
		// Where no Run loads the table, an event's row may have gone before.
		untold: tells && table.loaded ? undefined : on(),
		tells,
	};
}
