import pino from "pino";
import { beforeEach, expect, test } from "vitest";
import { doNow } from "../../ingest/receive/admission/long-work.ts";
import { senderKey } from "../../ingest/receive/body/sender-key.ts";
import {
	type KeyClaim,
	KeyClaims,
} from "../../ingest/receive/commit/claims.ts";
import { refusals } from "../../ingest/receive/request/refusal.ts";
import { routeOf } from "../../operator/source/routes/decide.ts";
import { newKeys } from "../../operator/source/routes/keys.ts";
import type { Route } from "../../packages/contracts/route.ts";
import { MemoryIdempotencyBucket } from "../support/doubles/idempotency/memory-bucket.ts";
import { sourceOf } from "../support/examples/resource-examples.ts";

/*
 * GitHub gives an event one delivery id for all webhooks that it is delivered to, so the webhook is part of the key. An earlier version
 * kept keys by the delivery alone.
 */

const keys = newKeys(0);
const startMs = Date.UTC(2026, 10, 30);
const frame = { stream: "s", process: "p", number: 7, data: Buffer.alloc(0) };
let dateMs: number;
let archivedThrough: number;
let bucket: MemoryIdempotencyBucket;
let claims: KeyClaims;

beforeEach(() => {
	dateMs = startMs;
	archivedThrough = 0;
	bucket = new MemoryIdempotencyBucket();
	claims = new KeyClaims({
		bucket,
		isOpen: () => true,
		progress: async () => ({
			nowMs: dateMs,
			lastSequence: 5,
			firstStoredAtMs: Number.NaN,
			objectsDone: archivedThrough,
		}),
		dateMs: () => dateMs,
		now: () => 0,
		delay: async () => {},
		log: pino({ level: "silent" }),
	});
});

function routeBy(key: object): Route {
	const source = sourceOf();
	source.spec.webhook!.idempotency = { key, windowSeconds: 600 };
	return routeOf(source, keys, { type: "None" });
}

const current = routeBy({ preset: "GitHub" });
/** As an earlier version's operator wrote it. */
const former = routeBy({ header: "x-github-delivery" });

/** What a delivery becomes under a route: its claim, the event that it repeats, or a refusal. */
function delivered(
	route: Route,
	event: string,
	delivery?: string,
	hook?: string,
) {
	const headers = {
		...(delivery && { "x-github-delivery": delivery }),
		...(hook !== undefined && { "x-github-hook-id": hook }),
	};
	const found = doNow(
		senderKey(
			route,
			{ headers, query: undefined },
			[Buffer.from("{}")],
			() => true,
		),
	);
	if ("status" in found || found.key === undefined) return undefined;
	return claims.claim(found.key, event, route, found.formerKey);
}

async function stored(...of: Parameters<typeof delivered>): Promise<void> {
	const claim = await delivered(...of);
	expect(claim).toHaveProperty("entry");
	claims.settle(claim as KeyClaim, "stored", frame);
	await claims.settled();
}

test("each hook's delivery of an event is one, however often it is sent", async () => {
	await stored(current, "e1", "d", "1");
	await stored(current, "e2", "d", "2");
	expect(await delivered(current, "e3", "d", "1")).toEqual({ repeatOf: "e1" });
	expect(await delivered(current, "e3", "d", "2")).toEqual({ repeatOf: "e2" });
	await stored(current, "e4", "another", "1");
});

test("a hook and a delivery can't be taken for another pair", async () => {
	await stored(current, "e1", "12", "3");
	await stored(current, "e2", "2", "31");
	await stored(current, "e3", "3", "12");
});

test("a sender that names no hook has the delivery's id as its key", async () => {
	await stored(current, "e1", "d");
	expect(await delivered(current, "e2", "d", "")).toEqual({ repeatOf: "e1" });
	expect(await delivered(current, "e2")).toBeUndefined();
});

test("what an earlier version stored is a repeat for as long as its key lives", async () => {
	await stored(former, "e1", "d");
	expect(await delivered(current, "e2", "d", "1")).toEqual({ repeatOf: "e1" });
	bucket.entries.clear();
	await stored(current, "e2", "d", "1");
});

test("what an earlier version is storing is waited for, and what it gave up isn't", async () => {
	const claim = (await delivered(former, "e1", "d")) as KeyClaim;
	expect(await delivered(current, "e2", "d", "1")).toBe(refusals.KeyInUse);
	// Past the claim's deadline, archive knows.
	dateMs += 121_000;
	expect(await delivered(current, "e2", "d", "1")).toBe(refusals.KeyInUse);
	claims.settle(claim, "refused");
	await claims.settled();
	await stored(current, "e2", "d", "1");
});

test("a claim of an earlier version that archive hasn't found is given up", async () => {
	await delivered(former, "e1", "d");
	dateMs += 121_000;
	archivedThrough = 5;
	await stored(current, "e2", "d", "1");
});

test("no key is kept by the delivery alone any more", async () => {
	await stored(current, "e1", "d", "1");
	expect(bucket.entries.size).toBe(1);
	await stored(former, "e2", "d");
	expect(bucket.entries.size).toBe(2);
});

test("an earlier receive finds the delivery in the route, and no other preset names what its key is unique in", () => {
	expect(current.idempotency!.key).toMatchObject({
		header: "x-github-delivery",
	});
	for (const preset of [
		"StandardWebhooks",
		"Stripe",
		"Shopify",
		"Svix",
		"Slack",
		"Twilio",
		"SNS",
	])
		expect(routeBy({ preset }).idempotency!.key).not.toHaveProperty("within");
});
