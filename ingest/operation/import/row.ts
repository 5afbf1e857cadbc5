import type { ImportWork } from "../../../packages/contracts/operation.ts";

/** A row of a file, as it stands there. */
export interface ImportedRow {
	/** From 1. */
	row: number;
	/** What is wrong with it already. */
	fault?: string;
	/** Nobody said what it is: what it has, and what decides. The whole import waits for that. */
	undecided?: { has: string; choices: readonly FormatChoice[] };
	/** How it was read, if a file can be read otherwise, too: a row that was imported wrongly can then be imported rightly. */
	reading?: string;
	/** JSON text, if it is one. */
	body?: string | undefined;
	/** RFC 3339, or milliseconds since the epoch; undefined if the row has no time. */
	time?: string | number | undefined;
	/** What the row has in place of a time: something that is no text. */
	otherTime?: string | undefined;
	/** An event ID, perhaps of ours. */
	id?: string | undefined;
	/** JSON text of an object. */
	headers?: string | undefined;
	/** The event was stored as a form, as an Export says. */
	isForm?: true;
}

/** What people say of all rows. */
export type RowForm = Pick<ImportWork, "rows" | "body" | "date" | "timeZone">;

/** An option, and what each row becomes by it. */
export type FormatChoice = readonly [option: string, meaning: string];

export const rowsChoices: readonly FormatChoice[] = [
	[
		"--rows events",
		"the event is what body has, and the rest of the row isn't kept",
	],
	["--rows bodies", "the event is the whole row"],
];

export const bodyChoices: readonly FormatChoice[] = [
	["--body text", "the event is the JSON that the text holds"],
	["--body json", "the event is the text, as a string of JSON"],
];

/** Names of a row beside `body`, for people. */
export function otherNames(names: Iterable<string>): string {
	const others = [...names].filter((name) => name !== "body");
	const some = others.slice(0, 5).map((name) => name.slice(0, 40));
	return [...some, ...(others.length > 5 ? ["…"] : [])].join(", ");
}

/** Where a row may have its time. */
export const timeNames = ["timestamp", "received_at", "time"] as const;
