import { expect, test } from "vitest";
import type { Session } from "../../duckdb/session.ts";
import type { BodyColumn } from "./body-value.ts";
import {
	bodyValuesFunction,
	defineBodyValues,
	formValuesFunction,
} from "./body-values.ts";

const calls = new Map<string, (body: string, columns: string) => string>();
defineBodyValues({
	define(name: string, defined) {
		calls.set(name, defined);
	},
} as Pick<Session, "define"> as Session);

/** What is left of a body beside columns of these types. */
function rest(
	body: unknown,
	columns: Record<string, "Integer" | "String" | "JSON" | "Number">,
	by = bodyValuesFunction,
): string | null {
	const all = [
		...Object.entries(columns).map(([bodyPointer, type]) => ({
			bodyPointer,
			type,
		})),
		{ bodyPointer: "", type: "String", isRest: true },
	] satisfies BodyColumn[];
	const text = typeof body === "string" ? body : JSON.stringify(body);
	const values = JSON.parse(
		calls.get(by)!(text, JSON.stringify(all)),
	) as string[];
	const last = values.at(-1) ?? null;
	if (last !== null) expect(last[0]).toBe("=");
	return last?.slice(1) ?? null;
}

test("nothing is left of what columns hold", () => {
	const columns = {
		"/a": "Integer",
		"/o/b": "String",
		"/list": "JSON",
	} as const;
	expect(rest({ a: 1, o: { b: "x" }, list: [1, {}] }, columns)).toBeNull();
	expect(rest({ a: "12", o: { b: 1.5 } }, columns)).toBeNull();
	expect(rest({}, columns)).toBeNull();
	expect(rest({ a: null, o: { b: null, c: null, d: {} } }, columns)).toBeNull();
	expect(rest({ o: { anything: [1] } }, { "/o": "JSON" })).toBeNull();
});

test("nothing is left of a form's empty fields", () => {
	const form = { a: "", b: "", c: "", d: ["", "x"] };
	const columns = { "/a": "Integer", "/b": "String" } as const;
	expect(rest(form, columns, formValuesFunction)).toBe('{"d":["","x"]}');
	expect(rest(form, columns)).toBe('{"a":"","c":"","d":["","x"]}');
});

test("what is left stands where it stood in the body, as it was written", () => {
	const columns = {
		"/a": "Integer",
		"/o/b": "Integer",
		"/o/p/q": "Integer",
	} as const;
	expect(
		rest(
			`{ "a" : "x", "o": { "b": {"deep": [ ] }, "p": {"q": 1, "r": 1.10}, "s": true }, "more": [ 1 , null ] }`,
			columns,
		),
	).toBe(
		'{"a":"x","o":{"b":{"deep":[]},"p":{"r":1.10},"s":true},"more":[1,null]}',
	);
	expect(rest({ o: "text" }, columns)).toBe('{"o":"text"}');
	expect(rest({ o: [{ b: 1 }] }, columns)).toBe('{"o":[{"b":1}]}');
});

test("a body that is no object is left as a whole, and one that is no JSON isn't", () => {
	for (const body of ["[1,2]", '"text"', "12", "true"])
		expect(rest(body, { "/a": "Integer" })).toBe(body);
	expect(rest("null", { "/a": "Integer" })).toBeNull();
	expect(rest("{no json", { "/a": "Integer" })).toBeNull();
	expect(rest('{"b": 1}', {})).toBe('{"b":1}');
});

test("names may be any, and the last of several members with one name counts", () => {
	expect(
		rest(
			String.raw`{"__proto__": 1, "a\u0000\"b": 2, "c": 1, "c": 3, "\ud83c": 4}`,
			{
				"/a": "Integer",
			},
		),
	).toBe(String.raw`{"__proto__":1,"a\u0000\"b":2,"c":3,"${"\ufffd"}":4}`);
	expect(rest('{"a": "x", "a": 1}', { "/a": "Integer" })).toBeNull();
	expect(rest('{"a": 1, "a": "x"}', { "/a": "Integer" })).toBe('{"a":"x"}');
});

test("it is never longer than the body, however long names are and however deep it is", () => {
	const long = {
		["n".repeat(100_000)]: Object.fromEntries(
			Array.from({ length: 1_000 }, (_, index) => [index, 1]),
		),
	};
	expect(rest(long, { "/a": "Integer" })!.length).toBeLessThanOrEqual(
		JSON.stringify(long).length,
	);
	const deep = `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`;
	expect(rest(deep, { "/a/a/b": "Integer" })).toBe(deep);
});
