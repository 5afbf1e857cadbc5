import pino from "pino";
import { expect, test } from "vitest";
import type { ShardStop } from "../../packages/contracts/ledger.ts";
import { Alarm } from "./decide/alarm.ts";
import { StoppedShards } from "./stopped-shards.ts";

interface Part {
	isArchiving: boolean;
	isFailing: boolean;
	alarm: Alarm | undefined;
}

function scene(part: Partial<Part>, storeNotReady?: string) {
	const shard = {
		...{ number: 3, isArchiving: true, isFailing: false, alarm: undefined },
		...part,
	};
	const told: (ShardStop | undefined)[] = [];
	const nats = { isFull: false };
	const stopped = new StoppedShards({
		shards: [shard],
		storeNotReady: () => storeNotReady,
		maxAgeMs: 60_000,
		progress: async () => ({
			async setStopped(number, stop) {
				if (nats.isFull) throw new Error("no room");
				expect(number).toBe(3);
				told.push(stop);
			},
		}),
		log: pino({ level: "silent" }),
	});
	const look = (seconds: number) => stopped.look(seconds * 1_000);
	return { shard, told, nats, look };
}

test("an alarm is told at once and once, by its code alone, as soon as NATS has room for it", async () => {
	const alarm = new Alarm("CutMismatch", "the words name a stream");
	const { told, nats, look } = scene({ isArchiving: false, alarm });
	nats.isFull = true;
	await expect(look(0)).rejects.toThrow("no room");
	nats.isFull = false;
	for (const seconds of [10, 20, 30]) await look(seconds);
	expect(told).toEqual([{ alarm: "CutMismatch" }]);
});

test.each([
	["a shard that fails", { isArchiving: false, isFailing: true }, undefined],
	["a bucket that doesn't answer", {}, "silent"],
])(
	"%s is told after a minute, and that it is well at once",
	async (_, part, silent) => {
		const { shard, told, look } = scene(part, silent);
		for (const seconds of [0, 50, 61, 70]) await look(seconds);
		expect(told.filter(Boolean)).toEqual([{}]);
		if (silent) return;
		Object.assign(shard, { isArchiving: true, isFailing: false });
		await look(80);
		expect(told.at(-1)).toBeUndefined();
		Object.assign(shard, { isArchiving: false, isFailing: true });
		await look(90);
		expect(told.filter(Boolean)).toEqual([{}]);
	},
);

test("a shard that reads again after a failure is told only if its next cut doesn't come, and then until one comes", async () => {
	const { shard, told, look } = scene({ isFailing: true });
	for (const seconds of [0, 61, 110]) await look(seconds);
	expect(told.filter(Boolean)).toEqual([]);
	await look(120);
	expect(told.at(-1)).toEqual({});
	shard.isFailing = false;
	await look(130);
	expect(told.at(-1)).toBeUndefined();
	Object.assign(shard, { isArchiving: false, isFailing: true });
	for (const seconds of [140, 200]) await look(seconds);
	shard.isArchiving = true;
	await look(210);
	expect(told.at(-1)).toEqual({});
});

test("an archive that stands by takes nothing back, and one that works does", async () => {
	const { shard, told, look } = scene({ isArchiving: false });
	await look(0);
	expect(told).toEqual([]);
	shard.isArchiving = true;
	await look(10);
	expect(told).toEqual([undefined]);
});
