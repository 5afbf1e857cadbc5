import type { TableColumn } from "../../contracts/job.ts";
import { columnWords } from "../definition/column-words.ts";

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
