import { expect, test } from "vitest";
import { addedRows } from "./result.ts";

const unfit = {};
const digests = { digest: "7", loadedDigest: "7" };

test("a Run has added what it inserts, and what an earlier attempt of it inserted", () => {
	expect(addedRows("mine", { rows: 3 })).toBe(3);
	const loads = [
		{ objects: ["a"], rows: 5, unfit, run: "other" },
		{ objects: ["b"], rows: 7, unfit, run: "mine" },
		{ objects: ["c"], rows: 9, unfit, run: "" },
	];
	const kept = { rows: 21, unfit, held: { rows: 21, ...digests, loads } };
	expect(addedRows("mine", { rows: 0, kept })).toBe(7);
	expect(addedRows("mine", { rows: 2, kept })).toBe(9);
	expect(addedRows("next", { rows: 0, kept })).toBe(0);
});
