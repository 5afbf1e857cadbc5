import { expect, test } from "vitest";
import { reasonNotToUse } from "./shard-writer.ts";

const seen = (aheadMs: number) => ({
	faults: [],
	clock: { aheadMs, dateMs: 0, steadyMs: 0 },
	room: { bytes: 1, storeBytes: 1, full: undefined, isScarce: false },
});
const safe = seen(0);

test("a safe stream is used if its server's clock is close", () => {
	expect(reasonNotToUse(safe)).toBeUndefined();
	expect(reasonNotToUse(seen(-30_000))).toBeUndefined();
});

test.each([30_001, -30_001, Number.NaN])(
	"a clock %d ms from the server's is a reason not to be ready",
	(clockAheadMs) => {
		expect(reasonNotToUse(seen(clockAheadMs))).toContain("clock");
	},
);

test("a missing or unsafe stream is a reason not to be ready, with what to do", () => {
	expect(reasonNotToUse(undefined)).toContain("archive creates it");
	expect(reasonNotToUse({ ...safe, faults: ["a", "b"] })).toBe("a; b");
});
