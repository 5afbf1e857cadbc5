import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { NatsRole } from "../../operator/install/nats-users.ts";

const pages = [
	"docs/security.md",
	"docs/reference/rights.md",
	"docs/reference/attacks.md",
].map((page) => readFileSync(join(import.meta.dirname, "../..", page), "utf8"));

/** The lines of a table of these pages, by their first cell, each with its cells by column. @param head its first column. */
export function tableOf(head: string): Map<string, Record<string, string>> {
	const after = `${pages.join("\n")}\n`.split(`\n| ${head} |`)[1]!;
	const [columns, , ...rows] = `| ${head} |${after}`
		.split("\n\n")[0]!
		.split("\n")
		.map((line) =>
			line
				.split("|")
				.slice(1, -1)
				.map((cell) => cell.trim()),
		);
	return new Map(
		rows.map(([first = "", ...cells]) => [
			first,
			Object.fromEntries(cells.map((cell, i) => [columns![i + 1]!, cell])),
		]),
	);
}

/** What shows that it is so: a test by its file and title, a subject that the NATS user tries, or whose word it is, if not ours. */
export type Proof =
	| `${string}.ts > ${string}`
	| { sends: string }
	| { hears: string }
	| { byTheirs: string };
/** Words of a cell, in their order, each with what shows it. */
export type Words = [words: string, ...proofs: Proof[]][];

/** What somebody can and can't do with it. */
export interface Stolen {
	/** Whose password it is, if it is one of NATS. */
	user?: NatsRole;
	can: Words;
	cannot?: Words;
}
