import { expect, test } from "vitest";
import { fitPart, fitTogether, rowGroupSize, sizeOf } from "./parquet-size.ts";

const mib = 1024 ** 2;

test.each<[string, number, number, boolean, boolean]>([
	["rows of 500 bytes, 63 MiB", 500, 63 * mib, true, true],
	["rows of 500 bytes, 65 MiB", 500, 65 * mib, false, true],
	["rows of 500 bytes, 190 MiB", 500, 190 * mib, false, true],
	["rows of 500 bytes, 193 MiB", 500, 193 * mib, false, false],
	["rows of 1.5 KiB, 42 MiB", 1536, 42 * mib, true, true],
	["rows of 1.5 KiB, 43 MiB", 1536, 43 * mib, false, true],
	["rows of 2 KiB, 95 MiB", 2048, 95 * mib, false, true],
	["rows of 2 KiB, 97 MiB", 2048, 97 * mib, false, false],
	["rows of 1 MiB, 32 MiB", mib, 32 * mib, true, true],
	["rows of 1 MiB, 33 MiB", mib, 33 * mib, false, false],
	["nothing at all", 1, 0, true, true],
])(
	"objects become one output, or one part of a release, if DuckDB can sort them: %s",
	(_, row, bytes, output, part) => {
		const half = { rows: bytes / row / 2, bytes: bytes / 2 };
		expect(fitTogether(sizeOf([half, half]))).toBe(output);
		expect(fitPart(sizeOf([half, half]))).toBe(part);
	},
);

test.each<[number, number]>([
	[10, 122_880],
	[500, 40_960],
	[2048, 10_240],
	[100_000, 2048],
])("rows of %i bytes are compressed in groups of %i", (row, expected) => {
	expect(rowGroupSize({ objects: 1, rows: 1000, bytes: 1000 * row })).toBe(
		expected,
	);
});

test("no more than 480 objects become one output, and no more than 2,000 one part, however small they are", () => {
	const of = (objects: number) => ({ objects, rows: objects, bytes: 1 });
	expect([fitTogether(of(480)), fitTogether(of(481))]).toEqual([true, false]);
	expect([fitPart(of(2000)), fitPart(of(2001))]).toEqual([true, false]);
});
