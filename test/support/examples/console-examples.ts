/** A command in a document and what it prints there. */
export interface ConsoleExample {
	command: string;
	/** The lines below the command, up to the next one. */
	shown: string;
}

/** The commands of all fenced blocks of type `console`, in order: lines that begin with `$ `, each with its output. */
export function consoleExamples(markdown: string): ConsoleExample[] {
	const blocks = markdown.matchAll(/^```console\n(.*?)^```$/gms);
	return [...blocks].flatMap(([, block = ""]) => examplesIn(block));
}

/** The same of one block. */
export function examplesIn(block: string): ConsoleExample[] {
	return block
		.split(/^\$ /m)
		.slice(1)
		.map((part) => {
			const [command = "", ...lines] = part.split("\n");
			return { command, shown: lines.join("\n").trim() };
		});
}

/**
 * Whether a command printed what the document shows: `…` stands for anything, spaces and rulers for any number of them.
 * Each part between two gaps is looked for once, behind the one before it: where it ends first leaves most to the others. One
 * pattern for all would try each way to fill the gaps, and run into its time limit on a busy machine.
 */
export function isShown(printed: string, shown: string): boolean {
	const parts = shown.split("…").map(partPattern);
	let from = 0;
	return parts.every((part, index) => {
		const start = index === 0 ? "^\\s*" : "";
		const end = index === parts.length - 1 ? "\\s*$" : "";
		const found = new RegExp(start + part + end).exec(printed.slice(from));
		if (found) from += found.index + found[0].length;
		return found !== null;
	});
}

function partPattern(part: string): string {
	return part
		.split(/(\s+|-{3,})/)
		.map((piece) =>
			/^\s+$/.test(piece)
				? "\\s+?"
				: /^-{3,}$/.test(piece)
					? "-+?"
					: RegExp.escape(piece),
		)
		.join("");
}
