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
