import { expect, test } from "vitest";
import { jsonText } from "./output.ts";

test("JSON has no control characters, and says the same", () => {
	const value = { "k\u0090": "a\u001b[2J\u007fb\u009b2Jü\u00a0" };
	const text = jsonText(value);
	expect(text).toBe(
		String.raw`{"k\u0090":"a\u001b[2J\u007fb\u009b2Jü${"\u00a0"}"}`,
	);
	expect(JSON.parse(text)).toEqual(value);
	expect(jsonText(value, 2)).toContain('{\n  "k');
});
