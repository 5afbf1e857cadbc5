import { expect, test } from "vitest";
import { createTerminal } from "./terminal.ts";

/** Everything a terminal prints into a file, with a clock that the test moves. */
function recorded(isTTY = false) {
	const printed: string[] = [];
	let nowMs = 0;
	const out = {
		isTTY,
		columns: 120,
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

test("a part that was slow says how long it took, and a fast one nothing", () => {
	const { terminal, printed, pass } = recorded();
	terminal.update("etcd", "starting");
	terminal.update("servers", "building");
	pass(9_900);
	terminal.done("etcd", "ready");
	pass(100);
	terminal.update("servers", "building");
	pass(1_500);
	terminal.done("servers", "found");
	expect(printed).toHaveLength(2);
	expect(printed.at(-1)).toMatch(/✓ servers +found +11\.5 s/);
});

test("in a log an hour of progress is ten lines, on a terminal one", () => {
	const { terminal, printed, pass } = recorded();
	for (let seconds = 0; seconds < 3_600; seconds++) {
		terminal.update("servers", `${seconds} of 3600 packages`);
		pass(1_000);
	}
	expect(printed.map((line) => /(\d+) of/.exec(line)?.[1])).toEqual([
		"10",
		"20",
		"40",
		"80",
		"160",
		"320",
		"640",
		"1280",
		"2560",
	]);
	const drawn = recorded(true);
	for (let seconds = 0; seconds < 100; seconds++)
		drawn.terminal.update("servers", `${seconds} of 3600 packages`);
	drawn.terminal.settle();
	expect(drawn.printed).toHaveLength(1);
});
