// In make test: test/controls/controls.test.ts

import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { controls } from "./controls.ts";
import { type Control, codeWith, removeCode } from "./edit.ts";

/** Of `make controls ONLY=…`: words of the names of those that are tried. */
const { CONTROLS_ONLY: wanted = "" } = process.env;
const chosen = controls.filter(({ name }) => name.includes(wanted));
if (chosen.length === 0)
	throw new Error(
		`No control has "${wanted}" in its name. There are: ${controls.map(({ name }) => name).join(", ")}`,
	);

/** Longer than any of the named files takes, with servers to start. */
const tooLongMs = 15 * 60_000;

test.each(chosen.map((control) => [control.name, control] as const))(
	"a test turns red: %s",
	async (_, control) => {
		const root = await codeWith(control);
		try {
			const { failed, output } = await run(root, control);
			console.log(
				`control "${control.name}": ${failed[0] ? `red, ${failed[0]}` : `GREEN\n${output}`}`,
			);
			expect(failed).not.toEqual([]);
		} finally {
			await removeCode(root);
		}
	},
);

/** Full names of the tests that failed in the copy. A file that can't be loaded has none, and proves nothing. */
async function run(
	root: string,
	{ seenBy: { file, test } }: Control,
): Promise<{ failed: string[]; output: string }> {
	const report = join(root, "report.json");
	const args = [
		...["node_modules/vitest/vitest.mjs", "run", file],
		...(test ? ["--testNamePattern", RegExp.escape(test)] : []),
		// A test that waits for what the broken code never does.
		"--testTimeout=120000",
	];
	const output = await new Promise<string>((resolve) => {
		const options = {
			cwd: root,
			env: { ...environment(), TEST_REPORT: report },
			maxBuffer: Infinity,
			timeout: tooLongMs,
		};
		execFile(process.execPath, args, options, (_, stdout, stderr) =>
			resolve(stdout + stderr),
		);
	});
	const text = await readFile(report, "utf8").catch(() => undefined);
	const { testResults }: Report = text ? JSON.parse(text) : { testResults: [] };
	const failed = testResults
		.flatMap(({ assertionResults }) => assertionResults)
		.filter(({ status }) => status === "failed")
		.map(({ fullName }) => fullName);
	return { failed, output };
}

/** As a person's shell: not this run's program, which isn't of the broken code. */
function environment(): NodeJS.ProcessEnv {
	return Object.fromEntries(
		Object.entries(process.env).filter(
			([name]) =>
				!/^(TEST_|VITEST|TIDEMILL_COMMAND$|NODE_COMPILE_CACHE$|NODE_ENV$)/.test(
					name,
				),
		),
	);
}

/** Of vitest's reporter `json`. */
interface Report {
	testResults: {
		assertionResults: { status: string; fullName: string }[];
	}[];
}
