import { expect, test } from "vitest";
import { Fuel, OutOfFuel } from "./metered/fuel.ts";
import { countMembers, repeatedMembers } from "./repeated-members.ts";

test.each([
	['{"a":1,"a":2}', ["/a"]],
	['{"a":1,"a":2,"a":3}', ["/a"]],
	['{"a":1,"\\u0061" : 2}', ["/a"]],
	['{"":1,"":2}', ["/"]],
	['{"a/b":{"~":[{}, {"x":1,"x":1}]}}', ["/a~1b/~0/1/x"]],
	['[[1,2],{"a":1,"b":{"a":1,"a":1},"b":1}]', ["/1/b/a", "/1/b"]],
	['{"__proto__":1,"__proto__":2}', ["/__proto__"]],
	['{"a":{"a":1},"b":{"a":1}}', []],
	['{"a":"\\"a\\":1,\\"a\\":2","b":"{\\"a\\":"}', []],
	['["a","a"]', []],
	['"a"', []],
])("%s has %j twice", (text, expected) => {
	expect(repeatedMembers(text, new Fuel())).toEqual(expected);
	JSON.parse(text);
});

test.each([
	['{"a":1,"b" \t\n:2}', 2],
	['{"a":{"b":[{"c":1}]}}', 3],
	["[1]", 0],
	["1", 0],
])("%s has %i members", (text, count) => {
	expect(countMembers(text)).toBe(count);
});

test("members that stand twice below a long name burn fuel", () => {
	const members = Array.from({ length: 100 }, (_, i) => `"${i}":1,"${i}":1`);
	const text = `{"${"x".repeat(400_000)}":{${members.join()}}}`;
	expect(() => repeatedMembers(text, new Fuel(1_000_000))).toThrow(OutOfFuel);
});
