import { expect, test } from "vitest";
import { newContext } from "../../packages/service/trace-context.ts";
import { frameTrace, maxFrameTraces, readFrameTraces } from "./frame.ts";

test("a frame's header leads each event's place to its span", () => {
	const [first, second] = [newContext(undefined), newContext(undefined)];
	expect(
		readFrameTraces([frameTrace(0, first), frameTrace(2_000, second)]),
	).toEqual(
		new Map([
			[0, first],
			[2_000, second],
		]),
	);
});

test("what isn't a span in a frame's header is left out, and what is too much", () => {
	const span = newContext(undefined);
	expect(readFrameTraces(["", "x", "1", "-1 00", `1e3 ${span}`])).toEqual(
		new Map(),
	);
	const many = Array.from({ length: 1_000 }, (_, index) =>
		frameTrace(index, span),
	);
	expect(readFrameTraces(many).size).toBe(maxFrameTraces);
});
