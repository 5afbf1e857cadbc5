import { expect, test } from "vitest";
import { isOn } from "./switches.ts";

test.each([
	["1", true],
	["true", true],
	["yes", true],
	["on", true],
	["ON", true],
	["0", false],
	["false", false],
	["no", false],
	["off", false],
	["", false],
	[undefined, false],
])("POSTGRES=%s is %s", (text, expected) => {
	expect(isOn({ POSTGRES: text }, "POSTGRES")).toBe(expected);
});

test("a word that is neither yes nor no is refused, and what nobody said is the default", () => {
	expect(() => isOn({ POSTGRES: "18" }, "POSTGRES")).toThrow(
		'POSTGRES is "18". It must be 1, true, yes or on; or 0, false, no or off.',
	);
	expect(isOn({}, "TIDEMILL_DOWNLOADS", true)).toBe(true);
});
