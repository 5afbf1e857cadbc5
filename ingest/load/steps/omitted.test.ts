import { expect, test } from "vitest";
import { withoutProperties } from "./omitted.ts";

test.each<[string, string, string[], string]>([
	["the only member", '{"a":1}', ["/a"], "{}"],
	["the first member", '{ "a":1, "b":2}', ["/a"], '{ "b":2}'],
	["a member between others", '{"a":1, "b":2 ,"c":3}', ["/b"], '{"a":1,"c":3}'],
	["the last members", '{"a":1,"b":2,"c":3 }', ["/b", "/c"], '{"a":1}'],
	["all members", '{"a":1,"b":{"c":2}}', ["/b", "/a"], "{}"],
	["a member of a member", '{"a":{"b":[1],"c":2}}', ["/a/b"], '{"a":{"c":2}}'],
	[
		"members of elements",
		'[{"a":1},{"a":2,"b":3},{"a":4}]',
		["/0/a", "/1/a"],
		'[{},{"b":3},{"a":4}]',
	],
	["a member with members", '{"a":{"b":"}"},"c":"{,"}', ["/a"], '{"c":"{,"}'],
	[
		"a member and one of its own",
		'{"a":{"b":1},"c":2}',
		["/a", "/a/b"],
		'{"c":2}',
	],
	["all members of one name", '{"a":1,"b":2,"a":3}', ["/a"], '{"b":2}'],
	["a name with escapes", '{"\\u0061\\"":1,"b":2}', ['/a"'], '{"b":2}'],
	["a name that is a path", '{"a/b~":1,"b":2}', ["/a~1b~0"], '{"b":2}'],
	["a number as a name", '{"0":1,"1":[1]}', ["/0"], '{"1":[1]}'],
	["a name of every object", '{"__proto__":1}', ["/__proto__"], "{}"],
	["an empty name", '{"":{"":1}}', ["//"], '{"":{}}'],
])("%s goes, and the rest stays as it is", (_, json, pointers, expected) => {
	expect(withoutProperties(json, pointers)).toBe(expected);
});

test.each<[string, string, string]>([
	["nothing", '{"a": {"b" :1.0e5}}', "/b"],
	["what isn't there", '{"a":[]}', "/a/b"],
	["the whole body", '{"a":1}', ""],
	["an element", "[1,2]", "/0"],
	["a member of a string", '{"a":"{\\"b\\":1}"}', "/a/b"],
	["a property of every object", '{"a":1}', "/toString"],
])("a pointer to %s changes nothing", (_, json, pointer) => {
	expect(withoutProperties(json, [pointer])).toBe(json);
});

test("a body may be as deep as a sender likes", () => {
	const depth = 100_000;
	const pointer = "/a".repeat(depth);
	const json = `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
	expect(withoutProperties(json, [pointer])).toBe(
		`${'{"a":'.repeat(depth - 1)}{}${"}".repeat(depth - 1)}`,
	);
});

/** A body of a seed, with the pointers to some of its properties. */
function sample(seed: number) {
	let state = seed;
	const random = (below: number) => {
		state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
		return Math.floor((state / 2 ** 31) * below);
	};
	const pointers: string[] = [];
	const value = (
		path: string,
		depth: number,
	): [with_: unknown, out: unknown] => {
		const kind = depth > 3 ? 0 : random(3);
		if (kind === 0) {
			const leaf = [1, "}", null, 'a","b', [], {}][random(6)];
			return [leaf, leaf];
		}
		const size = random(4);
		if (kind === 1) {
			const all = Array.from({ length: size }, (_, n) =>
				value(`${path}/${n}`, depth + 1),
			);
			return [all.map(([one]) => one), all.map(([, other]) => other)];
		}
		const whole: Record<string, unknown> = {};
		const rest: Record<string, unknown> = {};
		for (let n = 0; n < size; n++) {
			const [one, other] = value(`${path}/k${n}`, depth + 1);
			whole[`k${n}`] = one;
			if (random(3) === 0) pointers.push(`${path}/k${n}`);
			else rest[`k${n}`] = other;
		}
		return [whole, rest];
	};
	const [whole, rest] = value("", 0);
	return { whole, rest, pointers };
}

test("what is left is what an object without these properties is", () => {
	let cut = 0;
	for (let seed = 1; seed <= 2_000; seed++) {
		const { whole, rest, pointers } = sample(seed);
		if (pointers.length > 0) cut++;
		for (const indent of [undefined, 1]) {
			const json = JSON.stringify(whole, null, indent);
			const left = withoutProperties(json, pointers);
			expect(JSON.parse(left), `seed ${seed}`).toEqual(rest);
		}
	}
	expect(cut).toBeGreaterThan(500);
});
