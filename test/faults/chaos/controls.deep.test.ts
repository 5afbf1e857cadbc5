// In make test: test/promises/answered-event-is-kept.laptop.test.ts
import { afterAll, beforeAll, expect, test } from "vitest";
import { codeWith, removeCode } from "../../controls/edit.ts";
import { controls } from "./controls.ts";
import { Violation } from "./scene/violation.ts";
import { runSeed } from "./seed.ts";
import { type Stack, startStack } from "./stack.ts";

/** `make chaos-controls` runs all of them, and `ONLY=quarantine` those with that word in their name. */
const wanted = process.env.CHAOS_CONTROLS ?? "all";
const run = controls.filter(
	({ name }) => wanted === "all" || name.includes(wanted),
);
if (run.length === 0)
	throw new Error(
		`No control has "${wanted}" in its name. There are: ${controls.map(({ name }) => name).join(", ")}`,
	);

let stack: Stack;
beforeAll(async () => {
	stack = await startStack();
});
afterAll(() => stack?.stop());

test.each(run)("turns the suite red: $name", async (control) => {
	const root = await codeWith(control);
	try {
		const { faults } = control;
		const found = await runSeed(stack, 1, { root, faults }).then(
			() => undefined,
			(error) => error,
		);
		console.log(
			`control "${control.name}": ${found ? `red, ${found.message}` : "GREEN"}`,
		);
		expect(found).toBeInstanceOf(Violation);
		expect(control.red).toContain(found.check);
	} finally {
		await removeCode(root);
	}
});
