import { expect, test } from "vitest";
import {
	type JobResult,
	maxResultBytes,
	maxUnfitColumns,
	maxUnfitExamples,
} from "../../packages/contracts/job.ts";
import { encodeResult } from "./process.ts";

function failed(message: string): JobResult {
	return {
		version: 1,
		outcome: "Failed",
		error: { code: "Unexpected", message, retryable: true },
	};
}

test("a short result is encoded unchanged", () => {
	expect(JSON.parse(encodeResult(failed("no")))).toEqual(failed("no"));
});

test("a log's last lines are part of a result as far as there is room", () => {
	const lines = Array.from({ length: 40 }, (_, n) => `{"n":${n}}\n`);
	const log = lines.join("");
	expect(JSON.parse(encodeResult({ ...failed("no"), log }))).toEqual({
		...failed("no"),
		log,
	});
	const room = maxResultBytes - Buffer.byteLength(encodeResult(failed("")));
	const text = encodeResult({ ...failed("a".repeat(room - 60)), log });
	expect(Buffer.byteLength(text)).toBeLessThanOrEqual(maxResultBytes);
	expect(JSON.parse(text).log).toBe(lines.slice(-4).join(""));
	const full = failed("a".repeat(room));
	expect(JSON.parse(encodeResult({ ...full, log }))).toEqual(full);
});

test("a success with all columns whose values don't fit has room for a log", () => {
	const unfitValues = Array.from({ length: maxUnfitColumns }, (_, n) => ({
		column: `${n}`.padStart(63, "c"),
		rows: Number.MAX_SAFE_INTEGER,
		values: Number.MAX_SAFE_INTEGER,
		...(n < maxUnfitExamples && { eventID: "e".repeat(36) }),
	}));
	const counts = {
		rows: 1e15,
		bytes: 1e15,
		objects: 1e9,
		quarantinedRows: 1e15,
	};
	const result: JobResult = {
		version: 1,
		outcome: "Succeeded",
		...counts,
		dates: { start: "2026-03-01", end: "2026-03-31" },
		unfitValues,
	};
	const log = `${"x".repeat(1_000)}\n`;
	const text = encodeResult({ ...result, log });
	expect(Buffer.byteLength(text)).toBeLessThanOrEqual(maxResultBytes);
	expect(JSON.parse(text)).toEqual({ ...result, log });
});

test("a result of exactly the limit is not cut, and one byte more is", () => {
	const room = maxResultBytes - Buffer.byteLength(encodeResult(failed("")));
	const whole = failed("a".repeat(room));
	expect(JSON.parse(encodeResult(whole))).toEqual(whole);
	const cut = encodeResult(failed("a".repeat(room + 1)));
	expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(maxResultBytes);
	expect(cut).toContain("…");
});

// Escaping doubles quotes and turns a control character into six bytes; an emoji is two UTF-16 units and four bytes.
test.each(["a", '"', "\u0001", "ü", "日", "🎉", "a🎉"])(
	"a long message of %j is cut between characters to fit a termination message",
	(piece) => {
		const text = encodeResult(failed(piece.repeat(5000)));
		expect(Buffer.byteLength(text)).toBeLessThanOrEqual(maxResultBytes);
		expect(Buffer.byteLength(text)).toBeGreaterThan(maxResultBytes - 12);
		const { error } = JSON.parse(text) as { error: { message: string } };
		expect(error.message).toMatch(/…$/);
		expect(error.message.isWellFormed()).toBe(true);
		expect(piece.repeat(5000)).toContain(error.message.slice(0, -1));
	},
);
