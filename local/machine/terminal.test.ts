import { expect, test } from "vitest";
import { createTerminal } from "./terminal.ts";

/** Everything a terminal prints into a file, with a clock that the test moves. */
function recorded() {
	const printed: string[] = [];
	let nowMs = 0;
	const out = {
		isTTY: false,
		on: () => out,
		write: (text: string) => printed.push(text.trimEnd()),
	} as unknown as NodeJS.WriteStream;
	return {
		terminal: createTerminal(out, () => nowMs),
		printed,
		pass: (ms: number) => {
			nowMs += ms;
		},
	};
}

test("a finished part shows how long it took", () => {
	const { terminal, printed, pass } = recorded();
	terminal.update("etcd", "starting");
	pass(1500);
	terminal.done("etcd", "ready");
	expect(printed.at(-1)).toMatch(/✓ etcd +ready +1\.5 s/);
});

test("progress in numbers is printed now and then, a new kind of progress at once", () => {
	const { terminal, printed, pass } = recorded();
	for (let count = 1; count <= 100; count++) {
		terminal.update("etcd", `compiling ${count} of 245 packages`);
		pass(250);
	}
	terminal.update("etcd", "linking");
	expect(printed.map((line) => /[a-z]{5,}( \d+)?/.exec(line)?.[0])).toEqual([
		"compiling 1",
		"compiling 41",
		"compiling 81",
		"linking",
	]);
});
