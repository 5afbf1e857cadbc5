import { expect, test } from "vitest";
import { fitTogether, rowGroupSize, sizeOf } from "./output-size.ts";

const mib = 1024 ** 2;

test.each<[string, number, number, boolean]>([
	["rows of 500 bytes, 190 MiB", 500, 190 * mib, true],
	["rows of 500 bytes, 193 MiB", 500, 193 * mib, false],
	["rows of 2 KiB, 95 MiB", 2048, 95 * mib, true],
	["rows of 2 KiB, 97 MiB", 2048, 97 * mib, false],
	["rows of 1 MiB, 32 MiB", mib, 32 * mib, true],
	["rows of 1 MiB, 33 MiB", mib, 33 * mib, false],
	["nothing at all", 1, 0, true],
])("objects become one if DuckDB can sort them: %s", (_, row, bytes, fit) => {
	const half = { rows: bytes / row / 2, bytes: bytes / 2 };
	expect(fitTogether(sizeOf([half, half]))).toBe(fit);
});

test.each<[number, number]>([
	[10, 122_880],
	[500, 32_768],
	[2048, 8192],
	[100_000, 2048],
])("rows of %i bytes are compressed in groups of %i", (row, expected) => {
	expect(rowGroupSize({ objects: 1, rows: 1000, bytes: 1000 * row })).toBe(
		expected,
	);
});

test("no more than 2,000 objects become one, however small they are", () => {
	expect(fitTogether({ objects: 2000, rows: 2000, bytes: 1 })).toBe(true);
	expect(fitTogether({ objects: 2001, rows: 2001, bytes: 1 })).toBe(false);
});
