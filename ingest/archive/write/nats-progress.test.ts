import type { KV } from "@nats-io/kv";
import { expect, test } from "vitest";
import type { SourceLedger } from "../../../packages/contracts/ledger.ts";
import { NatsProgress } from "./nats-progress.ts";

/** A KV bucket in memory (ADR-8): a write names the revision that it follows. */
function bucket(): KV {
	const entries = new Map<string, { value: string; revision: number }>();
	const write = async (key: string, value: string, after = 0) => {
		const before = entries.get(key)?.revision ?? 0;
		if (before !== after) throw new Error("wrong last sequence");
		entries.set(key, { value, revision: before + 1 });
		return before + 1;
	};
	return {
		create: write,
		update: write,
		keys: async () => entries.keys(),
		get: async (key: string) => {
			const entry = entries.get(key);
			return (
				entry && {
					operation: "PUT",
					revision: entry.revision,
					string: () => entry.value,
					json: () => JSON.parse(entry.value),
				}
			);
		},
	} as unknown as KV;
}

const minuteMs = 60_000;

function ledgerThrough(ms: number): SourceLedger {
	return {
		version: 1,
		account: "shop",
		sourceKey: "aa".repeat(16),
		shard: 0,
		archivedThrough: new Date(ms).toISOString(),
	} as SourceLedger;
}

test("objects are never done through an earlier sequence than was said, by whichever archiver", async () => {
	const progress = new NatsProgress(bucket(), bucket());
	expect(await progress.objectsDone("stream")).toBe(0);
	for (const sequence of [5, 3])
		await progress.setObjectsDone("stream", sequence);
	expect(await progress.objectsDone("stream")).toBe(5);
});

test("a ledger gives way to a later one, and one through a time of the future to any", async () => {
	const ledgers = bucket();
	const progress = new NatsProgress(bucket(), ledgers);
	const now = Date.now();
	const published: number[] = [];
	for (const minutes of [-3, -1, -2, 72 * 60, -2]) {
		const ledger = ledgerThrough(now + minutes * minuteMs);
		await progress.setLedger(ledger);
		const entry = await ledgers.get(ledger.sourceKey);
		const { archivedThrough } = JSON.parse(entry!.string());
		published.push(Math.round((Date.parse(archivedThrough) - now) / minuteMs));
	}
	expect(published).toEqual([-3, -1, -1, 72 * 60, -2]);
});

test("of a bucket that a person has accepted, fewer events are counted than before, and none of a Source that it doesn't know", async () => {
	const progress = new NatsProgress(bucket(), bucket());
	const counted = (sourceKey: string, minute: number, events: number) => ({
		...ledgerThrough(Date.parse("2026-03-01T10:00:00Z") + minute * minuteMs),
		...{ sourceKey, firstEventDate: "2026-03-01", quarantined: {} },
		archived: { "2026-03-01": events },
	});
	const archived = async (sourceKey: string) => {
		const asked = { account: "shop", sourceKey, shards: [0] };
		const { ledgers } = await progress.counts(asked);
		return ledgers.map((ledger) => "archived" in ledger && ledger.archived);
	};
	await progress.setLedger(counted("less", 9, 30));
	await progress.setLedger(counted("unknown", 9, 5));
	// Receive's clock was past midnight, NATS's wasn't, and no event came since.
	const atMidnight = -10 * 60 - 1;
	await progress.setLedger(counted("quiet", atMidnight, 1));
	await progress.setShard({ version: 1, shard: 0, lostFrames: {} });
	await progress.forgetCounts();
	await progress.setLedger(counted("less", 1, 10));
	expect(await archived("less")).toEqual([{ "2026-03-01": 10 }]);
	await progress.setLedger(counted("quiet", atMidnight, 1));
	expect(await archived("quiet")).toEqual([{ "2026-03-01": 1 }]);
	expect(await archived("unknown")).toEqual([{}]);
	expect(await progress.shardState(0)).toMatchObject({ lostFrames: {} });
});
