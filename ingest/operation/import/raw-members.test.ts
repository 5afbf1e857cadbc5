import { expect, test } from "vitest";
import { rawMembers } from "./ndjson-rows.ts";

test("each value of an object stands as it was written", () => {
	const text = ` { "a" : 12345678901234567890 , "b":"x,\\"}\\\\" ,"c": [1, {"d": "]"} ],
		"\\u0065":{ "f" : 1.0 } ,"g":null}`;
	JSON.parse(text);
	expect([...rawMembers(text)!]).toEqual([
		["a", "12345678901234567890"],
		["b", '"x,\\"}\\\\"'],
		["c", '[1, {"d": "]"} ]'],
		["e", '{ "f" : 1.0 }'],
		["g", "null"],
	]);
});

test.each(["{}", " { } "])("%j has no members", (text) => {
	expect(rawMembers(text)?.size).toBe(0);
});

test.each(["[1]", "1", '"{}"', "null"])("%s is no object", (text) => {
	expect(rawMembers(text)).toBeUndefined();
});

test("of a repeated name the last counts, as for JSON.parse", () => {
	expect(rawMembers('{"a":1,"a":2}')?.get("a")).toBe("2");
});
