import pino from "pino";
import { beforeEach, expect, test } from "vitest";
import { MemoryIdempotencyBucket } from "../../../test/support/doubles/idempotency/memory-bucket.ts";
import {
	claimMs,
	type IdempotencyEntry,
	type ShardProgress,
} from "../../wire/idempotency-entry.ts";
import { refusals } from "../request/refusal.ts";
import { type KeyClaim, KeyClaims } from "./claims.ts";

const startMs = Date.UTC(2026, 10, 22);
const windowMs = 600_000;
const route = {
	account: "shop",
	shard: 3,
	idempotency: { key: { header: "id" }, windowSeconds: windowMs / 1000 },
};
const frame = { stream: "s", process: "p", number: 7, data: Buffer.alloc(0) };
/** Archive has seen everything. */
const archived: ShardProgress = {
	nowMs: startMs + claimMs + 1,
	lastSequence: 5,
	firstStoredAtMs: Number.NaN,
	objectsDone: 5,
};

let bucket: MemoryIdempotencyBucket;
let dateMs: number;
let now: number;
let delays: number[];
/** When the next delay ends, whatever it should take. */
let delayUntil: number | undefined;
let logged: { msg: string; err: { message: string } }[];
let isOpen: boolean;
let progress: () => Promise<ShardProgress>;
let progressAsked: number[];
let claims: KeyClaims;

beforeEach(() => {
	bucket = new MemoryIdempotencyBucket();
	dateMs = startMs;
	now = 0;
	delays = [];
	delayUntil = undefined;
	logged = [];
	isOpen = true;
	progress = () => Promise.resolve(archived);
	progressAsked = [];
	claims = new KeyClaims({
		bucket,
		isOpen: (shard) => (shard === 3 || shard === 4) && isOpen,
		progress: (shard) => {
			progressAsked.push(shard);
			return progress();
		},
		dateMs: () => dateMs,
		now: () => now,
		delay: async (ms) => {
			delays.push(ms);
			now = delayUntil ?? now + ms;
		},
		log: pino(
			{ level: "debug" },
			{ write: (line) => logged.push(JSON.parse(line)) },
		),
	});
});

const claim = (event: string, key = "k") => claims.claim(key, event, route);

/** A claim that must succeed. */
async function granted(event: string, key = "k"): Promise<KeyClaim> {
	const answer = await claim(event, key);
	expect(answer).toHaveProperty("entry");
	return answer as KeyClaim;
}

const entry = (key = "k"): IdempotencyEntry | undefined =>
	bucket.entries.get(`shop.${key}`)?.entry;

test("a new key is claimed for the event, until its deadline and for its window", async () => {
	const { entry: claimed, revision } = await granted("e1");
	expect(claimed).toEqual({
		state: "claimed",
		event: "e1",
		claim: expect.stringMatching(/^[0-9a-f-]{36}$/),
		expiresAtMs: startMs + windowMs,
		deadlineMs: startMs + claimMs,
		shard: 3,
	});
	expect(bucket.entries.get("shop.k")).toEqual({ entry: claimed, revision });
	expect(claims.outcomes).toMatchObject({ claimed: 1, taken_over: 0 });
});

test("a repeat of a stored event gets its id", async () => {
	claims.settle(await granted("e1"), "stored", frame);
	await claims.settled();
	expect(entry()).toMatchObject({ state: "stored", frame: "p.7" });
	expect(await claim("e2")).toEqual({ repeatOf: "e1" });
	expect(claims.outcomes).toMatchObject({ claimed: 1, repeated: 1 });
});

test("a repeat of a refused event takes over its id and the rest of its window", async () => {
	claims.settle(await granted("e1"), "refused");
	await claims.settled();
	expect(entry()).toMatchObject({ state: "released", event: "e1" });
	dateMs += 1_000;
	const { entry: second } = await granted("e2");
	expect(second).toMatchObject({
		event: "e1",
		expiresAtMs: startMs + windowMs,
		deadlineMs: startMs + 1_000 + claimMs,
	});
	expect(claims.outcomes).toMatchObject({ claimed: 1, taken_over: 1 });
});

test("a repeat of a claimed event waits until the deadline, and archive isn't asked before", async () => {
	await granted("e1");
	dateMs = startMs + claimMs;
	expect(await claim("e2")).toBe(refusals.KeyInUse);
	expect(progressAsked).toEqual([]);
	dateMs++;
	expect(await claim("e2")).toMatchObject({ entry: { event: "e1" } });
	expect(progressAsked).toEqual([3]);
	expect(claims.outcomes).toMatchObject({ refused: 1, taken_over: 1 });
});

test("after the deadline a repeat still waits while archive may find the event, or doesn't answer", async () => {
	await granted("e1");
	dateMs = startMs + claimMs + 1;
	progress = async () => ({ ...archived, objectsDone: 4 });
	expect(await claim("e2")).toBe(refusals.KeyInUse);
	progress = () => Promise.reject(new Error("no answer"));
	expect(await claim("e2")).toBe(refusals.KeyInUse);
	expect(entry()).toMatchObject({ state: "claimed", event: "e1" });
});

