import { expect, test } from "vitest";
import { outputName } from "./output-name.ts";

test("an output's name derives from its inputs alone", () => {
	expect(outputName(["1", "2"])).toBe(outputName(["1", "2"]));
	const names = [["1"], ["1", "2"], ["2", "1"], ["12"]].map(outputName);
	expect(new Set(names).size).toBe(4);
	expect(names[0]).toMatch(/^compacted-[0-9a-f]{32}\.parquet$/);
});
