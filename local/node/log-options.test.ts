import { expect, test } from "vitest";
import { parseLogOptions } from "./log-server.ts";

const now = Date.parse("2026-01-01T00:01:00Z");
const parse = (query: string) =>
	parseLogOptions(new URLSearchParams(query), now);

test("an empty query asks for the whole log, without following", () => {
	expect(parse("")).toEqual({
		follow: false,
		timestamps: false,
		previous: false,
	});
});

test("every option is read", () => {
	expect(
		parse(
			"follow=true&timestamps=true&previous=1&tailLines=0&limitBytes=5&sinceSeconds=60",
		),
	).toEqual({
		follow: true,
		timestamps: true,
		previous: true,
		tailLines: 0,
		limitBytes: 5,
		sinceMs: Date.parse("2026-01-01T00:00:00Z"),
	});
	expect(parse("sinceTime=2026-01-01T00:00:30Z").sinceMs).toBe(now - 30_000);
});

test.each([
	["tailLines=-1", "tailLines"],
	["limitBytes=0", "limitBytes"],
	["sinceSeconds=x", "sinceSeconds"],
	["sinceTime=yesterday", "sinceTime"],
	["sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z", "not both"],
])("%s is refused, and the error names the parameter", (query, words) => {
	expect(() => parse(query)).toThrow(words);
});
