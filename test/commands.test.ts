import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { expect, test } from "vitest";
import { createProgram, loadGroup } from "../cli/bin/program.ts";
import { consoleExamples } from "./support/examples/console-examples.ts";

/*
 * Each command of the command tree has a test that carries it out. Each endpoint of the REST API has one by
 * test/control-plane/api-contract.all.test.ts, which goes through all of them.
 */

const root = join(import.meta.dirname, "..");
const tests = [
	"cli/**/*.test.ts",
	"packages/warehouses/duckdb/load/sql*.test.ts",
	"packages/warehouses/load/query*.test.ts",
	"test/{chart,control-plane,data-plane,faults,local-mode,promises}/**/*.ts",
	"test/support/{cli,servers}/*.ts",
];
const exercised = [
	...tests
		.flatMap((pattern) => globSync(pattern, { cwd: root }))
		.map((file) => readFileSync(join(root, file), "utf8")),
	...["README.md", "docs/cli.md", "docs/tutorial.md"].flatMap((page) =>
		consoleExamples(readFileSync(join(root, page), "utf8")).map(
			({ command }) => command,
		),
	),
].join("\n");

test("each command of the command line is carried out by a test", async () => {
	const commands = await leavesOf(createProgram() as CommandUnknownOpts, []);
	expect(commands.length).toBeGreaterThan(40);
	const untested = commands.filter((words) => !isExercised(words));
	expect(untested.map((words) => words.join(" "))).toEqual([]);
});

test("each command that a message names is one of the program", async () => {
	const program = createProgram() as CommandUnknownOpts;
	const groups = new Map<string, string[]>();
	for (const group of program.commands) {
		await loadGroup(group as never);
		const verbs = group.commands.flatMap(namesOf);
		for (const name of namesOf(group)) groups.set(name, verbs);
	}
	const kinds = ["sources", "destinations", "pipelines", "tracking-plans"];
	const verbsOfKinds = kinds
		.map((kind) => groups.get(kind)!)
		.reduce((all, verbs) => all.filter((verb) => verbs.includes(verb)));
	let found = 0;
	for (const file of globSync(product, { cwd: root })) {
		if (file.endsWith(".test.ts")) continue;
		const text = readFileSync(join(root, file), "utf8").replace(comment, "");
		for (const [command, group = "", verb] of text.matchAll(commandInText)) {
			found++;
			const isFilledIn = group.startsWith("$");
			const verbs = isFilledIn ? verbsOfKinds : groups.get(group);
			expect(verbs, `${file}: ${command}`).toBeDefined();
			if (verb && verbs!.length > 0)
				expect(verbs, `${file}: ${command}`).toContain(verb);
		}
	}
	expect(found).toBeGreaterThan(60);
});

const comment = /\/\*.*?\*\/|^\s*\/\/.*?$/gms;
const product = "{api,cli,console,crds,ingest,operator,packages}/**/*.{ts,tsx}";
/** After what begins a text or names a command in one: `Cancel it with: tidemill runs cancel`. A kind's group may be filled in. */
const commandInText =
	/(?<=["`(]|: |\b[Rr]un |\bwith )tidemill (\$\{(?!group)[^}]*\}(?= )|[a-z][a-z-]*)(?: ([a-z][a-z-]*)(?![\w.:/]))?/g;

function namesOf(command: CommandUnknownOpts): string[] {
	return [command.name(), ...command.aliases()];
}

/** `"sources", "list"` in a test, or `sources list` on a command line. */
function isExercised(words: string[]): boolean {
	const listed = words.map((word) => `"${word}"`).join(",\\s*");
	const typed = `tidemill ${words.join(" ")}\\b`;
	return new RegExp(`${listed}|${typed}`).test(exercised);
}

async function leavesOf(
	command: CommandUnknownOpts,
	path: string[],
): Promise<string[][]> {
	if (path.length === 1) await loadGroup(command as never);
	if (command.commands.length === 0) return [path];
	const leaves = command.commands.map((one) =>
		leavesOf(one, [...path, one.name()]),
	);
	return (await Promise.all(leaves)).flat();
}
