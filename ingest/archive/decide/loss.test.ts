import { expect, test } from "vitest";
import { describeLoss, framesOf } from "./loss.ts";

const range = { from: 7, to: 9, time: "2026-03-01T12:00:00Z" };

test("a loss counts its first and its last frame", () => {
	expect(framesOf({ kind: "sequences", ...range })).toBe(3);
	expect(framesOf({ kind: "sequences", ...range, to: 7 })).toBe(1);
});

test("a person reads what is lost, of whom and since when", () => {
	expect(describeLoss({ kind: "sequences", ...range })).toBe(
		"sequences 7 to 9 are gone from the stream and weren't archived; found at 2026-03-01T12:00:00Z",
	);
	const process = "a".repeat(32);
	expect(describeLoss({ kind: "frames", process, ...range })).toBe(
		`frames 7 to 9 of receive process ${process} never arrived and weren't voided; they were due at 2026-03-01T12:00:00Z`,
	);
});

test("a person reads which events of which source and date a cut has lost, at most twenty of them", () => {
	const group = (number: number) => ({
		account: "shop",
		sourceKey: `s${number}`,
		date: "2026-03-01",
		rows: number,
	});
	expect(
		describeLoss({
			kind: "objects",
			...range,
			groups: [group(1), { ...group(2), quarantined: true }],
		}),
	).toBe(
		"sequences 7 to 9 are gone, and of their cut the bucket lacks 1 event of source s1 (account shop) on 2026-03-01, 2 events of source s2 (account shop) on 2026-03-01 in quarantine; found at 2026-03-01T12:00:00Z",
	);
	const groups = Array.from({ length: 22 }, (_, number) => group(number));
	const text = describeLoss({ kind: "objects", ...range, groups });
	expect(text).toContain("s19 (account shop) on 2026-03-01, those of 2 more");
	expect(text).not.toContain("s20");
});
