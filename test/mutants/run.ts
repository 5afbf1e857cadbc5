import { spawnSync } from "node:child_process";
import {
	existsSync,
	globSync,
	mkdirSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Equivalent, equivalents } from "./equivalent.ts";
import { decisions } from "./files.ts";
import { readSurvivors, type Survivor } from "./report.ts";
import { wellTyped } from "./type-check.ts";

/*
 * `make mutants`: Stryker (https://stryker-mutator.io) changes the decisions, one expression at a time, and runs the unit
 * tests that reach it. A mutant that no test and no type notices fails the run, unless equivalent.ts explains it.
 * Arguments choose other files.
 */
const here = import.meta.dirname;
const root = join(here, "../..");
const output = join(root, ".tidemill/mutants");
const report = join(output, "report.json");

const chosen = process.argv.slice(2);
const files = filesOf(chosen.length ? chosen : decisions);
install();
mutate(files);
const survivors = await wellTyped(root, readSurvivors(report));
const unexplained = survivors.filter((survivor) => !explanation(survivor));
for (const survivor of unexplained) console.log(describe(survivor));
const stale = equivalents.filter(
	(equivalent) =>
		files.includes(equivalent.file) &&
		!survivors.some((survivor) => isSame(survivor, equivalent)),
);
for (const { file, original, replacement } of stale)
	console.log(
		`${file}: equivalent.ts explains a mutant that is caught: ${original} → ${replacement}`,
	);
console.log(
	`${unexplained.length} unexplained, ${survivors.length - unexplained.length} explained, ${stale.length} explained without need; Stryker's report is ${report}`,
);
if (unexplained.length || stale.length) process.exitCode = 1;

function filesOf(patterns: string[]): string[] {
	return patterns.flatMap((pattern) => {
		const found = globSync(pattern, { cwd: root });
		const sources = found.filter((file) => !file.endsWith(".test.ts"));
		if (sources.length === 0) throw new Error(`No file matches ${pattern}.`);
		return sources.sort();
	});
}

function install(): void {
	if (existsSync(join(here, "node_modules/.package-lock.json"))) return;
	// Without its own vitest, the runner uses the project's.
	const quiet = ["--legacy-peer-deps", "--no-progress", "--loglevel=error"];
	run("npm", ["install", "--no-save", ...quiet], here);
}

function mutate(files: string[]): void {
	mkdirSync(output, { recursive: true });
	rmSync(report, { force: true });
	const config = join(output, "stryker.config.json");
	writeFileSync(
		config,
		JSON.stringify({
			mutate: files,
			testRunner: "vitest",
			vitest: { configFile: "test/mutants/vitest.config.ts" },
			coverageAnalysis: "perTest",
			// Reasons and messages are for people; a type catches a changed reason.
			mutator: { excludedMutations: ["StringLiteral"] },
			// A constant is read while its module loads, so each of its mutants would need every test.
			ignoreStatic: true,
			concurrency: 2,
			timeoutMS: 3_000,
			// Of all unit tests on a busy machine; five are Stryker's default.
			dryRunTimeoutMinutes: 30,
			reporters: ["json", "progress-append-only"],
			jsonReporter: { fileName: report },
			// A sandbox outside .tidemill, which the tests' file patterns leave out.
			tempDirName: join(tmpdir(), `tidemill-stryker-${process.pid}`),
			ignorePatterns: ["local/modules", "test/mutants/node_modules"],
			// TypeScript 7 has no JavaScript API for Stryker to read a tsconfig with, and types are stripped anyway.
			tsconfigFile: "none.json",
			disableTypeChecks: false,
		}),
	);
	const stryker = join(
		here,
		"node_modules/@stryker-mutator/core/bin/stryker.js",
	);
	run(process.execPath, [stryker, "run", config], root);
}

function run(command: string, args: string[], cwd: string): void {
	const { status, error } = spawnSync(command, args, { cwd, stdio: "inherit" });
	if (error) throw error;
	if (status !== 0) throw new Error(`${command} ended with ${status}.`);
}

function explanation(survivor: Survivor): Equivalent | undefined {
	return equivalents.find((equivalent) => isSame(survivor, equivalent));
}

function isSame(survivor: Survivor, equivalent: Equivalent): boolean {
	return (
		survivor.file === equivalent.file &&
		oneLine(survivor.original) === oneLine(equivalent.original) &&
		oneLine(survivor.replacement) === oneLine(equivalent.replacement)
	);
}

function describe({ file, line, original, replacement }: Survivor): string {
	return `${file}:${line}: ${oneLine(original)} → ${oneLine(replacement)}`;
}

function oneLine(text: string): string {
	return text.replaceAll(/\s+/g, " ");
}
