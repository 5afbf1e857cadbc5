import pino from "pino";
import { expect, test } from "vitest";
import { objectKeys } from "../../../packages/bucket/object-keys.ts";
import type { AddedLedger } from "../../../packages/contracts/ledger.ts";
import { MemoryStore } from "../../../test/support/doubles/memory-store.ts";
import { AddedLedgers } from "./added-ledgers.ts";
import { AdditionStore } from "./addition-store.ts";

const keys = objectKeys("p");
const shop = { account: "shop", sourceKey: "aa".repeat(16) };
const bank = { account: "bank", sourceKey: "bb".repeat(16) };
const date = "2026-03-01";
const { signal } = new AbortController();

/** A bucket with release records, and what is published about it. */
function bucket() {
	const store = new MemoryStore("p");
	const published = new Map<string, AddedLedger>();
	const deleted = new Set<string>();
	let writes = 0;
	let opened = 0;
	/** Comes between the reading of the records and the write. */
	let meanwhile = async () => {};
	const ledgers = new AddedLedgers({
		store,
		tombstones: { has: ({ sourceKey }) => deleted.has(sourceKey) },
		log: pino({ level: "silent" }),
		progress: async () => {
			opened++;
			return {
				// As NatsProgress does it, by compare-and-set.
				setAdded: async (sourceKey, count) => {
					for (;;) {
						const before = published.get(sourceKey);
						const after = await count(before);
						const then = meanwhile;
						meanwhile = async () => {};
						await then();
						if (published.get(sourceKey) !== before) continue;
						if (!after || JSON.stringify(after) === JSON.stringify(before))
							return;
						writes++;
						published.set(sourceKey, after);
						return;
					}
				},
			};
		},
	});
	return {
		store,
		opened: () => opened,
		ledgers,
		published,
		deleted,
		writes: () => writes,
		onceMeanwhile: (act: () => Promise<void>) => {
			meanwhile = act;
		},
		record: (
			source: typeof shop,
			of: string,
			number: number,
			rows: number,
			imported = false,
		) =>
			new AdditionStore(store).decide(number, {
				version: 1,
				...source,
				date: of,
				operation: `${number}`,
				stream: "s",
				first: 1,
				last: 1,
				key: `object-${number}`,
				rows,
				bytes: 1,
				...(imported && { imported }),
			}),
		counts: (source = shop) => published.get(source.sourceKey)?.released,
	};
}

test("released events are counted by date, from the records", async () => {
	const { ledgers, record, counts } = bucket();
	await record(shop, date, 1, 3);
	await record(shop, date, 2, 4);
	await record(shop, "2026-03-02", 1, 5);
	expect(await ledgers.publish(shop)).toEqual(counts());
	expect(counts()).toEqual({
		[date]: { events: 7, imported: 0, releases: 2 },
		"2026-03-02": { events: 5, imported: 0, releases: 1 },
	});
});

test("imported events are counted apart", async () => {
	const { ledgers, record, counts } = bucket();
	await record(shop, date, 1, 3);
	await record(shop, date, 2, 4, true);
	await ledgers.publish(shop);
	await record(shop, date, 3, 5, true);
	await ledgers.publish(shop);
	expect(counts()).toEqual({
		[date]: { events: 3, imported: 9, releases: 3 },
	});
});

test("an entry that says nothing of imported events is counted anew", async () => {
	const { ledgers, record, counts, published } = bucket();
	await record(shop, date, 1, 3);
	await record(shop, date, 2, 4, true);
	published.set(shop.sourceKey, {
		version: 1,
		...shop,
		released: { [date]: { events: 3, releases: 2 } },
	});
	await ledgers.publishAll(signal);
	expect(counts()).toEqual({
		[date]: { events: 3, imported: 4, releases: 2 },
	});
});

test("a repeated count changes nothing, and a later release adds its own events", async () => {
	const { ledgers, record, counts, writes } = bucket();
	await record(shop, date, 1, 3);
	await ledgers.publish(shop);
	await ledgers.publish(shop);
	expect(writes()).toBe(1);
	await record(shop, date, 2, 4);
	await ledgers.publish(shop);
	expect(counts()).toEqual({ [date]: { events: 7, imported: 0, releases: 2 } });
});

test("of two counts at once, the one that has read fewer records doesn't stay", async () => {
	const { ledgers, record, counts, onceMeanwhile } = bucket();
	await record(shop, date, 1, 3);
	onceMeanwhile(async () => {
		await record(shop, date, 2, 4);
		await ledgers.publish(shop);
	});
	await ledgers.publish(shop);
	expect(counts()).toEqual({ [date]: { events: 7, imported: 0, releases: 2 } });
});

test("a start counts what a killed archive left unpublished, of every account", async () => {
	const { ledgers, record, counts, published } = bucket();
	await record(shop, date, 1, 3);
	await ledgers.publish(shop);
	await record(shop, date, 2, 4);
	await record(bank, date, 1, 1);
	await ledgers.publishAll(signal);
	expect(counts()).toEqual({ [date]: { events: 7, imported: 0, releases: 2 } });
	expect(counts(bank)).toEqual({
		[date]: { events: 1, imported: 0, releases: 1 },
	});
	// NATS has lost its data.
	published.clear();
	await ledgers.publishAll(signal);
	expect(counts()).toEqual({ [date]: { events: 7, imported: 0, releases: 2 } });
});

test("nothing is published of a source that is deleted", async () => {
	const { ledgers, record, counts, deleted } = bucket();
	await record(shop, date, 1, 3);
	deleted.add(shop.sourceKey);
	await ledgers.publish(shop);
	expect(counts()).toBeUndefined();
});

test("a record that can't be read keeps no other account from its count", async () => {
	const { ledgers, record, counts, store, opened } = bucket();
	await record(shop, date, 1, 3);
	await record(bank, date, 1, 1);
	// It comes first in the listing.
	const key = keys.addedRecord({ ...bank, date }, 1);
	store.objects.set(key, '{"version":2}');
	await expect(ledgers.publishAll(signal)).rejects.toThrow(
		"The released events of 1 source can't be counted",
	);
	expect(counts(bank)).toBeUndefined();
	expect(counts()).toEqual({ [date]: { events: 3, imported: 0, releases: 1 } });
	expect(opened()).toBe(1);
});

test("a stop ends the count of all accounts", async () => {
	const { ledgers, record, counts, onceMeanwhile } = bucket();
	await record(shop, date, 1, 3);
	await record(bank, date, 1, 1);
	const stop = new AbortController();
	onceMeanwhile(async () => {
		stop.abort(new Error("stopped"));
		throw new Error("the connection is closed");
	});
	await expect(ledgers.publishAll(stop.signal)).rejects.toThrow("stopped");
	expect(counts()).toBeUndefined();
});

test("a count that is anew comes from the records alone, whatever is published", async () => {
	const { ledgers, record, counts, published } = bucket();
	await record(shop, date, 1, 3);
	await record(shop, date, 2, 4);
	published.set(shop.sourceKey, {
		version: 1,
		...shop,
		released: { [date]: { events: 99, releases: 1 } },
	});
	await ledgers.publish(shop, { anew: true });
	expect(counts()).toEqual({ [date]: { events: 7, imported: 0, releases: 2 } });
});
