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

test("the published ledger leaves out dates that no run can load", () => {
	const index = indexOf(
		cut("s", 1, 1, { "2026-01-29": 7, "2026-01-30": 8, "2026-03-01": 1 }),
	);
	const ledger = ledgerOf(index.source("shop", sourceKey)!);
	expect(ledger.archived).toEqual({ "2026-01-30": 8, "2026-03-01": 1 });
	expect(ledger.firstEventDate).toBe("2026-01-29");
});

test("a source is found under its own account alone", () => {
	expect(
		indexOf(cut("s", 1, 1, { "2026-03-01": 1 })).source("other", sourceKey),
	).toBeUndefined();
});
