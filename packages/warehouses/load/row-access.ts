import type { BodyMatch } from "../../contracts/archive.ts";
import type { ExistingColumn } from "./incompatibility.ts";

/** How a warehouse writes SQL. */
export interface RowDialect {
	/** A table's name. */
	table(name: string): string;
	name(name: string): string;
	text(text: string): string;
	date(date: string): string;
	/** Whether a column has no value, if that isn't NULL alone. */
	isEmpty?(name: string): string;
	/** The condition on a body, where the warehouse's SQL can call {@link file://./body-match.ts ours}; else bodies are read. */
	bodyHas?(body: string, match: BodyMatch): string;
	/** The text of a body that is read, if the column's type isn't one of texts. */
	bodyText?(body: string, type: string): string;
	/** Of bodies that are read, the condition that a text has a pattern of RE2. Without it, all are read. */
	textHas?(text: string, pattern: string): string;
	/** A text that differs for each text of a body. A warehouse has this or {@link RowDialect.bodyHas}. */
	bodyDigest?(text: string): string;
	/** A body of which nothing is left, if it isn't a text. */
	blankBody?(type: string): string;
}

/** A column that isn't computed from others. */
export interface BlankableColumn extends ExistingColumn {
	/**
	 * What says nothing, in SQL: NULL, or a value that the type has in its place. Undefined if no row can have that, such as in a
	 * column that takes no NULL or one of a key.
	 */
	blank: string | undefined;
}

/** A table as the warehouse has it. */
export interface MarkedTable {
	name: string;
	/** All that it has, whoever made them, but for those that are computed from others. */
	columns: BlankableColumn[];
}

/** How rows that loads have left are found and changed in a warehouse. Every failure is a {@link JobFailure}. */
export interface RowAccess {
	dialect: RowDialect;
	/**
	 * The tables with the mark that the Pipeline's loads leave for the manifest's Source: also those that no Run of today loads, such as
	 * one with another name, or of events in quarantine where the Pipeline had that once.
	 */
	tables(options?: {
		/** Whether to remove what killed loads have left beside them. What a load may be reading goes, too. */
		removesLeft?: boolean;
	}): Promise<MarkedTable[]>;
	/**
	 * Throws {@link JobFailure} if the warehouse hides rows of a table from the Job. Absent where each statement fails then, or none is
	 * ever hidden.
	 */
	requireAllSeen?(table: MarkedTable): Promise<void>;
	/** How many rows a table has that meet a condition. */
	count(table: string, condition: string): Promise<number>;
	/** By one statement, which is done as a whole. Returns how many rows it changed. Throws {@link JobFailure} if rows that are meant stay as they were. */
	change(table: string, statement: RowStatement): Promise<number>;
	/**
	 * The names of what somebody has detached from a table and may attach again: nobody finds a row there, and it may have some that are
	 * meant. Absent where that can't be.
	 */
	detached?(table: MarkedTable): Promise<string[]>;
	/** The rows of a query, with two texts each; of a warehouse that reads bodies. */
	read?(
		query: string,
	): AsyncIterable<readonly [text: string | null, other: string | null]>;
}

export interface RowStatement {
	condition: string;
	/** What is set in a row that stays; undefined if it goes. */
	assignments: readonly Assignment[] | undefined;
}

/** In SQL. */
export interface Assignment {
	column: string;
	value: string;
}

/** @param table its name in SQL. */
export function statementSql(
	table: string,
	{ condition, assignments }: RowStatement,
): string {
	const change = assignments
		? `UPDATE ${table} SET ${assignmentsSql(assignments)}`
		: `DELETE FROM ${table}`;
	return `${change} WHERE ${condition}`;
}

export function assignmentsSql(assignments: readonly Assignment[]): string {
	return assignments
		.map(({ column, value }) => `${column} = ${value}`)
		.join(", ");
}
