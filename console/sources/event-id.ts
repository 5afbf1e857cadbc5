/**
 * The event id in a text that somebody pasted: the id alone, in any case and in quotes or brackets, or a line of JSON or of a log
 * that has it. Undefined if there is none.
 */
export function eventIdIn(text: string): string | undefined {
	return /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/i
		.exec(text)?.[0]
		.toLowerCase();
}
