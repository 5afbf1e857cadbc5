import { expect, test } from "vitest";
import {
	addDays,
	datesBetween,
	startOfDate,
	type UtcDate,
} from "../../../packages/contracts/utc-date.ts";
import type { CutRecord } from "../decide/cut.ts";
import type { LostGroup } from "../decide/loss.ts";
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

function contentsOf(index: LedgerIndex) {
	const { newestOfStream, days, lostFrames } = index;
	return { newestOfStream, days, lostFrames, sources: index.sources() };
}

/** Cuts at noon of these dates, each with events of its date. */
function daily(...dates: UtcDate[]) {
	return dates.map((date, day) =>
		cut("s", day + 1, day + 1, { [date]: 1 }, `${date}T12:00:00.000Z`),
	);
}

function datesIn(index: LedgerIndex) {
	return [...index.source("shop", sourceKey)!.objects.keys()].sort();
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

const deviation = {
	kind: "TypeMismatch" as const,
	annotated: 1,
	quarantined: 2,
	lastEventTime: "2026-03-01T11:00:00.000Z",
};

/** The same cut with its events in quarantine, and a deviation of each type. */
function quarantined(cut: CutRecord, ...types: string[]): CutRecord {
	const groups = cut.groups.map((group) => ({
		...group,
		quarantined: true as const,
	}));
	const deviations = cut.groups.map(({ account, sourceKey, date }) => ({
		account,
		sourceKey,
		date,
		entries: types.map((type) => ({ ...deviation, type })),
	}));
	return { ...cut, groups, deviations };
}

test("events in quarantine and deviations are counted apart from what is archived", () => {
	const index = indexOf(
		cut("s", 1, 1, { "2026-03-01": 4 }),
		quarantined(cut("s", 2, 2, { "2026-02-28": 3, "2026-03-01": 2 }), "a", "b"),
		quarantined(cut("s", 3, 3, { "2026-03-01": 1 }), "b"),
	);
	expect(ledgerOf(index.source("shop", sourceKey)!)).toMatchObject({
		firstEventDate: "2026-02-28",
		archived: { "2026-03-01": 4 },
		quarantined: { "2026-02-28": 3, "2026-03-01": 3 },
		deviations: {
			entries: [
				{ ...deviation, type: "b", annotated: 3, quarantined: 6 },
				{ ...deviation, type: "a", annotated: 2, quarantined: 4 },
			],
		},
	});
});

test("of a source whose senders make up types, twenty are told apart, by date and in all", () => {
	const types = (from: number) =>
		Array.from({ length: 15 }, (_, n) => `t${from + n}`);
	const index = indexOf(
		quarantined(cut("s", 1, 1, { "2026-03-01": 1 }), ...types(0)),
		quarantined(cut("s", 2, 2, { "2026-03-01": 1 }), ...types(10)),
		quarantined(cut("s", 3, 3, { "2026-03-02": 1 }), ...types(20)),
	);
	const source = index.source("shop", sourceKey)!;
	expect(source.deviations.get("2026-03-01")!.entries).toHaveLength(20);
	const { entries, others } = ledgerOf(source).deviations!;
	expect(entries).toHaveLength(20);
	const all = [...entries, others!].reduce((sum, e) => sum + e.quarantined, 0);
	expect(all).toBe(3 * 15 * 2);
});

test("quarantine and deviations of dates that no manifest includes are forgotten, and left out of the ledger before", () => {
	const dates = datesBetween("2026-01-01", "2026-03-01");
	const index = indexOf(
		...daily(...dates).map((each) => quarantined(each, "a")),
	);
	const source = index.source("shop", sourceKey)!;
	expect([...source.quarantined.keys()].sort()).toEqual(dates.slice(-32));
	expect([...source.deviations.keys()].sort()).toEqual(dates.slice(-32));
	const ledger = ledgerOf(source);
	expect(Object.keys(ledger.quarantined!)).toHaveLength(31);
	expect(ledger.deviations!.entries).toMatchObject([{ annotated: 31 }]);
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
	const restored = LedgerIndex.of({
		...contentsOf(index),
		sources: [
			source!,
			...others.map((archivedThrough, number) => ({
				...source!,
				sourceKey: `${number}`,
				archivedThrough,
			})),
		],
	});
	expect(new LedgerIndex().archivedThrough).toBeUndefined();
	expect(restored.archivedThrough).toBe(others[0]);
});

test("a restored index continues where its snapshot ended, and forgets what is removed", () => {
	const before = indexOf(cut("s", 1, 5, { "2026-03-01": 1 }));
	const index = LedgerIndex.of(contentsOf(before));
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

test("after a year, the index holds the dates that a manifest may include and no others", () => {
	const end = "2026-12-31";
	const index = indexOf(...daily(...datesBetween("2026-01-01", end)));
	expect(datesIn(index)).toEqual(datesBetween(addDays(end, -31), end));
	const source = index.source("shop", sourceKey)!;
	const { archived } = ledgerOf(source, startOfDate("2027-01-01"));
	expect(Object.keys(archived)).toHaveLength(31);
	expect(source.firstEventDate).toBe("2026-01-01");
});

test("a clock that jumps by a year and back makes the index forget nothing", () => {
	const month = datesBetween("2026-03-01", "2026-03-31");
	const index = indexOf(
		...daily(...month.slice(0, -1), "2027-03-30", "2026-03-31"),
	);
	expect(datesIn(index)).toEqual([...month, "2027-03-30"]);
});

test("days that a clock was ahead on, however many, make the index forget nothing that Runs load", () => {
	const ahead = datesBetween("2026-06-01", "2026-08-31");
	const month = datesBetween("2026-03-01", "2026-03-31");
	for (const order of [
		[...ahead, ...month],
		[...month.slice(0, 15), ...ahead.slice(0, 9), ...month.slice(15)],
		month.flatMap((date, day) => [date, ahead[day]!]),
	])
		expect(datesIn(indexOf(...daily(...order)))).toEqual(
			expect.arrayContaining(month),
		);
});

test("times of the future give way to a cut's when the clocks are right again, and hide no date", () => {
	const date = "2026-03-02";
	const now = Date.parse(`${date}T12:00:00Z`);
	const index = new LedgerIndex(() => now);
	const at = (first: number, time: string) =>
		cut("s", first, first, { [time.slice(0, 10)]: 1 }, time);
	index.add(at(1, "2026-02-01T11:00:00.000Z"));
	index.add(at(2, "2026-03-05T11:00:00.000Z"));
	const source = index.source("shop", sourceKey)!;
	expect(ledgerOf(source, now).archived).toHaveProperty("2026-02-01", 1);
	index.add(at(3, `${date}T11:59:00.000Z`));
	expect(source).toMatchObject({
		lastEventTime: `${date}T11:00:00.000Z`,
		archivedThrough: `${date}T11:59:00.000Z`,
	});
	expect(index.archivedThrough).toBe(`${date}T11:59:00.000Z`);
	// Of two that have come, the later one counts, in whatever order they come.
	index.add(at(4, `${date}T11:00:00.000Z`));
	expect(index.archivedThrough).toBe(`${date}T11:59:00.000Z`);
});

test("days on which nothing was archived don't count", () => {
	const weekly = Array.from({ length: 20 }, (_, week) =>
		addDays("2026-03-01", 7 * week),
	);
	expect(datesIn(indexOf(...daily(...weekly)))).toEqual(weekly);
});

test("an event of a date that is forgotten is counted as the source's, and takes no memory", () => {
	const index = indexOf(...daily(...datesBetween("2026-03-01", "2026-04-30")));
	index.add(cut("t", 1, 1, { "2026-02-01": 1 }, "2026-04-30T13:00:00.000Z"));
	expect(datesIn(index)[0]).toBe("2026-03-30");
	expect(index.source("shop", sourceKey)!.firstEventDate).toBe("2026-02-01");
});

test("events that are lost of a cut don't count, however often that is said, and their frames count as lost once", () => {
	const index = indexOf(
		cut("s", 1, 3, { "2026-02-28": 4, "2026-03-01": 2 }),
		cut("s", 4, 6, { "2026-02-28": 1, "2026-03-01": 2 }),
		cut("t", 4, 4, { "2026-02-28": 8 }),
	);
	const lost = (...groups: LostGroup[]) =>
		index.lose({
			version: 1,
			stream: "s",
			loss: {
				kind: "objects",
				from: 4,
				to: 6,
				time: "2026-03-02T12:00:00Z",
				groups,
			},
		});
	const group = { account: "shop", sourceKey, date: "2026-02-28", rows: 1 };
	expect(lost()).toEqual([]);
	expect(lost({ ...group, quarantined: true })).toEqual([]);
	expect(lost({ ...group, sourceKey: "other" })).toEqual([]);
	expect(index.lostFrames.size).toBe(0);
	const source = index.source("shop", sourceKey)!;
	expect(lost(group)).toEqual([source]);
	expect(lost(group)).toEqual([]);
	expect([...index.lostFrames]).toEqual([["2026-03-02", 3]]);
	expect(ledgerOf(source).archived).toEqual({
		"2026-02-28": 12,
		"2026-03-01": 4,
	});
});

test.each([
	["", (cut: CutRecord) => cut],
	[" in quarantine", (cut: CutRecord) => quarantined(cut)],
])(
	"a date whose events%s are all lost counts as one that had none, and is known",
	(_, kindOf) => {
		const lost = kindOf(cut("s", 1, 1, { "2026-02-28": 4 }));
		const index = indexOf(lost, cut("s", 2, 2, { "2026-03-01": 2 }));
		const time = "2026-03-02T12:00:00Z";
		const loss = { kind: "objects" as const, from: 1, to: 1, time };
		const record = {
			version: 1 as const,
			stream: "s",
			loss: { ...loss, groups: lost.groups },
		};
		expect(index.lose(record)).toHaveLength(1);
		expect(index.lose(record)).toEqual([]);
		const source = index.source("shop", sourceKey)!;
		const ledger = ledgerOf(source);
		expect(ledger.archived).toEqual({ "2026-03-01": 2 });
		expect(ledger.quarantined).toBeUndefined();
		const dates = [...source.objects.keys(), ...source.quarantined.keys()];
		expect(dates.sort()).toEqual(["2026-02-28", "2026-03-01"]);
	},
);

const date = "2026-02-28";
const compacted = { account: "shop", sourceKey, date };
const inputsOf = (stream: string, ...firsts: number[]) =>
	firsts.map((first) => ({ stream, first }));

test("objects that a compaction replaced are held no more, and the ledger says the same, also of what comes later", async () => {
	const cuts = [1, 2, 3].map((first) =>
		cut("s", first, first, { [date]: first }),
	);
	const index = indexOf(...cuts, quarantined(cut("s", 4, 4, { [date]: 2 })));
	const source = index.source("shop", sourceKey)!;
	const before = ledgerOf(source);
	const changes = index.changesOfDate.get(date)!;
	const outputs = [{ rows: 3, inputs: inputsOf("s", 1, 2) }];
	expect(await index.replace(compacted, outputs)).toBe(true);
	expect(ledgerOf(source)).toEqual(before);
	expect([...source.objects.get(date)!]).toEqual([
		{ stream: "s", first: 2, rows: 3 },
		{ stream: "s", first: 3, rows: 3 },
	]);
	expect(source.objects.get(date)!.count).toBe(3);
	expect(index.changesOfDate.get(date)).toBe(changes + 1);
	// A date is compacted once, and has late events.
	expect(
		await index.replace(compacted, [{ rows: 6, inputs: inputsOf("s", 2, 3) }]),
	).toBe(true);
	index.add(cut("s", 5, 5, { [date]: 4 }));
	expect(ledgerOf(source).archived).toEqual({ [date]: 10 });
	const loss = {
		kind: "objects" as const,
		from: 5,
		to: 5,
		time: "2026-03-02T12:00:00Z",
	};
	const lost = { ...compacted, rows: 4 };
	index.lose({ version: 1, stream: "s", loss: { ...loss, groups: [lost] } });
	expect(ledgerOf(source).archived).toEqual({ [date]: 6 });
	expect(source.objects.get(date)!.count).toBe(3);
});

test("an archive that has yet to learn cuts which another one has compacted keeps the objects until then", async () => {
	const cuts = [1, 2, 3].map((first) =>
		cut("s", first, first, { [date]: first }),
	);
	const index = indexOf(...cuts.slice(0, 2));
	const outputs = [{ rows: 6, inputs: inputsOf("s", 1, 2, 3) }];
	expect(await index.replace(compacted, outputs)).toBe(false);
	expect(
		await index.replace(compacted, [{ rows: 1, inputs: inputsOf("t", 1) }]),
	).toBe(false);
	index.add(cuts[2]!);
	const { objects } = index.source("shop", sourceKey)!;
	expect(objects.get(date)).toMatchObject({ rows: 6, replaced: undefined });
	expect(await index.replace(compacted, outputs)).toBe(true);
	expect(objects.get(date)).toMatchObject({ rows: 6, count: 3, replaced: 2 });
	expect(
		await index.replace({ ...compacted, date: "2026-02-27" }, outputs),
	).toBe(true);
	expect(await index.replace({ ...compacted, account: "other" }, outputs)).toBe(
		true,
	);
});

test("an index that begins within a compacted date counts what it knows of it, and asks for its record once", async () => {
	const index = indexOf(cut("s", 3, 3, { [date]: 3 }));
	const outputs = [{ rows: 6, inputs: inputsOf("s", 1, 2, 3) }];
	expect(await index.replace(compacted, outputs)).toBe(true);
	const { objects } = index.source("shop", sourceKey)!;
	expect(objects.get(date)).toMatchObject({ rows: 3, count: 1, replaced: 0 });
});

test("what a cut adds to a date, or a loss takes from it, while its replaced objects are left out is never left out: the next look does it", async () => {
	const cuts = [1, 2, 3].map((first) =>
		cut("s", first, first, { [date]: first }),
	);
	const index = indexOf(...cuts);
	const source = index.source("shop", sourceKey)!;
	const outputs = [{ rows: 3, inputs: inputsOf("s", 1, 2) }];
	const adding = index.replace(compacted, outputs);
	index.add(cut("s", 4, 4, { [date]: 4 }));
	expect(await adding).toBe(false);
	expect(source.objects.get(date)).toMatchObject({ count: 4, rows: 10 });
	const losing = index.replace(compacted, outputs);
	const { time } = cuts[0]!.lastFrame;
	const groups = [{ ...compacted, rows: 4 }];
	const loss = { kind: "objects" as const, from: 4, to: 4, time, groups };
	index.lose({ version: 1, stream: "s", loss });
	expect(await losing).toBe(false);
	const both = [1, 2].map(() => index.replace(compacted, outputs));
	expect((await Promise.all(both)).sort()).toEqual([false, true]);
	expect(source.objects.get(date)).toMatchObject({
		count: 3,
		rows: 6,
		replaced: 1,
	});
});

/** Cuts of streams that say something of stream `gone`, whose newest cut ends at sequence 4. */
function afterGone(...said: NonNullable<CutRecord["left"]>[]): CutRecord[] {
	return [
		cut("gone", 1, 4, { "2026-03-01": 4 }),
		...said.map((left, n) => ({ ...cut(`s${n}`, 1, 1, {}), left })),
	];
}

const since = "2026-03-01T11:58:00.000Z";
const untold = [{ stream: "gone", since, processes: ["a", "b"] }];

function toldBy(process: string, last: number, frames: number) {
	const of = { stream: "gone", process, last, since, frames };
	return { told: [of] };
}

test("what a stream held that is gone is unknown until each of its processes has told, in whichever order the cuts are read", () => {
	const cuts = afterGone({ untold }, toldBy("a", 4, 0), toldBy("b", 4, 0));
	expect(indexOf(...cuts.slice(0, 3)).unknownSince).toBe(since);
	for (const order of [cuts, cuts.toReversed()]) {
		const { unknownSince, unknownStreams } = indexOf(...order);
		expect({ unknownSince, unknownStreams }).toEqual({
			...{ unknownSince: undefined, unknownStreams: 0 },
		});
	}
});

test("frames that nobody counts, and that were stored before one that somebody tells of, are unknown", () => {
	const through = (last: number, ...frames: number[]) =>
		indexOf(...afterGone(...frames.map((count) => toldBy("a", last, count))));
	expect(through(6, 2).unknownSince).toBeUndefined();
	expect(through(7, 2).unknownSince).toBe(since);
	// Told in two parts.
	expect(through(7, 2, 1).unknownSince).toBeUndefined();
});

test("a loss that nobody has counted is forgotten with its date", () => {
	const dates = Array.from({ length: 60 }, (_, day) =>
		addDays("2026-03-02", day),
	);
	const index = indexOf(...afterGone({ untold }));
	const unknown = daily(...dates).map((each) => {
		index.add(each);
		return index.unknownStreams;
	});
	expect(unknown[0]).toBe(1);
	expect(unknown.at(-1)).toBe(0);
});
