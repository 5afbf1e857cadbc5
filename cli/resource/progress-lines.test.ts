import { expect, test } from "vitest";
import { ProgressLines } from "./follower.ts";

test("in a pipe each change is a line of JSON with its time, and a repeat is none", () => {
	const { lines, written } = on({ isTTY: false });
	lines.say({ operation: "o" }, "Operation o");
	lines.update({ run: "r", phase: "Pending" }, () => "Pending");
	lines.update({ run: "r", phase: "Pending" }, () => "Pending");
	lines.update({ run: "r", phase: "Running", rowsDone: 1 }, () => "[█░]");
	lines.note({ run: "r", phase: "Succeeded", rows: 2 });
	lines.clear();
	const shown = written().trimEnd().split("\n");
	const time = expect.stringMatching(/^\d{4}-.*Z$/);
	expect(shown.map((line) => JSON.parse(line))).toEqual([
		{ time, operation: "o" },
		{ time, run: "r", phase: "Pending" },
		{ time, run: "r", phase: "Running", rowsDone: 1 },
		{ time, run: "r", phase: "Succeeded", rows: 2 },
	]);
});

test("on a terminal a line is updated in place within its width, and what is for programs isn't shown", () => {
	const { lines, written } = on({ isTTY: true, columns: 20 });
	lines.update({ run: "r" }, (columns) => `${columns} columns`);
	lines.note({ run: "r", phase: "Succeeded" });
	lines.clear();
	lines.say({ operation: "o" }, "waits");
	lines.say({ operation: "o" }, "waits");
	lines.say({ operation: "o" }, "loads");
	expect(written()).toBe("\r\x1b[K19 columns\r\x1b[Kwaits\nloads\n");
});

test("on a terminal what a run waits for stands in its line, and writes nothing else", () => {
	const { lines, written } = on({ isTTY: true });
	lines.update({ run: "r" }, () => "Pending: \u001b[2J\u202ea\nb");
	lines.say({ operation: "o" }, "\u009b2Ja");
	expect(written()).toBe("\r\x1b[KPending:  [2J a b\\u009b2Ja\n");
});

function on(terminal: { isTTY: boolean; columns?: number }) {
	let text = "";
	const write = (part: string) => {
		text += part;
		return true;
	};
	const lines = new ProgressLines({ ...terminal, write } as never);
	return { lines, written: () => text };
}
