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
		found.take({
			shard: 2,
			frames: 1,
			bytes,
			limitBytes: limit.limitBytes,
			lagSeconds: 1,
		});
		return found.isFilling(2);
	};
	return { changes, fill };
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
	expect(changes).toEqual([2, 2]);
});

test("a stream without a limit never fills", () => {
	const { fill } = backlogs();
	expect(fill(10 ** 12, {})).toBe(false);
});
