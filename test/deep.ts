import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { deepParts as parts } from "./lanes/deep-parts.ts";

/*
 * `make test-deep`: what takes hours, in parts that each end within two. A part's result is kept by commit, so that the next call goes on
 * with what has not passed; `PART=chaos` runs one, passed or not. Options of a part are those of its own command: `make chaos SEEDS=1..200`.
 */

interface PartResult {
	passed: boolean;
	seconds: number;
	/** When it ended. */
	time: string;
}

const root = join(import.meta.dirname, "..");
const git = (...args: string[]) =>
	execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();
const isChanged = git("status", "--porcelain") !== "";
const commit = `${git("rev-parse", "--short=12", "HEAD")}${isChanged ? "-changed" : ""}`;
const folder = join(root, ".tidemill/test-deep", commit);

const chosen = process.argv.slice(2);
const unknown = chosen.filter((name) => !Object.hasOwn(parts, name));
if (unknown.length > 0) {
	console.error(
		`There is no part ${unknown.join(" or ")}. There are: ${Object.keys(parts).join(", ")}.`,
	);
	process.exit(2);
}
// Of a tree with changes no result says anything of the next call's.
const todo = chosen.length
	? chosen
	: Object.keys(parts).filter((name) => isChanged || !resultOf(name)?.passed);
mkdirSync(folder, { recursive: true });
for (const name of todo) run(name);

console.log(`\nThe parts at ${commit}:`);
const results = Object.keys(parts).map(
	(name) => [name, resultOf(name)] as const,
);
for (const [name, result] of results)
	console.log(
		`  ${name.padEnd(20)} ${result ? `${result.passed ? "passed" : "FAILED"}  ${result.seconds} s` : "not run"}`,
	);
if (results.some(([name, result]) => todo.includes(name) && !result?.passed))
	process.exitCode = 1;

function run(name: string): void {
	const { command, env } = parts[name]!;
	const [program = "", ...args] = command;
	console.log(`\n${name}: ${command.join(" ")}`);
	const startedMs = performance.now();
	const { status } = spawnSync(program, args, {
		cwd: root,
		stdio: "inherit",
		env: { ...process.env, ...env },
	});
	const result: PartResult = {
		passed: status === 0,
		seconds: Math.round((performance.now() - startedMs) / 1000),
		time: new Date().toISOString(),
	};
	writeFileSync(join(folder, `${name}.json`), JSON.stringify(result));
}

function resultOf(name: string): PartResult | undefined {
	const file = join(folder, `${name}.json`);
	return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;
}
