import { expect, test } from "vitest";
import { containerEnv, expandVariables } from "./plan.ts";

test.each([
	["$(A) and $(B)", "1 and $(B)"],
	["$$(A)", "$(A)"],
	["$$$(A)", "$1"],
	["$A $( $()", "$A $( $()"],
	["$(toString)", "$(toString)"],
])("%j expands to %j, as kubelet does it", (text, expected) => {
	expect(expandVariables(text, { A: "1" })).toBe(expected);
});

test("a value uses the variables before it, not those after it", () => {
	const env = [
		{ name: "FIRST", value: "$(SECOND)" },
		{ name: "SECOND", value: "2" },
		{ name: "THIRD", value: "$(SECOND)!" },
		{ name: "EMPTY" },
	];
	expect(containerEnv(env)).toEqual({
		FIRST: "$(SECOND)",
		SECOND: "2",
		THIRD: "2!",
		EMPTY: "",
	});
	expect(containerEnv(undefined)).toEqual({});
});
