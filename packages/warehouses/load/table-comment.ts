import type { TableColumn } from "../../contracts/job.ts";
import { columnWords } from "../definition/column-words.ts";
import type { TableMark } from "./table-mark.ts";

/**
 * The comment on a table: words for people, who may change them, and load's mark as its last line. It goes with the table
 * when the table is dropped or replaced, and changes in the same transaction as the rows.
 */
export interface TableComment<Mark = TableMark> {
	words: string;
	mark?: Mark;
}

const prefix = "\ntidemill: ";

export function readComment<Mark = TableMark>(
	comment: string,
): TableComment<Mark> {
	const at = comment.lastIndexOf(prefix);
	if (at < 0) return { words: comment };
	const words = comment.slice(0, at);
	try {
		const mark = JSON.parse(comment.slice(at + prefix.length)) as Mark;
		return { words, mark };
	} catch {
		// Somebody edited the line. The whole window is loaded again.
		return { words };
	}
}

export function writeComment(words: string, mark: object): string {
	return `${words}${prefix}${JSON.stringify(mark)}`;
}

/** A comment on a column that a load writes. */
export interface ColumnComment {
	name: string;
	comment: string;
}

/**
 * The comments that the columns lack: where there is none, or one of a load that isn't true any more. What people have written
 * stays. A table that has them all needs no statement.
 * @param existing The table's columns; empty for a new table.
 */
export function missingComments(
	columns: readonly TableColumn[],
	existing: readonly { name: string; comment?: string | null }[] = [],
): ColumnComment[] {
	const present = new Map(
		existing.map(({ name, comment }) => [name.toLowerCase(), comment]),
	);
	return columns.flatMap((column) => {
		const comment = column.description ?? columnWords(column);
		const found = present.get(column.name.toLowerCase());
		return found === comment || (found && !isOfLoad(found))
			? []
			: [{ name: column.name, comment }];
	});
}

/** For a table that is made anew: those that people have written, and load's for the other columns. */
export function allComments(
	columns: readonly TableColumn[],
	existing: readonly { name: string; comment?: string | null }[] = [],
): ColumnComment[] {
	const missing = missingComments(columns, existing);
	return columns.map(
		({ name }) =>
			missing.find((comment) => comment.name === name) ?? {
				name,
				comment: existing.find(
					(column) => column.name.toLowerCase() === name.toLowerCase(),
				)!.comment!,
			},
	);
}

/** Whether load writes such a comment on a column whose values may come from elsewhere later. */
function isOfLoad(comment: string): boolean {
	return /^(\/.* of the body, as \w+\. NULL if it is missing or doesn't fit\.|The (header|query parameter) .* of the request\.)$/s.test(
		comment,
	);
}
