import { runInNewContext } from "node:vm";

/** A command in a document and what it prints there. */
export interface ConsoleExample {
	command: string;
	/** The lines below the command, up to the next one. */
	shown: string;
}

/** The commands of all fenced blocks of type `console`, in order: lines that begin with `$ `, each with its output. */
export function consoleExamples(markdown: string): ConsoleExample[] {
	const blocks = markdown.matchAll(/^```console\n(.*?)^```$/gms);
	return [...blocks].flatMap(([, block = ""]) =>
		block
			.split(/^\$ /m)
			.slice(1)
			.map((part) => {
				const [command = "", ...lines] = part.split("\n");
				return { command, shown: lines.join("\n").trim() };
			}),
	);
}

/**
 * Whether a command printed what the document shows: `…` stands for anything, spaces and rulers for any number of them.
 * Where it didn't, so many gaps can be filled in more ways than there is time for: then no way is found in time.
 */
export function isShown(
	printed: string,
	shown: string,
	timeoutMs = 20_000,
): boolean {
	const match = { pattern: shownPattern(shown), printed };
	try {
		return runInNewContext("pattern.test(printed)", match, {
			timeout: timeoutMs,
		});
	} catch (error) {
		if (
			(error as NodeJS.ErrnoException).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT"
		)
			throw error;
		return false;
	}
}

function shownPattern(shown: string): RegExp {
	const parts = shown.split("…").map((part) =>
		part
			.split(/(\s+|-{3,})/)
			.map((piece) =>
				/^\s+$/.test(piece)
					? "\\s+"
					: /^-{3,}$/.test(piece)
						? "-+"
						: RegExp.escape(piece),
			)
			.join(""),
	);
	return new RegExp(`^\\s*${parts.join("[^]*?")}\\s*$`);
}
