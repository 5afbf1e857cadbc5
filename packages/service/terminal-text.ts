/**
 * What text that strangers write must not bring to a terminal: control characters, among which begin its commands (ECMA-48), and
 * characters that end a line or turn the direction in which people read (UAX #9: U+202E shows "exe.txt" as "txt.exe").
 */
export const unsafeOnTerminal =
	// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it finds.
	/[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** As {@link unsafeOnTerminal}, each as the escape that JSON has for it, so that people see what stands there. */
export function escapedForTerminal(text: string): string {
	return text.replace(
		unsafeOnTerminal,
		(character) =>
			`\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
	);
}

/** The same for text of several lines, which keeps its line ends and tabs. */
export function linesForTerminal(text: string): string {
	return text.replace(/[^\n\t]+/g, escapedForTerminal);
}
