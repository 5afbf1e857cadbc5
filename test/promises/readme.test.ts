import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
	consoleExamples,
	isShown,
} from "../support/examples/console-examples.ts";
import { openLocalMode } from "../support/servers/local-mode.ts";

/** In the order in which a new user reads them. */
const pages = ["README.md", "docs/tutorial.md"].map((page) =>
	readFileSync(join(import.meta.dirname, "../..", page), "utf8"),
);

test("the commands of the README and of the first hour print what those pages show", async () => {
	// The first one loads the environment of the folder that make up uses unless it is told another.
	const [environment, ...examples] = pages.flatMap(consoleExamples);
	expect(environment?.command).toBe("source .tidemill/env");
	expect(examples.length).toBeGreaterThan(30);

	// Where a person begins, and no other test does.
	const local = await openLocalMode("default");
	// One shell for all, as a person has; what each command prints ends with a NUL.
	const script = examples.map(
		({ command }) => `${untilSaid(command)}\nprintf '\\0'`,
	);
	const printed = (await local.run("bash", "-euc", script.join("\n"))).split(
		"\0",
	);
	examples.forEach(({ command, shown }, index) => {
		const text = printed[index]!;
		if (!isShown(text, shown)) expect(text, command).toBe(shown);
	});
});

/** The same, once the Pipeline says how its Run ended: it does so a moment after the Run, sooner than a person types. */
function untilSaid(command: string): string {
	if (!/^kubectl get .*pipelines/.test(command)) return command;
	const said = "jsonpath='{.status.lastRun.phase}'=Succeeded";
	return `kubectl wait pipelines --all --for=${said} --timeout=120s >&2\n${command}`;
}
