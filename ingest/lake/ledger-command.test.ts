import { expect, test } from "vitest";
import type { AddedLedger } from "../../packages/contracts/ledger.ts";
import { AbsentRows, RebuiltLedgers } from "./ledger-command.ts";

const shop = { account: "shop", sourceKey: "aa" };
const bank = { account: "bank", sourceKey: "bb" };
const gone = { account: "gone", sourceKey: "cc" };
const ledger = {
	version: 1,
	...shop,
	firstEventDate: "2026-01-01",
	lastEventTime: "2026-03-02T00:00:00.000Z",
	archivedThrough: "2026-03-02T00:00:00.000Z",
	archived: { "2026-03-01": 4 },
	quarantined: { "2026-03-01": 3, "2026-03-02": 2 },
} as const;

/** @param added by the sources' keys: what the records of releases and imports say. */
function rebuilt(added: Record<string, AddedLedger["released"]>) {
	const published: string[] = [];
	const ledgers = new RebuiltLedgers({
		progress: {
			setLedger: async ({ sourceKey }) => {
				published.push(sourceKey);
			},
		},
		added: {
			publish: async ({ sourceKey }, { anew } = {}) => {
				published.push(`released.${sourceKey}${anew ? " anew" : ""}`);
				return added[sourceKey] ?? {};
			},
		},
		additions: {
			sources: async function* () {
				for (const source of [bank, gone, shop])
					if (added[source.sourceKey]) yield source;
			},
		},
		tombstones: { has: ({ sourceKey }) => sourceKey === gone.sourceKey },
	});
	return { ledgers, published };
}

test("released events leave quarantine, and imported ones come from outside", async () => {
	const { ledgers, published } = rebuilt({
		aa: {
			"2026-03-01": { events: 1, imported: 5, releases: 2 },
			"2026-03-02": { events: 2, imported: 0, releases: 1 },
			"2026-03-03": { events: 0, imported: 6, releases: 1 },
		},
	});
	expect(await ledgers.publish(ledger)).toEqual([
		"shop\taa\t2026-03-01\t10\t2",
		"shop\taa\t2026-03-02\t2\t0",
		"shop\taa\t2026-03-03\t6\t0",
	]);
	expect(published).toEqual(["aa", "released.aa anew"]);
});

test("events whose objects are missing aren't counted as archived or in quarantine, and stand apart", async () => {
	const { ledgers } = rebuilt({
		aa: { "2026-03-01": { events: 1, imported: 5, releases: 2 } },
	});
	const absent = new AbsentRows();
	const found = { ...shop, date: "2026-03-01", objects: 0, rows: 0 };
	const none = { missing: [], accepted: [], unrecorded: [] };
	const object = (rows: number) =>
		[{ folder: "events", name: "n", rows }] as const;
	absent.add({ ...found, ...none, folder: "events", missing: [...object(2)] });
	absent.add({
		...found,
		...none,
		folder: "releases",
		accepted: [...object(5)],
	});
	absent.add({
		...found,
		...none,
		folder: "quarantine",
		missing: [...object(1)],
	});
	expect(await ledgers.publish(ledger, absent)).toEqual([
		"shop\taa\t2026-03-01\t3\t1\t8 missing",
		"shop\taa\t2026-03-02\t0\t2",
	]);
});

test("of a date that the ledger has forgotten, only the imported events count", async () => {
	const { ledgers } = rebuilt({
		aa: {
			"2026-01-01": { events: 5, imported: 0, releases: 1 },
			"2026-01-02": { events: 5, imported: 7, releases: 2 },
		},
	});
	expect(await ledgers.publish(ledger)).toEqual([
		"shop\taa\t2026-01-02\t7\t0",
		"shop\taa\t2026-03-01\t4\t3",
		"shop\taa\t2026-03-02\t0\t2",
	]);
});

test("a source that only has imported events is counted, and a deleted one isn't", async () => {
	const imported = { "2026-03-01": { events: 0, imported: 7, releases: 1 } };
	const { ledgers, published } = rebuilt({
		aa: imported,
		bb: imported,
		cc: imported,
	});
	await ledgers.publish(ledger);
	const lines = await Array.fromAsync(ledgers.publishOthers());
	expect(lines).toEqual(["bank\tbb\t2026-03-01\t7\t0"]);
	expect(published.slice(2)).toEqual(["released.bb anew"]);
});
