import type { TableColumn } from "../../contracts/job.ts";

/** What the columns of `spec.table.columns` are called in the table. */
export const columnNames = {
	EventID: "event_id",
	Timestamp: "timestamp",
	Body: "body",
	Date: "date",
	Violations: "violations",
	LoadedAt: "loaded_at",
	Run: "run",
} as const;

/**
 * What a column of a table holds, in a sentence for people who query it.
 * @param named How what strangers name stands where the sentence goes.
 */
export function columnWords(
	{ from }: TableColumn,
	named = (text: string) => text,
): string {
	if (typeof from !== "object") return words[from];
	if (!("bodyPointer" in from))
		return from.header.startsWith("?")
			? `The query parameter ${named(from.header.slice(1))} of the request.`
			: `The header ${named(from.header)} of the request.`;
	if ("isRest" in from)
		return "What the other columns don't hold of the body, as JSON text. NULL if that is nothing.";
	const { bodyPointer, type } = from;
	return `${named(bodyPointer)} of the body, as ${type}. NULL if it is missing or doesn't fit.`;
}

const words = {
	EventID: "The event's id, unique in the table.",
	Timestamp: "When Tidemill received the event.",
	Body: "The body as the sender sent it; a form as a JSON object.",
	Date: "The UTC date of the timestamp. Filter by it: days are loaded as a whole.",
	Violations:
		"What the tracking plan found, as JSON text. NULL for an event that is as planned.",
	LoadedAt: "When the load that wrote the row began.",
	Run: "The Run that wrote the row.",
} as const satisfies Record<Extract<TableColumn["from"], string>, string>;

/** The same for a table of rejected values, by its columns. */
export const rejectedColumns = {
	event_id: "The event's id. An event has a row for each of its values.",
	date: "The UTC date of the event. Filter by it: days are loaded as a whole.",
	column_name: "The column that couldn't hold the value.",
	value:
		"The value as JSON text, as it was sent. The end of a longer one than 1,024 bytes is cut off.",
	reason: "Why the column couldn't hold it.",
} as const;
