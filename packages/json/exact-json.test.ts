import { expect, test } from "vitest";
import { parseExact, rawNumberOf } from "./json-reader.ts";

test("numbers stay as they are written, however deep the text is", () => {
	const depth = 50_000;
	for (const [open, close] of [
		["[", "]"],
		['{"a":', "}"],
	] as const) {
		const text = `${open.repeat(depth)}9007199254740993${close.repeat(depth)}`;
		let value = parseExact(text);
		for (let i = 0; i < depth; i++) value = Object.values(value as object)[0];
		expect(rawNumberOf(value)).toBe("9007199254740993");
	}
});

test("what looks like a number in a string or a name stays", () => {
	const text =
		'{"1e5":"9007199254740993","a\\"":"\\\\","__proto__":9007199254740993,"b":[-0.10000000000000000000001,true]}';
	expect(JSON.stringify(parseExact(text))).toBe(text);
	expect(JSON.stringify(parseExact("9007199254740993"))).toBe(
		"9007199254740993",
	);
});

test.each(["1.2.3e4", "[01234567890123456789]", "+1e5", '{"a":1e}', "1e5,"])(
	"%s is no JSON",
	(text) => expect(() => parseExact(text)).toThrow(SyntaxError),
);