test("a repeat asks the shard that the claimant publishes to, though the route has another by then", async () => {
	await granted("e1");
	dateMs = startMs + claimMs + 1;
	const repeated = await claims.claim("k", "e2", { ...route, shard: 4 });
	expect(progressAsked).toEqual([3]);
	expect(repeated).toMatchObject({ entry: { event: "e1", shard: 4 } });
});

test("a claim of an earlier version doesn't name its shard, and the route's is asked", async () => {
	const { entry, revision } = await granted("e1");
	const { shard: _, ...earlier } = entry;
	await bucket.write("shop.k", earlier, revision!);
	dateMs = startMs + claimMs + 1;
	expect(await claim("e2")).toMatchObject({ entry: { event: "e1", shard: 3 } });
	expect(progressAsked).toEqual([3]);
});

test("of two repeats that take a key over, one waits", async () => {
	claims.settle(await granted("e1"), "refused");
	await claims.settled();
	const answers = await Promise.all([claim("e2"), claim("e3")]);
	expect(answers.filter((answer) => "entry" in answer)).toHaveLength(1);
	expect(answers).toContain(refusals.KeyInUse);
});

test("while the shard is closed no key is claimed", async () => {
	isOpen = false;
	expect(await claim("e1")).toBe(refusals.StorageUnavailable);
	expect(entry()).toBeUndefined();
	expect(claims.outcomes.refused).toBe(1);
});

test("an unknown outcome leaves the claim to archive", async () => {
	claims.settle(await granted("e1"), "unknown", frame);
	await claims.settled();
	expect(entry()).toMatchObject({ state: "claimed", event: "e1" });
});

test("a claim that NATS may have written is refused and given back", async () => {
	bucket.writeFaults.push("lost");
	expect(await claim("e1")).toBe(refusals.StorageUnavailable);
	await claims.settled();
	expect(entry()).toMatchObject({ state: "released", event: "e1" });
});

test("a claim whose write arrives late is given back, too", async () => {
	bucket.writeFaults.push("lost");
	// The write is on its way while the claim is looked for.
	const { read } = bucket;
	let reads = 0;
	bucket.read = (key) =>
		++reads <= 2 ? Promise.resolve(undefined) : read.call(bucket, key);
	expect(await claim("e1")).toBe(refusals.StorageUnavailable);
	await claims.settled();
	expect(entry()).toMatchObject({ state: "released", event: "e1" });
});

test.each([
	[10_000, "granted"],
	[10_001, "refused and given back"],
])("a claim that took %d ms is %s", async (tookMs, expected) => {
	const { write } = bucket;
	bucket.write = (...args) => {
		bucket.write = write;
		now += tookMs;
		return write.apply(bucket, args);
	};
	const answer = await claim("e1");
	await claims.settled();
	if (expected === "granted") {
		expect(answer).toHaveProperty("entry");
		expect(entry()).toMatchObject({ state: "claimed" });
	} else {
		expect(answer).toBe(refusals.StorageUnavailable);
		expect(entry()).toMatchObject({ state: "released" });
	}
});

test("an answer that claims nothing may take as long as it takes", async () => {
	claims.settle(await granted("e1"), "stored", frame);
	await claims.settled();
	const { read } = bucket;
	bucket.read = (key) => {
		now += 60_000;
		return read.call(bucket, key);
	};
	expect(await claim("e2")).toEqual({ repeatOf: "e1" });
});

test("a claim that fails counts as refused, and the log says why", async () => {
	bucket.writeFaults.push("away");
	expect(await claim("e1")).toBe(refusals.StorageUnavailable);
	expect(claims.outcomes.refused).toBe(1);
	await claims.settled();
	expect(logged).toMatchObject([
		{
			msg: "failed to claim an idempotency key",
			err: { message: "NATS is away" },
		},
	]);
});

test("at the limit new keys are refused, and known keys are served", async () => {
	bucket.maxKeys = 1;
	claims.settle(await granted("e1"), "stored", frame);
	await claims.settled();
	expect(await claim("e2", "other")).toBe(refusals.TooManyKeys);
	expect(entry("other")).toBeUndefined();
	expect(await claim("e3")).toEqual({ repeatOf: "e1" });
	expect(claims.keys).toBe(1);
});

test("an account's keys take nothing from another account, however many it sends", async () => {
	bucket.maxKeys = 20;
	for (let n = 0; n < 300; n++) await claim(`e${n}`, `k${n}`);
	expect(await claim("more", "more")).toBe(refusals.TooManyKeys);
	expect(claims.keys).toBe(10);
	const neighbour = { ...route, account: "bank" };
	for (const key of ["a", "b", "c"])
		expect(await claims.claim(key, key, neighbour)).toHaveProperty("entry");
});

