import { expect, test } from "vitest";
import { cutBytes } from "./frame-queue.ts";

const mib = 1024 * 1024;

test.each([
	["of no source is as large as set", 0, 8 * mib],
	["of few sources is as large as set", 128, 8 * mib],
	["of many sources grows with them", 256, 16 * mib],
	["of a thousand has objects of 64 KiB", 1_000, 62.5 * mib],
	["is never larger than eight times that", 1_000_000, 64 * mib],
])("a cut %s", (_, sources, bytes) => {
	expect(cutBytes(8 * mib, sources)).toBe(bytes);
});
