/**
 * What text that strangers write must not bring to a terminal: control characters, among which begin its commands (ECMA-48), and
 * characters that end a line or turn the direction in which people read (UAX #9: U+202E shows "exe.txt" as "txt.exe"). The last
 * three are in no YAML (1.2 §5.1): libyaml, which kubectl and Python have, refuses the whole text for one of them.
 */
export const unsafeOnTerminal =
	// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it finds.
	/[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff]/g;

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

/** The same in one line, which has a space in place of what a line can't have. */
export function lineForTerminal(text: string): string {
	return text.replace(runsOfUnsafe, " ");
}

const runsOfUnsafe = new RegExp(`${unsafeOnTerminal.source}+`, "g");
