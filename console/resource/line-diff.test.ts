import { expect, test } from "vitest";
import { lineDiff } from "./line-diff.ts";

const shown = (before: string, after: string) =>
	lineDiff(before, after).map(({ sign, text }) => `${sign}${text}`);

test("equal texts have no difference", () => {
	expect(shown("a\nb", "a\nb")).toEqual([]);
});

test("a difference stands among the lines around it, and what is left out between two is said", () => {
	const lines = [..."abcdefghijklm"];
	const after = lines.with(2, "C").toSpliced(10, 1, "k", "new");
	expect(shown(lines.join("\n"), after.join("\n"))).toEqual([
		...[" a", " b", "-c", "+C", " d", " e", "…"],
		...[" j", " k", "+new", " l", " m"],
	]);
});

test("lines that both texts have stay, though others have moved around them", () => {
	expect(shown("first\nb\nc\nd\nx", "b\nc\nd\nfirst\ny")).toEqual([
		...["-first", " b", " c", " d", "-x", "+first", "+y"],
	]);
});

test("whatever differs, both texts can be read from it", () => {
	// Three lines are all around a difference.
	const digits = ["0", "1"];
	const pairs = digits.flatMap((one) => digits.map((two) => `${one}\n${two}`));
	const triples = pairs.flatMap((two) => digits.map((one) => `${two}\n${one}`));
	const texts = [...digits, ...pairs, ...triples];
	for (const before of texts)
		for (const after of texts.filter((one) => one !== before)) {
			const found = lineDiff(before, after);
			const of = (left: string) =>
				found
					.filter(({ sign }) => sign !== left)
					.map(({ text }) => text)
					.join("\n");
			expect([of("+"), of("-")]).toEqual([before, after]);
		}
});

test("texts of many lines that all differ take no table of their product", () => {
	const text = (of: string) =>
		Array.from({ length: 3_000 }, (_, i) => `${of}${i}`).join("\n");
	expect(lineDiff(text("a"), text("b"))).toHaveLength(6_000);
});
