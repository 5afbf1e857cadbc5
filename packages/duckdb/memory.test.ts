import { expect, test } from "vitest";
import { boundedMemory } from "./memory.ts";

const gib = 1024 ** 3;

test.each([
	["no limit", undefined, 8, "192MiB", "2"],
	["no limit and one processor", undefined, 1, "192MiB", "1"],
	["256 MiB", gib / 4, 4, "128MiB", "1"],
	["512 MiB", gib / 2, 4, "204MiB", "2"],
	["1 GiB", gib, 8, "409MiB", "4"],
	["4 GiB", 4 * gib, 4, "1638MiB", "4"],
	["64 GiB", 64 * gib, 64, "2048MiB", "21"],
])(
	"with %s DuckDB takes a share of the memory, and no more threads than fit",
	(_, bytes, processors, memory_limit, threads) => {
		expect(boundedMemory("/scratch", bytes, processors)).toMatchObject({
			memory_limit,
			threads,
			temp_directory: "/scratch/duckdb",
		});
	},
);
