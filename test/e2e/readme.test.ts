import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { consoleExamples, shownPattern } from "../console-examples.ts";
import { startLocalMode } from "../local-mode.ts";

const readme = readFileSync(
	join(import.meta.dirname, "../../README.md"),
	"utf8",
);

test("the README's commands print what the README shows", async () => {
	// The first one loads the environment of the folder that make up uses unless it is told another.
	const [environment, ...examples] = consoleExamples(readme);
	expect(environment?.command).toBe("source .tidemill/env");
	expect(examples.length).toBeGreaterThan(10);

	const local = await startLocalMode();
	try {
		// One shell for all, as a person has; what each command prints ends with a NUL.
		const script = examples.map(({ command }) => `${command}\nprintf '\\0'`);
		const printed = (await local.run("bash", "-euc", script.join("\n"))).split(
			"\0",
		);
		examples.forEach(({ command, shown }, index) => {
			expect(printed[index], command).toMatch(shownPattern(shown));
		});
	} finally {
		await local.stop();
	}
});
