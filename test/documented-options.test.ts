import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { expect, test } from "vitest";
import { createProgram, loadGroup } from "../cli/bin/program.ts";

/* The command line has each command and option that a page shows, also where a test can't carry the command out. */

const root = join(import.meta.dirname, "..");
const pages = globSync("{README.md,{docs,clients,examples}/**/*.md}", {
	cwd: root,
	exclude: ["**/node_modules/**", "docs/reference/cli.md"],
});
/** From the program's name up to what ends a command of a shell, or a code span. Words in quotes are one. */
const command =
	/(?:(?<=[`$(|]\s?|^\s*|&& |-- |")tidemill|kubectl tidemill) ((?:"[^"]*"|'[^']*'|\$\([^)]*\)|[^\s`|;&<>()"']+|[^\S\n])+)/gm;

/** docs/cli.md shows what somebody gets who types these. */
const wrongWords = ["pipelines get", "sources suspnd"];
const quoted = /"[^"]*"|'[^']*'|\$\([^)]*\)/g;

const program = createProgram() as CommandUnknownOpts;
for (const group of program.commands) await loadGroup(group as never);

test.each(pages)("%s shows commands and options that there are", (page) => {
	const shown = [...textOf(page).matchAll(command)].map(([, words]) => words!);
	const wrong: string[] = [];
	for (const words of shown) {
		const fault = faultOf(words.replaceAll(quoted, "_").trim().split(/\s+/));
		if (fault) wrong.push(`tidemill ${words.trim()}: ${fault}`);
	}
	expect(wrong).toEqual([]);
});

test("each column that a page's command takes from the body has a type, since a provider's tracking plan says none", () => {
	const columns = pages.flatMap((page) => [
		...textOf(page).matchAll(/--body-column ([^\s`"]+=[^\s`"]+)/g),
	]);
	expect(columns.length).toBeGreaterThan(10);
	const without = columns
		.map(([, one]) => one!)
		.filter((one) => !/:\w+$/.test(one));
	expect(without).toEqual([]);
});

test("pages show hundreds of commands", () => {
	const all = pages.flatMap((page) => textOf(page).match(command) ?? []);
	expect(all.length).toBeGreaterThan(200);
});

/** What is no command, or no option of it. */
function faultOf(words: string[]): string | undefined {
	let at = program;
	const above: CommandUnknownOpts[] = [];
	for (const word of words) {
		const [, option] = /^(--?[a-z][\w-]*)/.exec(word) ?? [];
		if (option) {
			const known = [...above, at].flatMap(({ options }) => options);
			if (
				!known.some(({ short, long }) => [short, long].includes(option)) &&
				!/^--?h(elp)?$/.test(option)
			)
				return `no option ${option}`;
			continue;
		}
		if (at.commands.length === 0) continue;
		// A place to fill in, or words about several commands.
		if (!/^[a-z][a-z-]*$/.test(word)) return;
		if (wrongWords.includes(`${at.name()} ${word}`)) return;
		const next = at.commands.find(
			(one) => one.name() === word || one.aliases().includes(word),
		);
		if (!next) return `no command ${word}`;
		above.push(at);
		at = next;
	}
}

function textOf(page: string): string {
	return readFileSync(join(root, page), "utf8");
}
