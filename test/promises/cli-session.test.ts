import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
	consoleExamples,
	isShown,
} from "../support/examples/console-examples.ts";
import { openLocalMode } from "../support/servers/local-mode.ts";

const page = readFileSync(
	join(import.meta.dirname, "../../docs/cli.md"),
	"utf8",
);

test("the session of docs/cli.md prints what the page shows", async () => {
	const examples = consoleExamples(page);
	expect(examples.length).toBeGreaterThan(10);
	const local = await openLocalMode("cli");
	// One shell for all, as a person has; what each command prints, errors too, ends with a NUL.
	const script = examples.map(({ command }) => `${command}\nprintf '\\0'`);
	const session = ["exec 2>&1", ...script].join("\n");
	const printed = (await local.run("bash", "-euc", session)).split("\0");
	examples.forEach(({ command, shown }, index) => {
		const text = printed[index]!;
		if (!isShown(text, shown)) expect(text, command).toBe(shown);
	});
});
