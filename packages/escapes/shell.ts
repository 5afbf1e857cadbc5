import { unsafeOnTerminal } from "./terminal.ts";

/**
 * Any text as one word of a shell: POSIX' and fish, whose single quotes end differently at a backslash. It has no control
 * character, which a terminal would carry out when somebody pastes the command, in quotes or not. NUL is in no argument.
 */
export function shellWord(text: string): string {
	// Zsh takes `=ls` for the path of ls.
	if (/^[\w@+:,./-][\w@%+=:,./-]*$/.test(text)) return text;
	const inner = text
		.replaceAll("\0", "")
		.replace(special, (found) =>
			/['\\]/.test(found)
				? `'\\${found}'`
				: `'"$(printf '${[...new TextEncoder().encode(found)]
						.map((byte) => `\\${byte.toString(8).padStart(3, "0")}`)
						.join("")}')"'`,
		);
	return `'${inner}'`;
}

/** A line feed may stand in quotes. */
const special = new RegExp(
	`['\\\\]|(?:(?!\\n)${unsafeOnTerminal.source})+`,
	"g",
);
