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
