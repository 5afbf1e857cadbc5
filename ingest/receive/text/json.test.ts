import { expect, test } from "vitest";
import { isJSON, JSONScanner } from "./json.ts";

function parses(text: string): boolean {
	try {
		JSON.parse(text);
		return true;
	} catch {
		return false;
	}
}

test("a text with any byte changed, removed or inserted is JSON exactly if JSON.parse accepts it", () => {
	const text =
		' {"a":[1,-0.5e+10,2E-3,"\\"\\u00aF\\n"],"":{},"b":[[],true,false,null]}\n';
	const wrong: string[] = [];
	const valid = new Set<string>();
	for (let at = 0; at <= text.length; at++)
		for (let code = 0; code < 128; code++)
			for (const removed of [0, 1]) {
				const other =
					text.slice(0, at) +
					String.fromCharCode(code) +
					text.slice(at + removed);
				const is = isJSON(Buffer.from(other));
				if (is !== parses(other)) wrong.push(other);
				if (is) valid.add(other);
			}
	for (let at = 0; at < text.length; at++) {
		const cut = text.slice(0, at);
		if (isJSON(Buffer.from(cut)) !== parses(cut)) wrong.push(cut);
	}
	expect(wrong).toEqual([]);
	expect(valid.size).toBeGreaterThan(1_000);
});

test("brackets must match at any depth", () => {
	const deep = (close: string) =>
		'{"a":['.repeat(700) + close + "]}".repeat(699);
	expect(isJSON(Buffer.from(deep("]}")))).toBe(true);
	for (const close of ["}]", "]", "]}]", ""])
		expect(isJSON(Buffer.from(deep(close)))).toBe(false);
});

test("bytes beyond ASCII are valid in strings and nowhere else", () => {
	expect(isJSON(Buffer.from('"ü\u{1F600}\ufeff"'))).toBe(true);
	for (const text of ["ü", "[1ü]", "\ufeff{}", "\u00a0{}", '{"a"ü:1}'])
		expect(isJSON(Buffer.from(text))).toBe(false);
});

test("a text is validated the same in pieces of any size", () => {
	const texts = [
		' {"a":[1,-0.5e+10,2E-3,"\\"\\u00aF\\n"],"":{},"b":[[],true,false,null]}\n',
		'{"a" 1}',
		'["\\u00g0"]',
		"-",
		"[nul]",
	];
	for (const text of texts)
		for (let size = 1; size < 12; size++) {
			const scanner = new JSONScanner();
			let is = true;
			for (let at = 0; is && at < text.length; at += size)
				is = scanner.read(Buffer.from(text.slice(at, at + size)));
			expect(is && scanner.isWhole).toBe(parses(text));
		}
});

test("a million open brackets take a bit each", () => {
	const before = process.memoryUsage().arrayBuffers;
	const scanner = new JSONScanner();
	const brackets = Buffer.from("[".repeat(1_000));
	for (let n = 0; n < 1_000; n++) expect(scanner.read(brackets)).toBe(true);
	expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(600_000);
	const closing = Buffer.from("]".repeat(1_000));
	for (let n = 0; n < 1_000; n++) {
		expect(scanner.isWhole).toBe(false);
		expect(scanner.read(closing)).toBe(true);
	}
	expect(scanner.isWhole).toBe(true);
	expect(scanner.read(closing)).toBe(false);
});

test("each byte of a string counts, wherever it stands", () => {
	const wrong: string[] = [];
	for (let length = 1; length <= 40; length++)
		for (let at = 0; at < length; at++)
			for (const byte of ["\u001f", '"', "\\", "ü", "\u007f", " "]) {
				const string = "a".repeat(at) + byte + "a".repeat(length - at - 1);
				for (const text of [`"${string}"`, `{"${string}":1}`])
					if (isJSON(Buffer.from(text)) !== parses(text)) wrong.push(text);
			}
	expect(wrong).toEqual([]);
});

test("a string that ends right before, at or after the end of a piece is read on", () => {
	for (let length = 16_384 - 20; length <= 16_384 + 20; length++) {
		const string = `"${"a".repeat(length)}"`;
		expect(isJSON(Buffer.from(string))).toBe(true);
		expect(isJSON(Buffer.from(`${string}"`))).toBe(false);
		expect(isJSON(Buffer.from(string.slice(0, -1)))).toBe(false);
	}
});

test("brackets of both kinds match at a depth that no piece holds", () => {
	const depth = 40_000;
	const isObject = (level: number) => level % 3 === 0 || level % 7 === 0;
	const levels = Array.from({ length: depth }, (_, level) => isObject(level));
	const opening = levels.map((is) => (is ? '{"a":' : "[")).join("");
	const closing = (wrongAt?: number) =>
		levels
			.map((is, level) => (is !== (level === wrongAt) ? "}" : "]"))
			.reverse()
			.join("");
	expect(isJSON(Buffer.from(`${opening}0${closing()}`))).toBe(true);
	for (const level of [0, 1, 8, 15_000, 16_384, 23_616, 39_999])
		expect(isJSON(Buffer.from(`${opening}0${closing(level)}`))).toBe(false);
});

test("texts that are read in turn don't mix", () => {
	const pieces = [
		['{"a":{"b":', "1,", '"c":2}', "}"],
		["[[", "1,", "2]", "]"],
	];
	const scanners = pieces.map(() => new JSONScanner());
	for (let at = 0; at < 4; at++)
		for (const [index, scanner] of scanners.entries())
			expect(scanner.read(Buffer.from(pieces[index]![at]!))).toBe(true);
	expect(scanners.map(({ isWhole }) => isWhole)).toEqual([true, true]);
});
