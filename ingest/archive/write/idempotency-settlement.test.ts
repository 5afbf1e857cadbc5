import { JetStreamApiError } from "@nats-io/jetstream";
import { parse } from "uuid";
import { expect, test } from "vitest";
import { MemoryIdempotencyBucket } from "../../../test/support/doubles/idempotency/memory-bucket.ts";
import { frameId } from "../../wire/frame.ts";
import type { FrameEvent } from "../../wire/frame-event.ts";
import {
	entryKey,
	type IdempotencyBucket,
	type KeptEntry,
} from "../../wire/idempotency-bucket.ts";
import { claimed } from "../../wire/idempotency-entry.ts";
import { decideCut, eventsOfCut, type StreamFrame } from "../decide/cut.ts";
import { NoRoomForKeys, withoutRepeats } from "./idempotency-settlement.ts";

const id = "0190a000-0000-7000-8000-000000000001";
const digest = "ab".repeat(16);
const key = entryKey("shop", digest);
const times = { nowMs: 0, windowMs: 60_000, shard: 0 };

/** A frame of a receiver of its own with the event of the key, and one without a key. */
function frame(sequence: number): StreamFrame {
	const process = String(sequence).repeat(32);
	const event: FrameEvent = {
		id: parse(id),
		receivedAtMs: Date.UTC(2026, 2, 1),
		account: "shop",
		sourceKey: "aa".repeat(16),
		kind: "json",
		headers: "",
		violations: "",
		body: Buffer.from("1"),
	};
	const events = [{ ...event, key: digest }, event];
	return {
		sequence,
		timeMs: event.receivedAtMs,
		bytes: 1,
		frame: { process, number: 1, voided: [], events },
	};
}

async function bucketWithClaim() {
	const bucket = new MemoryIdempotencyBucket();
	await bucket.write(key, claimed(id, "claim", times), 0);
	const readMany = async (keys: string[]) =>
		new Map<string, KeptEntry>(
			keys.flatMap((key) => {
				const kept = bucket.entries.get(key);
				return kept ? [[key, kept] as const] : [];
			}),
		);
	return Object.assign(bucket, { readMany }) as typeof bucket &
		IdempotencyBucket;
}

async function rowsOf(
	bucket: IdempotencyBucket,
	frames: StreamFrame[],
): Promise<number> {
	const all = decideCut("stream", {}, frames);
	const cut = await withoutRepeats(bucket, all, frames);
	return eventsOfCut(cut, frames).flatMap(({ events }) => events).length;
}

test("of an event that two frames have under one key, the first is a row; so is each event without a key", async () => {
	const bucket = await bucketWithClaim();
	expect(await rowsOf(bucket, [frame(1), frame(2)])).toBe(3);
	expect(bucket.entries.get(key)!.entry).toMatchObject({
		state: "stored",
		frame: frameId("1".repeat(32), 1),
	});
});

test("an event is no second row in a later cut either, and the same frame read again is whole", async () => {
	const bucket = await bucketWithClaim();
	expect(await rowsOf(bucket, [frame(1)])).toBe(2);
	expect(await rowsOf(bucket, [frame(2)])).toBe(1);
	expect(await rowsOf(bucket, [frame(1)])).toBe(2);
});

test("without room for a key, it says from which frame on, and what comes before is whole", async () => {
	const bucket = await bucketWithClaim();
	const isFull = Object.assign(bucket, {
		write: async () => {
			throw new JetStreamApiError({
				code: 500,
				err_code: 10023,
				description: "insufficient resources",
			});
		},
	});
	const bare = frame(1);
	delete bare.frame.events[0]!.key;
	const failed = rowsOf(isFull, [bare, frame(2), frame(3)]);
	await expect(failed).rejects.toThrow(NoRoomForKeys);
	await expect(failed).rejects.toMatchObject({ sequence: 2 });
	expect(await rowsOf(isFull, [bare])).toBe(2);
});
