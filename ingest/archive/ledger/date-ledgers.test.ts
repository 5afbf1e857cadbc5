import { expect, test } from "vitest";
import { MemoryStore } from "../../../test/support/doubles/memory-store.ts";
import { ObjectKeys } from "../s3/object-keys.ts";
import { DateLedgers } from "./date-ledgers.ts";
import { DateObjects } from "./date-objects.ts";
import type { LedgerIndex } from "./ledger-index.ts";

const source = { account: "shop", sourceKey: "a".repeat(32) };
const date = "2026-03-31";
const keys = new ObjectKeys("tidemill");

/** Of a shard whose last event came on the date. */
const index = {
	archivedThrough: `${date}T12:00:00Z`,
	sources: () => [
		{
			...source,
			objects: new Map([
				[date, DateObjects.of([{ stream: "frames-0-a", first: 1, rows: 5 }])],
			]),
			quarantined: new Map(),
		},
	],
} as unknown as LedgerIndex;

test.each([
	["has been drained since", "2026-04-01T12:00:00Z", 1],
	["may still get events of the date", undefined, 0],
	["was drained on the date", `${date}T23:00:00Z`, 0],
])(
	"the date of a shard that %s and gets no more events",
	async (_, drainedAt, written) => {
		const store = new MemoryStore();
		const ledgers = new DateLedgers(store, keys);
		const kept = await ledgers.keep(index, {
			shard: 0,
			drainedAt,
			staysLonger: () => true,
			hasMoved: async () => true,
		});
		expect(kept).toBe(written);
		const key = keys.ledgerOfDate({ ...source, date }, 0);
		expect([...store.objects.keys()]).toEqual(written ? [key] : []);
		if (!written) return;
		const { objects } = await ledgers.require({ ...source, date });
		expect([...objects()!]).toMatchObject([{ first: 1, rows: 5 }]);
	},
);
