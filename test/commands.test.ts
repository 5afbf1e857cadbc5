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
