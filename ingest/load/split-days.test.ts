import { expect, test } from "vitest";
import { maxResultBytes } from "../../packages/contracts/job.ts";
import { encodeResult } from "../job/process.ts";
import { namedTypes } from "./split-days.ts";

const many = (type: (index: number) => string) =>
	new Map(Array.from({ length: 2_000 }, (_, index) => [type(index), 1]));

test.each([
	["letters", (index: number) => `t${index}`.padEnd(60, "x")],
	["characters of 3 bytes", (index: number) => `${index}`.padEnd(60, "種")],
	["characters of 4 bytes", (index: number) => `${index}${"😀".repeat(30)}`],
	["half a pair", (index: number) => `${index}${"\ud83d".repeat(40)}`],
])("types of %s that a sender chooses fit into a Job's result", (_, type) => {
	const eventTypes = namedTypes(many(type), 100);
	expect(eventTypes.length).toBeGreaterThan(3);
	const message = eventTypes.join(", ");
	const text = encodeResult({
		version: 1,
		outcome: "Failed",
		error: { code: "EventTypesFound", message, retryable: true, eventTypes },
	});
	expect(Buffer.byteLength(text)).toBeLessThanOrEqual(maxResultBytes);
});

test("of types those with most events are first, and one of more than 200 bytes has no table", () => {
	const rows = new Map([
		["few", 1],
		["種".repeat(66), 2],
		["種".repeat(67), 3],
		["two\nlines", 4],
		["many", 5],
	]);
	expect(namedTypes(rows, 100)).toEqual(["many", "種".repeat(66), "few"]);
	expect(namedTypes(rows, 1)).toEqual(["many"]);
});
