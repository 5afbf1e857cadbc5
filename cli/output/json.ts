/**
 * JSON that writes nothing to the terminal: senders choose some of its text, and JSON.stringify leaves U+007F to U+009F, among
 * which are terminals' control sequences (ECMA-48, 8-bit), as they are.
 */
export function jsonText(value: unknown, indent?: number): string {
	return JSON.stringify(value, undefined, indent).replace(
		/[\u007f-\u009f]/g,
		(character) => `\\u00${character.charCodeAt(0).toString(16)}`,
	);
}
