// In make test: ingest/receive/admission/admission.test.ts
import { expect, test } from "vitest";
import { RefusalRateLimit, usualRates } from "./refusal-rate.ts";

const rates = {
	ofSource: { burst: 2, perSecond: 1 },
	ofAccount: { burst: 3, perSecond: 1 },
	ofAll: { burst: 5, perSecond: 1 },
	ofAccountBytes: { burst: 1_000, perSecond: 10 },
	ofSourceBytes: { burst: 1_000, perSecond: 10 },
};

test("a Source's first refusals are kept, later ones at its rate, and it is told how many were left out", () => {
	const limit = new RefusalRateLimit(rates);
	expect(limit.take("shop", "a", 0)).toBe(0);
	expect(limit.take("shop", "a", 0)).toBe(0);
	expect(limit.take("shop", "a", 0)).toBeUndefined();
	expect(limit.take("shop", "a", 500)).toBeUndefined();
	// Of a burst of two, one is free again after 2 s * ln 2.
	expect(limit.take("shop", "a", 1_400)).toBe(2);
	expect(limit.take("shop", "a", 2_800)).toBe(0);
});

test("after a quiet time no more than a burst is kept", () => {
	const limit = new RefusalRateLimit(rates);
	limit.take("shop", "a", 0);
	const kept = [1, 2, 3].map(() => limit.take("shop", "a", 3_600_000));
	expect(kept).toEqual([0, 0, undefined]);
});

test("a Source's flood leaves room for the account's other Sources, and an account's for other accounts", () => {
	const limit = new RefusalRateLimit(rates);
	for (let i = 0; i < 1_000; i++) limit.take("shop", "a", 0);
	expect(limit.take("shop", "b", 0)).toBe(0);
	for (let i = 0; i < 1_000; i++) limit.take("shop", `c${i}`, 0);
	expect(limit.take("bank", "d", 0)).toBe(0);
});

test("an account's large records leave room for other accounts", () => {
	const limit = new RefusalRateLimit(rates);
	limit.take("shop", "a", 0);
	limit.spend("shop", "a", 1_500);
	expect(limit.take("shop", "b", 50_000)).toBeUndefined();
	expect(limit.take("bank", "c", 50_000)).toBe(0);
	expect(limit.take("shop", "b", 60_000)).toBe(1);
});

test("however long a Source's flood lasts, another one's refusals are kept", () => {
	const limit = new RefusalRateLimit();
	const refuse = (source: string, nowMs: number) => {
		const leftOut = limit.take("shop", source, nowMs);
		if (leftOut !== undefined) limit.spend("shop", source, 1_500);
		return leftOut !== undefined;
	};
	const minuteMs = 60_000;
	const kept: boolean[] = [];
	for (let nowMs = 0; nowMs < 6 * 60 * minuteMs; nowMs += 1_000) {
		refuse("a", nowMs);
		if (nowMs >= 60 * minuteMs && nowMs % minuteMs === 0)
			kept.push(refuse("b", nowMs));
	}
	expect(kept.slice(0, 16).every(Boolean)).toBe(true);
	// Later, at its own rate.
	expect(kept.slice(60).filter(Boolean).length).toBeGreaterThan(10);
});

test.each([4, 12, 30])(
	"however long %i Sources of an account flood, one that is refused less than its share is always kept, and the others have equal shares",
	(flooding) => {
		const limit = new RefusalRateLimit();
		const kept = new Map<string, number>();
		const refuse = (source: string, nowMs: number) => {
			if (limit.take("shop", source, nowMs) === undefined) return;
			limit.spend("shop", source, 1_500);
			kept.set(source, (kept.get(source) ?? 0) + 1);
		};
		for (let seconds = 0; seconds < 24 * 3_600; seconds++) {
			for (let at = 0; at < flooding; at++) refuse(`${at}`, seconds * 1_000);
			if (seconds % 21_600 === 10_800) refuse("quiet", seconds * 1_000);
		}
		expect(kept.get("quiet")).toBe(4);
		kept.delete("quiet");
		const shares = [...kept.values()].sort((a, b) => a - b);
		expect(shares).toHaveLength(flooding);
		expect(shares.at(-1)! - shares[0]!).toBeLessThanOrEqual(2);
	},
);

test("a Source that floods alone keeps to its own share of the account's bytes", () => {
	const limit = new RefusalRateLimit();
	let bytes = 0;
	const end = 24 * 3_600;
	for (let seconds = 0; seconds < end; seconds++) {
		if (limit.take("shop", "a", seconds * 1_000) === undefined) continue;
		limit.spend("shop", "a", 1_500);
		bytes += 1_500;
	}
	const { burst, perSecond } = usualRates.ofSourceBytes;
	expect(bytes).toBeLessThanOrEqual(burst + end * perSecond + 1_500);
});

test("one Source may use a quarter of the account's bytes", () => {
	const { ofSourceBytes, ofAccountBytes } = usualRates;
	expect(ofSourceBytes.burst * 4).toBe(ofAccountBytes.burst);
	expect(ofSourceBytes.perSecond * 4).toBe(ofAccountBytes.perSecond);
});

test("all accounts together keep no more than the process may", () => {
	const limit = new RefusalRateLimit(rates);
	const kept = Array.from({ length: 100 }, (_, i) =>
		limit.take(`account-${i}`, `source-${i}`, 0),
	);
	expect(kept.filter((leftOut) => leftOut !== undefined)).toHaveLength(5);
});

test("however many Sources are refused, it remembers a bounded number", () => {
	const limit = new RefusalRateLimit({
		...rates,
		ofAll: { burst: 1e6, perSecond: 1e6 },
	});
	limit.take("shop", "first", 0);
	limit.take("shop", "first", 0);
	expect(limit.take("shop", "first", 0)).toBeUndefined();
	for (let i = 0; i < 10_000; i++) limit.take(`account-${i}`, `s${i}`, 0);
	expect(limit.take("shop", "first", 0)).toBe(0);
});
