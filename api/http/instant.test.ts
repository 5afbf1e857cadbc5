import { expect, test } from "vitest";
import { instantOf } from "./query.ts";

test.each([
	["from", "2026-03-01", "2026-03-01T00:00:00.000Z"],
	["to", "2026-03-01", "2026-03-01T23:59:59.999Z"],
	["from", "2026-03-01T12:00:00+02:00", "2026-03-01T10:00:00.000Z"],
] as const)("%s=%s is %s", (name, text, instant) => {
	expect(instantOf(name, text)).toBe(instant);
});

test.each(["2026-03-01T12:00:00", "2026-13-01", "yesterday", ""])(
	"%j is no instant",
	(text) => {
		expect(() => instantOf("from", text)).toThrow("from");
	},
);
