import type { ErasureMatch } from "../../contracts/archive.ts";
import type { ExistingColumn } from "./incompatibility.ts";

/** How a warehouse writes SQL. */
export interface ErasingDialect {
	/** A table's name. */
	table(name: string): string;
	name(name: string): string;
	text(text: string): string;
	date(date: string): string;
	/** Whether a column has no value, if that isn't NULL alone. */
	isEmpty?(name: string): string;
	/** The condition on a body of a type; absent if its rows are to be read. */
	bodyHas?(body: string, match: ErasureMatch, type: string): string;
	/** A text that differs for each body. A warehouse has this or {@link ErasingDialect.bodyHas}. */
	bodyDigest?(body: string): string;
	/** A body of which nothing is left, if it isn't a text. */
	blankBody?(type: string): string;
}

/** A column that isn't computed from others. */
export interface ErasableColumn extends ExistingColumn {
	/**
	 * What says nothing, in SQL: NULL, or a value that the type has in its place. Undefined if no row can have that, such as in a
	 * column that takes no NULL or one of a key.
	 */
	blank: string | undefined;
}

/** A table as the warehouse has it. */
export interface ErasableTable {
	name: string;
	/** All that it has, whoever made them, but for those that are computed from others. */
	columns: ErasableColumn[];
}

/** How rows are erased in a warehouse. Every failure is a {@link JobFailure}. */
export interface ErasingAccess {
	dialect: ErasingDialect;
	/**
	 * The tables with the mark that the Pipeline's loads leave for the manifest's Source: also those that no Run of today loads, such as
	 * one with another name, or of events in quarantine where the Pipeline had that once.
	 */
	tables(): Promise<ErasableTable[]>;
	/** How many rows a table has that meet a condition. */
	count(table: string, condition: string): Promise<number>;
	/** By one statement, which is done as a whole. Returns how many rows it changed. */
	change(table: string, statement: ErasingStatement): Promise<number>;
	/** The rows of a query, with two texts each; of a warehouse that reads bodies. */
	read?(
		query: string,
	): AsyncIterable<readonly [text: string | null, other: string | null]>;
}

export interface ErasingStatement {
	condition: string;
	/** What is set in a row that stays; undefined if it goes. */
	assignments: string | undefined;
}

/** @param table its name in SQL. */
export function erasingSql(
	table: string,
	{ condition, assignments }: ErasingStatement,
): string {
	const change =
		assignments === undefined
			? `DELETE FROM ${table}`
			: `UPDATE ${table} SET ${assignments}`;
	return `${change} WHERE ${condition}`;
}
