import pino from "pino";
import { expect, test } from "vitest";
import { ShardBacklogs } from "./shard-backlogs.ts";

function backlogs() {
	const changes: number[] = [];
	const found = new ShardBacklogs(async () => [], pino({ level: "silent" }));
	found.onChange((shard) => changes.push(shard));
	const fill = (
		bytes: number,
		limit: { limitBytes?: number } = { limitBytes: 100 },
	) => {
		found.take(2, {
			frames: 1,
			bytes,
			limitBytes: limit.limitBytes,
			lagSeconds: 1,
		});
		return found.isFilling(2);
	};
	return { changes, fill, found };
}

test("a shard fills from 60% on, and no more below 40%, and says each change once", () => {
	const { changes, fill } = backlogs();
	expect([60, 61, 90, 41, 40, 60].map((bytes) => fill(bytes))).toEqual([
		false,
		true,
		true,
		true,
		false,
		false,
	]);
	// It is news that it doesn't fill, too: an earlier operator may have written that it does.
	expect(changes).toEqual([2, 2, 2]);
});

test("a stream without a limit never fills", () => {
	const { fill } = backlogs();
	fill(61);
	expect(fill(10 ** 12, {})).toBe(false);
});

test("a shard is full once the largest frame has no room, until a fifth is free again", () => {
	const mib = 1024 ** 2;
	const { changes, found } = backlogs();
	const isFull = (free: number, limit: number) => {
		const limitBytes = limit * mib;
		const bytes = limitBytes - free * mib;
		found.take(2, { frames: 1, bytes, limitBytes, lagSeconds: 1 });
		return found.isFull(2);
	};
	expect(found.isFull(2)).toBeUndefined();
	expect([9, 7, 0, 9, 199, 200, 9].map((free) => isFull(free, 1_000))).toEqual([
		false,
		true,
		true,
		true,
		true,
		false,
		false,
	]);
	expect(changes).toHaveLength(3);
	// A small one can't keep so much free.
	expect([2, 0.9].map((free) => isFull(free, 20))).toEqual([false, true]);
	expect(found.full).toEqual([2]);
});

test("a drained shard is full while NATS has no room for any, and gets no new Sources", () => {
	const { fill, found } = backlogs();
	expect(fill(0, { limitBytes: 0 })).toBe(true);
	expect(found.isFull(2)).toBe(true);
	expect(fill(0)).toBe(false);
	expect(found.isFull(2)).toBe(false);
});

test("a shard lags from 5 minutes on, and no more below one, and says each change once", () => {
	const { changes, found } = backlogs();
	const lags = (lagSeconds: number) => {
		found.take(2, { frames: 1, bytes: 1, limitBytes: 100, lagSeconds });
		return found.laggingOf([2]);
	};
	expect(found.laggingOf([2])).toBeUndefined();
	expect([300, 301, 299, 61, 60, 300].map(lags)).toEqual([
		[],
		[2],
		[2],
		[2],
		[],
		[],
	]);
	expect(changes).toEqual([2, 2, 2]);
	// Of a Source that has moved, nobody knows all yet.
	expect(found.laggingOf([1, 2])).toBeUndefined();
});

test("nobody knows whether a shard fills before it was read", () => {
	const { fill, found } = backlogs();
	expect(found.fills(2)).toBe(undefined);
	fill(1);
	expect(found.fills(2)).toBe(false);
});

test("a shard that doesn't answer gets no new Sources, hides no other, and is warned of once", async () => {
	const warnings: string[] = [];
	const log = pino({ level: "warn" }, { write: (line) => warnings.push(line) });
	let isSilent = true;
	const found = new ShardBacklogs(
		async () => [
			isSilent ? { shard: 0, error: new Error("timeout") } : { shard: 0 },
			{
				shard: 1,
				backlog: { frames: 1, bytes: 61, limitBytes: 100, lagSeconds: 1 },
			},
		],
		log,
	);
	await found.readOnce();
	await found.readOnce();
	expect(warnings).toHaveLength(1);
	expect([0, 1].map((shard) => found.isFilling(shard))).toEqual([true, true]);
	expect([0, 1].map((shard) => found.fills(shard))).toEqual([undefined, true]);
	expect(found.isRoomIn(2)).toBe(false);
	isSilent = false;
	await found.readOnce();
	expect(found.isFilling(0)).toBe(false);
	expect(found.isRoomIn(2)).toBe(true);
});
