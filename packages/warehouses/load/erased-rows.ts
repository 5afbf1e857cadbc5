import type { ErasureMatch } from "../../contracts/archive.ts";
import type { TableColumn } from "../../contracts/job.ts";
import type { ManifestErasure } from "../../contracts/manifest.ts";
import { hasString } from "./body-values.ts";

/** How a warehouse writes SQL. */
export interface ErasingDialect {
	name(name: string): string;
	text(text: string): string;
	date(date: string): string;
	/** The condition on a body; absent if its rows are to be read, and found by {@link erasingRows}. */
	bodyHas?(body: string, match: ErasureMatch): string;
	/** A body of which nothing is left, if it isn't a text. */
	blankBody?: string;
}

/** A table that tells which events are meant, for one whose rows are about its events. */
export interface TellingTable {
	/** In SQL. */
	name: string;
	columns: readonly TableColumn[];
}

export interface ErasingSql {
	/** Of the dates before the erasure's. */
	condition: string;
	/** What is set in a row that stays; undefined if it goes. */
	assignments: string | undefined;
}

/**
 * Which rows an erasure means that no load puts anew. `bodies`: they are to be found by reading these two columns of the rows that meet
 * `condition`, and then asked for by their ids; `isHeld`: one without a body is meant. Undefined if no column tells.
 * @param by The table to read in the place of the one with these columns.
 */
export function erasingSql(
	columns: readonly TableColumn[],
	erasure: ManifestErasure,
	dialect: ErasingDialect,
	by?: TellingTable,
):
	| (ErasingSql & { bodies?: { id: string; body: string; isHeld: boolean } })
	| undefined {
	const { before, eventIDs, match, mode } = erasure;
	const nameOf = (is: (column: TableColumn) => boolean) => {
		const found = columns.find(is);
		return found && dialect.name(found.name);
	};
	const date = nameOf(({ from }) => from === "Date");
	const id = nameOf(({ from }) => from === "EventID");
	const body = nameOf(({ from }) => from === "Body");
	const value =
		match &&
		nameOf(
			({ from }) =>
				typeof from === "object" &&
				"bodyPointer" in from &&
				from.type === "String" &&
				from.bodyPointer === match.bodyPointer,
		);
	if (date === undefined) return undefined;
	const earlier = `${date} < ${dialect.date(before)}`;
	const blanks = columns.flatMap(({ name, from }) =>
		from === "Body"
			? [`${dialect.name(name)} = ${dialect.blankBody ?? dialect.text("null")}`]
			: typeof from === "object" || from === "Violations"
				? [`${dialect.name(name)} = NULL`]
				: [],
	);
	const assignments =
		mode === "RemoveRow" ? undefined : blanks.join(", ") || `${date} = ${date}`;
	const on = (condition: string) => ({
		condition: `${earlier} AND ${condition}`,
		assignments,
	});
	if (eventIDs)
		return id === undefined
			? undefined
			: on(`${id} IN (${eventIDs.map(dialect.text).join(", ")})`);
	if (!match) return undefined;
	if (by) {
		const told = erasingSql(by.columns, erasure, dialect);
		const other = by.columns.find(({ from }) => from === "EventID");
		if (!told || !other || id === undefined) return undefined;
		if (told.bodies) return { ...told, assignments };
		return on(
			`${id} IN (SELECT ${dialect.name(other.name)} FROM ${by.name} WHERE ${told.condition})`,
		);
	}
	const held = value && `${value} = ${dialect.text(match.equals)}`;
	if (body === undefined || (!dialect.bodyHas && id === undefined))
		return held === undefined ? undefined : on(held);
	// A column of strings holds the texts of numbers, too, which the body tells apart.
	if (!dialect.bodyHas)
		return {
			condition: held === undefined ? earlier : `${earlier} AND ${held}`,
			assignments,
			bodies: { id: id!, body, isHeld: held !== undefined },
		};
	const has = dialect.bodyHas(body, match);
	return on(
		held === undefined ? has : `${held} AND (${body} IS NULL OR ${has})`,
	);
}

/**
 * {@link erasingSql}, by the ids of the rows if only their bodies tell which they are. "None" if the bodies say that no row is meant.
 * @param read gives the id and the body of the rows, of `by` if it is given, that meet the condition.
 */
export async function erasingRows(
	columns: readonly TableColumn[],
	erasure: ManifestErasure,
	dialect: ErasingDialect,
	read: (rows: {
		id: string;
		body: string;
		condition: string;
	}) => AsyncIterable<readonly [id: string, body: string | null]>,
	by?: TellingTable,
): Promise<ErasingSql | "None" | undefined> {
	const wanted = erasingSql(columns, erasure, dialect, by);
	if (!wanted?.bodies) return wanted;
	const { condition, bodies } = wanted;
	const { isHeld, ...names } = bodies;
	const eventIDs: string[] = [];
	for await (const [id, body] of read({ ...names, condition }))
		if (body === null ? isHeld : hasString(body, erasure.match!))
			eventIDs.push(id);
	return eventIDs.length === 0
		? "None"
		: erasingSql(columns, { ...erasure, eventIDs }, dialect);
}

/** @param table its name in SQL. */
export function erasingStatement(
	table: string,
	{ condition, assignments }: ErasingSql,
): string {
	const change =
		assignments === undefined
			? `DELETE FROM ${table}`
			: `UPDATE ${table} SET ${assignments}`;
	return `${change} WHERE ${condition}`;
}