test("an account's claims that wait to be settled leave room for another account's", async () => {
	const mine = await granted("e1");
	const theirs = await claims.claim("k", "e2", { ...route, account: "bank" });
	for (let n = 0; n < 30_000; n++) claims.settle(mine, "refused");
	claims.settle(theirs as KeyClaim, "refused");
	await claims.settled();
	expect(bucket.entries.get("bank.k")?.entry.state).toBe("released");
});

test("a full bucket refuses the key, and nothing is given back", async () => {
	bucket.writeFaults.push("full");
	expect(await claim("e1")).toBe(refusals.TooManyKeys);
	await claims.settled();
	expect(bucket.entries.size).toBe(0);
	expect(delays).toEqual([]);
});

test("the bucket is counted once a second at most", async () => {
	for (const atMs of [0, 999, 1_000, 1_001, 1_999, 2_000]) {
		now = atMs;
		await claim(`e${atMs}`, `k${atMs}`);
		// The clock stands still while entries are counted.
		await new Promise(setImmediate);
	}
	expect(bucket.counts).toBe(3);
	expect(claims.keys).toBe(6);
});

test("another's claim on the key is neither released nor marked as stored", async () => {
	const mine = await granted("e1");
	const theirs: IdempotencyEntry = { ...mine.entry, claim: "theirs" };
	await bucket.write("shop.k", theirs, mine.revision!);
	claims.settle(mine, "refused");
	await claims.settled();
	expect(entry()).toEqual(theirs);

	const stored: IdempotencyEntry = {
		state: "stored",
		event: "e1",
		expiresAtMs: mine.entry.expiresAtMs,
		frame: "q.1",
	};
	await bucket.write("shop.k", stored, bucket.entries.get("shop.k")!.revision);
	claims.settle(mine, "stored", frame);
	await claims.settled();
	expect(entry()).toEqual(stored);
});

test("an expired entry isn't written again", async () => {
	const mine = await granted("e1");
	bucket.entries.clear();
	claims.settle(mine, "stored", frame);
	await claims.settled();
	expect(entry()).toBeUndefined();
	expect(delays).toEqual([]);
});

test("settling survives NATS being away, and waits at most 5 s between tries", async () => {
	const mine = await granted("e1");
	bucket.writeFaults.push("away");
	bucket.readFaults.push(...Array<"away">(7).fill("away"));
	claims.settle(mine, "stored", frame);
	await claims.settled();
	expect(entry()).toMatchObject({ state: "stored", frame: "p.7" });
	expect(delays).toHaveLength(8);
	for (const [i, ms] of delays.entries()) {
		const bound = Math.min(5_000, 250 * 2 ** i);
		expect(ms).toBeGreaterThanOrEqual(bound / 2);
		expect(ms).toBeLessThanOrEqual(bound);
	}
});

test("settling gives up after a minute", async () => {
	const mine = await granted("e1");
	bucket.writeFaults.push("away");
	bucket.readFaults.push(...Array<"away">(1_000).fill("away"));
	claims.settle(mine, "stored", frame);
	await claims.settled();
	expect(now).toBeGreaterThanOrEqual(60_000);
	expect(now).toBeLessThan(66_000);
	expect(entry()).toMatchObject({ state: "claimed" });
});

test("after exactly a minute, settling tries no more", async () => {
	const mine = await granted("e1");
	bucket.writeFaults.push("away");
	delayUntil = 60_000;
	claims.settle(mine, "stored", frame);
	await claims.settled();
	expect(delays).toHaveLength(1);
	expect(entry()).toMatchObject({ state: "claimed" });
});

test("an account has no more claims settled at once because one of them is done", async () => {
	const mine = await granted("e1");
	const { promise: isBack, resolve: back } = Promise.withResolvers<void>();
	const { write } = bucket;
	let writes = 0;
	bucket.write = async (...args) => {
		if (++writes > 1) await isBack;
		return write.apply(bucket, args);
	};
	for (let n = 0; n < 10_000; n++) claims.settle(mine, "refused");
	await new Promise(setImmediate);
	// The first is done, so there is room for one.
	claims.settle(mine, "refused");
	claims.settle(mine, "refused");
	expect(writes).toBe(10_001);
	back();
	await claims.settled();
});

test("at most 10,000 claims are settled at once; the rest is left to archive", async () => {
	const mine = await granted("e1");
	const other = await granted("e2", "other");
	for (let n = 0; n < 10_000; n++) claims.settle(mine, "refused");
	claims.settle(other, "refused");
	await claims.settled();
	expect(entry()).toMatchObject({ state: "released" });
	expect(entry("other")).toMatchObject({ state: "claimed" });
	claims.settle(other, "refused");
	await claims.settled();
	expect(entry("other")).toMatchObject({ state: "released" });
});
