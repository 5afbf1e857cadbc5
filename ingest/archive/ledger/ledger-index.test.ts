import { expect, test } from "vitest";
import type { CutRecord } from "../decide/cut.ts";
import { LedgerIndex, ledgerOf } from "./ledger-index.ts";

const sourceKey = "ffeeddccbbaa99887766554433221100";

function cut(
	stream: string,
	first: number,
	last: number,
	rows: Record<string, number>,
	time = "2026-03-01T12:00:00.000Z",
): CutRecord {
	const mark = { id: "x", time };
	return {
		version: 1,
		stream,
		first,
		last,
		firstFrame: mark,
		lastFrame: mark,
		repeated: [],
		processes: {},
		groups: Object.entries(rows).map(([date, count]) => ({
			account: "shop",
			sourceKey,
			date,
			rows: count,
			lastEventTime: `${date}T11:00:00.000Z`,
		})),
	};
}

function indexOf(...cuts: CutRecord[]) {
	const index = new LedgerIndex();
	for (const each of cuts) index.add(each);
	return index;
}

test("rows of a date are summed over cuts and streams, each cut once", () => {
	const index = indexOf(
		cut("old", 1, 9, { "2026-02-28": 4 }),
		cut("new", 1, 5, { "2026-02-28": 1, "2026-03-01": 2 }),
		cut("new", 1, 5, { "2026-02-28": 1, "2026-03-01": 2 }),
		cut("new", 6, 6, { "2026-03-01": 3 }),
	);
	expect(ledgerOf(index.source("shop", sourceKey)!)).toEqual({
		version: 1,
		account: "shop",
		sourceKey,
		firstEventDate: "2026-02-28",
		lastEventTime: "2026-03-01T11:00:00.000Z",
		archivedThrough: "2026-03-01T12:00:00.000Z",
		archived: { "2026-02-28": 5, "2026-03-01": 5 },
	});
});

test("the published ledger leaves out dates that no Run can load", () => {
	const index = indexOf(
		cut("s", 1, 1, { "2026-01-29": 7, "2026-01-30": 8, "2026-03-01": 1 }),
	);
	const ledger = ledgerOf(index.source("shop", sourceKey)!);
	expect(ledger.archived).toEqual({ "2026-01-30": 8, "2026-03-01": 1 });
	expect(ledger.firstEventDate).toBe("2026-01-29");
});

test("a source is found only under its own account", () => {
	expect(
		indexOf(cut("s", 1, 1, { "2026-03-01": 1 })).source("other", sourceKey),
	).toBeUndefined();
});

test("a later cut with earlier events moves the first date back, and never the times", () => {
	const index = indexOf(
		cut("new", 1, 1, { "2026-03-02": 1 }, "2026-03-02T12:00:00.000Z"),
		cut("old", 1, 1, { "2026-03-01": 1 }, "2026-03-01T12:00:00.000Z"),
	);
	expect(index.source("shop", sourceKey)).toMatchObject({
		firstEventDate: "2026-03-01",
		lastEventTime: "2026-03-02T11:00:00.000Z",
		archivedThrough: "2026-03-02T12:00:00.000Z",
	});
});

test("the shard is archived through its latest source's time", () => {
	const index = indexOf(
		cut("s", 1, 1, { "2026-03-01": 1 }, "2026-03-01T12:00:00.000Z"),
	);
	const [source] = index.sources();
	const others = ["2026-03-03T00:00:00.000Z", "2026-03-02T00:00:00.000Z"];
	const restored = LedgerIndex.of(index.newestOfStream, [
		source!,
		...others.map((archivedThrough, number) => ({
			...source!,
			sourceKey: `${number}`,
			archivedThrough,
		})),
	]);
	expect(new LedgerIndex().archivedThrough).toBeUndefined();
	expect(restored.archivedThrough).toBe(others[0]);
});

test("a restored index continues where its snapshot ended, and forgets what is removed", () => {
	const before = indexOf(cut("s", 1, 5, { "2026-03-01": 1 }));
	const index = LedgerIndex.of(before.newestOfStream, before.sources());
	index.add(cut("s", 1, 5, { "2026-03-01": 1 }));
	index.add(cut("s", 6, 6, { "2026-02-28": 2 }));
	const { archived } = ledgerOf(index.source("shop", sourceKey)!);
	expect(Object.entries(archived)).toEqual([
		["2026-02-28", 2],
		["2026-03-01", 1],
	]);
	index.remove({ account: "shop", sourceKey });
	expect([...index.sources()]).toEqual([]);
});
