import { expect, test } from "vitest";
import { logSizes } from "../../../packages/contracts/job.ts";
import { logText } from "./results.ts";

const size = Math.max(...logSizes);

test("a log is what stands before the spaces at its end", () => {
	expect(logText(`one\n  two\n${" ".repeat(size)}`)).toBe("one\n  two\n");
	expect(logText(" ".repeat(size))).toBe("");
	expect(logText("")).toBe("");
});

test("spaces before the last character stay, and cost one step", () => {
	const text = `${" ".repeat(size - 1)}x`;
	let steps = 0;
	const counted = {
		length: text.length,
		charCodeAt: (at: number) => {
			steps++;
			return text.charCodeAt(at);
		},
		slice: (start: number, end: number) => text.slice(start, end),
	} as unknown as string;
	expect(logText(counted)).toBe(text);
	expect(steps).toBe(1);
});
