import { expect, test } from "vitest";
import { cutToBytes, cutToLength } from "./text.ts";

test("a text within the limit stays as it is", () => {
	expect(cutToLength("four", 4)).toBe("four");
	expect(cutToBytes("vier€", 7)).toBe("vier€");
});

test("a longer text ends in an ellipsis, within the limit, and no character is cut in two", () => {
	expect(cutToLength("abcdef", 4)).toBe("abc…");
	expect(cutToLength("ab😀cd", 4)).toBe("ab…");
	expect(cutToBytes("abcdef", 5)).toBe("ab…");
	const cut = cutToBytes("ab€€", 7);
	expect(cut).toBe("ab…");
	expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(7);
});
