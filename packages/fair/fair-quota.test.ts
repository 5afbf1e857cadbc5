import { beforeEach, expect, test } from "vitest";
import { FairQuota } from "./fair-quota.ts";

let stored: string[];
let now: number;
let looks: number;
let tookMs: number;
let quota: FairQuota;

beforeEach(() => {
	stored = [];
	now = 0;
	looks = 0;
	tookMs = 0;
	quota = new FairQuota({
		countAll: async () => {
			looks++;
			now += tookMs;
			return { entries: stored.length, maxEntries: 12 };
		},
		countOf: async (account) =>
			stored.filter((entry) => entry === account).length,
		now: () => now,
	});
});

/** Adds entries for as long as the account may. Returns how many. */
async function fill(account: string): Promise<number> {
	await quota.look(account);
	let added = 0;
	while (await add(account)) added++;
	return added;
}

/** Whether the account could add an entry. */
async function add(account: string): Promise<boolean> {
	const made = await quota.add(account, async () => stored.push(account));
	return made !== "full";
}

test("one account gets half, and each that follows gets a share of the rest", async () => {
	expect(await fill("a")).toBe(6);
	expect(await fill("b")).toBe(3);
	expect(await fill("c")).toBe(2);
	expect(await fill("d")).toBe(1);
	expect(await fill("a")).toBe(0);
	expect(quota.entries).toBe(12);
});

test("what other processes add counts, and what has expired is free again", async () => {
	stored = Array(6).fill("a");
	await quota.look("a");
	expect(await add("a")).toBe(false);
	stored = stored.slice(1);
	await quota.look("a");
	expect(await add("a")).toBe(false);
	now += 1_000;
	await quota.look("a");
	expect(await add("a")).toBe(true);
	expect(await add("b")).toBe(true);
});

test("parallel calls get no more than calls in a row, from the first call on", async () => {
	const outcomes = await Promise.all(
		Array.from({ length: 50 }, () => add("a")),
	);
	expect(outcomes.filter(Boolean)).toHaveLength(6);
	expect(stored).toHaveLength(6);
	await Promise.all(Array.from({ length: 50 }, () => add("b")));
	await Promise.all(Array.from({ length: 50 }, () => add("c")));
	expect(stored.filter((entry) => entry === "b")).toHaveLength(3);
	expect(stored.filter((entry) => entry === "c")).toHaveLength(2);
	expect(await add("d")).toBe(true);
});

test("an entry that existed already, or couldn't be added, doesn't count", async () => {
	for (let n = 0; n < 20; n++) {
		expect(await quota.add("a", async () => undefined)).toBe(undefined);
		const failing = quota.add("a", () => Promise.reject(new Error("away")));
		await expect(failing).rejects.toThrow("away");
	}
	expect(quota.entries).toBe(0);
	expect(await fill("a")).toBe(6);
});

test("what is removed is free at once, and no count is below zero", async () => {
	expect(await fill("a")).toBe(6);
	quota.removed("a");
	expect(await add("a")).toBe(true);
	for (let n = 0; n < 20; n++) quota.removed("b");
	expect(quota.entries).toBe(0);
	await quota.add("b", async () => "made");
	expect(quota.entries).toBe(1);
});

test("what is added during a look counts", async () => {
	await quota.look("a");
	now += 1_000;
	const looking = quota.look("a");
	// The look doesn't see these.
	for (let n = 0; n < 6; n++) void quota.add("a", async () => "made");
	await looking;
	expect(await add("a")).toBe(false);
	expect(quota.entries).toBe(6);
});

test.each([
	[0, 1_000],
	[10, 1_000],
	[50, 5_000],
])(
	"after a look that took %d ms the next comes %d ms later",
	async (ms, laterMs) => {
		tookMs = ms;
		await quota.look("a");
		now = laterMs - 1;
		await quota.look("a");
		expect(looks).toBe(1);
		now = laterMs;
		await quota.look("a");
		expect(looks).toBe(2);
	},
);

test("a look that fails keeps the last count", async () => {
	await fill("a");
	now += 1_000;
	stored.length = 0;
	const failing = new FairQuota({
		countAll: () => Promise.reject(new Error("away")),
		countOf: () => Promise.reject(new Error("away")),
		now: () => now,
	});
	await failing.add("a", async () => "made");
	now += 1_000;
	await failing.look("a");
	expect(failing.entries).toBe(1);
});
