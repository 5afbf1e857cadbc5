import { expect, test } from "vitest";
import { cutBytes, cutSize } from "./frame-queue.ts";

const mib = 1024 * 1024;

test.each([
	["of no source is as large as set", 0, 1, 8],
	["of few sources is as large as set", 32, 1, 8],
	["of many sources grows with them", 100, 1, 25],
	["is never larger than eight times that", 1_000_000, 1, 64],
	["of many sources has its part of the process's memory", 100, 4, 24],
	["of many sources in many shards, too", 1_000, 10, 9.6],
	["is never smaller than set", 1_000, 40, 8],
])("a cut %s", (_, sources, shards, bytes) => {
	expect(cutBytes(cutSize(8 * mib, shards), sources)).toBe(bytes * mib);
});
