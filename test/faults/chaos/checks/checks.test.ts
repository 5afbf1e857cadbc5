import { expect, test } from "vitest";
import type { CutRecord } from "../../../../ingest/archive/decide/cut.ts";
import { outputName } from "../../../../ingest/wire/object-name.ts";
import type { ViolationKind } from "../../../../packages/contracts/tracking-plan.ts";
import type { PlainRow } from "../../../support/senders/persistent-sender.ts";
import type { Expected } from "../scene/planned-events.ts";
import { type Check, Violation } from "../scene/violation.ts";
import {
	faultOfLedger,
	type ObjectRow,
	type Remains,
	verifyManifest,
	verifyRemains,
	verifyTable,
} from "./checks.ts";

const stream = "tidemill-frames-0-a";
const [date, nextDate] = ["2026-11-20", "2026-11-21"];
const lastMs = Date.parse("2026-11-20T23:59:59.999Z");

function idAt(timestampMs: number, n: number): string {
	const hex = timestampMs.toString(16).padStart(12, "0");
	return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-${String(n).padStart(12, "0")}`;
}

function objectOf(day: string, first: number, prefix = "events"): string {
	return `${prefix}/account=shop/source=5a/date=${day}/${stream}-${String(first).padStart(20, "0")}.parquet`;
}

function rowAt(timestampMs: number, n: number, object: string): ObjectRow {
	const [, day] = /date=([\d-]+)/.exec(object)!;
	return {
		event_id: idAt(timestampMs, n),
		digest: `digest ${n}`,
		object,
		sourceKey: "5a",
		date: day!,
		timestampMs,
		violations: null,
	};
}

/** An event that deviates from its plan, which wants it in quarantine. */
function quarantinedRow(timestampMs: number, n: number): ObjectRow {
	return {
		...rowAt(timestampMs, n, objectOf(nextDate, 10, "quarantine")),
		violations: violationsOf("TypeMismatch"),
	};
}

function violationsOf(...kinds: string[]): string {
	return JSON.stringify({
		type: "order",
		violations: kinds.map((kind) => ({ kind, path: "/id" })),
	});
}

function cutOf(first: number, last: number, rows: Record<string, number>) {
	const groups = Object.entries(rows).map(([day, count]) => ({
		account: "shop",
		sourceKey: "5a",
		date: day,
		rows: count,
		lastEventTime: "",
	}));
	return { stream, first, last, groups } as unknown as CutRecord;
}

/**
 * A world that keeps all promises: four events, the last of unknown outcome, in two cuts across midnight; one that was
 * annotated; one in quarantine; and one that was rejected.
 */
function whole(): Remains {
	const rows = [
		rowAt(lastMs - 1, 1, objectOf(date, 8)),
		rowAt(lastMs, 2, objectOf(date, 8)),
		rowAt(lastMs + 1, 3, objectOf(nextDate, 8)),
		rowAt(lastMs + 2, 4, objectOf(nextDate, 10)),
		quarantinedRow(lastMs + 3, 6),
	];
	rows[2]!.violations = violationsOf("OutOfRange", "OutOfRange");
	const acknowledged = new Map(
		[...rows.slice(0, 3), rows[4]!].map(
			({ event_id, digest, timestampMs: sentAtMs }) => {
				const answeredAtMs = sentAtMs + 5;
				return [event_id, { digest, sentAtMs, answeredAtMs }];
			},
		),
	);
	const cuts = [
		cutOf(8, 9, { [date]: 2, [nextDate]: 1 }),
		cutOf(10, 10, { [nextDate]: 1 }),
	];
	cuts[1]!.groups.push({ ...cuts[1]!.groups[0]!, quarantined: true });
	const sent = {
		acknowledged,
		rejected: new Set(["digest 7"]),
		unknown: new Set(["digest 4", "digest 5"]),
		notFound: 0,
		unavailable: 0,
	};
	const expected = new Map<string, Expected>([
		said("digest 3", "Accept", rows[2]!.violations),
		said("digest 6", "Quarantine", rows[4]!.violations),
		said("digest 7", "Reject", violationsOf("UnplannedEvent")),
	]);
	const streams = [
		{ base: 7, lastSequence: 10, cuts },
		{ base: 3, lastSequence: 3, cuts: [] },
	];
	const told = {
		...{ stored: [], life: 1, losses: [], unknownSinceMs: new Map() },
	};
	return { sent, expected, rows, streams, told, compactions: [] };
}

function said(
	digest: string,
	outcome: Expected["outcome"],
	violations: string | null,
): [string, Expected] {
	return [digest, { outcome, violations: violations ?? "", isDeviating: true }];
}

const ledger = {
	archived: { [date]: 2, [nextDate]: 2 },
	quarantined: { [nextDate]: 1 },
	deviations: {
		entries: [
			deviation("TypeMismatch", 0, 1, lastMs + 3),
			deviation("OutOfRange", 1, 0, lastMs + 1),
		],
	},
};

function deviation(
	kind: ViolationKind,
	annotated: number,
	quarantined: number,
	lastEventMs: number,
) {
	const lastEventTime = new Date(lastEventMs).toISOString();
	return { type: "order", kind, annotated, quarantined, lastEventTime };
}

/** The same after the compaction of the later date. */
function compacted(): Remains {
	const world = whole();
	const folder = `events/account=shop/source=5a/date=${nextDate}/`;
	const inputs = [8, 10].map((first) =>
		objectOf(nextDate, first).slice(folder.length),
	);
	const name = outputName(inputs);
	const output = { name, rows: 2, bytes: 1, sha256: "", inputs };
	const of = { account: "shop", sourceKey: "5a", date: nextDate };
	world.compactions.push({ version: 1, ...of, outputs: [output] });
	for (const row of world.rows.slice(2, 4)) row.object = folder + name;
	return world;
}

function found(look: () => void): Check | undefined {
	try {
		look();
	} catch (error) {
		expect(error).toBeInstanceOf(Violation);
		return (error as Violation).check;
	}
	return undefined;
}

test("the checks find nothing where every promise is kept", () => {
	const { rows } = whole();
	expect(found(() => verifyRemains(whole()))).toBeUndefined();
	expect(found(() => verifyRemains(compacted()))).toBeUndefined();
	expect(faultOfLedger(ledger, rows)).toBeUndefined();
	expect(faultOfLedger(undefined, [])).toBeUndefined();
	expect(found(() => verifyTable("shop", rows, rows.toReversed()))).toBe(
		undefined,
	);
});

test.each<[Check, string, (world: Remains) => unknown]>([
	["once", "an acknowledged event is missing", ({ rows }) => rows.shift()],
	["once", "an event is there twice", ({ rows }) => rows.push(rows[0]!)],
	[
		"once",
		"an event has another's id, too",
		({ rows }) => rows.push({ ...rows[0]!, event_id: idAt(lastMs, 9) }),
	],
	[
		"once",
		"an acknowledged event has another body",
		({ rows }) => Object.assign(rows[0]!, { digest: "digest 5" }),
	],
	[
		"once",
		"an event was never sent",
		({ rows }) => Object.assign(rows[3]!, { digest: "digest 6" }),
	],
	[
		"once",
		"an event in quarantine is missing",
		({ rows }) => rows.splice(4, 1),
	],
	[
		"once",
		"an event in quarantine is among the rows, too",
		({ rows }) => rows.push({ ...rows[4]!, object: objectOf(nextDate, 10) }),
	],
	[
		"once",
		"a rejected event is stored",
		({ rows }) =>
			rows.push({ ...quarantinedRow(lastMs + 4, 7), digest: "digest 7" }),
	],
	[
		"validated",
		"an event in quarantine is among the rows instead",
		({ rows }) => Object.assign(rows[4]!, { object: objectOf(nextDate, 10) }),
	],
	[
		"validated",
		"an event without a plan is in quarantine",
		({ rows }) =>
			Object.assign(rows[3]!, { object: objectOf(nextDate, 10, "quarantine") }),
	],
	[
		"validated",
		"an event has lost its violations",
		({ rows }) => Object.assign(rows[2]!, { violations: null }),
	],
	[
		"validated",
		"an event was rejected that the plan would have kept",
		({ expected }) =>
			Object.assign(expected.get("digest 7")!, { outcome: "Quarantine" }),
	],
	[
		"date",
		"an event has the date before",
		({ rows }) => Object.assign(rows[2]!, { date, object: objectOf(date, 8) }),
	],
	[
		"date",
		"an event has the time at which it was archived",
		({ rows }) => Object.assign(rows[1]!, { timestampMs: lastMs - 1 }),
	],
	[
		"date",
		"an event's id is of another time",
		({ rows }) => Object.assign(rows[3]!, { timestampMs: lastMs + 3 }),
	],
	[
		"date",
		"an event was received before it was sent",
		({ rows, sent }) => {
			sent.acknowledged.get(rows[0]!.event_id)!.sentAtMs = lastMs;
		},
	],
	[
		"date",
		"an event was received after it was answered",
		({ rows, sent }) => {
			sent.acknowledged.get(rows[0]!.event_id)!.answeredAtMs = lastMs - 2;
		},
	],
	[
		"cuts",
		"the first cut is missing",
		({ streams: [first] }) => first!.cuts.shift(),
	],
	[
		"cuts",
		"the last cut is missing",
		({ streams: [first] }) => first!.cuts.pop(),
	],
	[
		"cuts",
		"two cuts share a sequence",
		({ streams: [first] }) => Object.assign(first!.cuts[1]!, { first: 9 }),
	],
	[
		"cuts",
		"a sequence is in no cut",
		({ streams: [first] }) => Object.assign(first!.cuts[0]!, { last: 8 }),
	],
	[
		"cuts",
		"the cuts go beyond the stream",
		({ streams }) => Object.assign(streams[0]!, { lastSequence: 9 }),
	],
	[
		"cuts",
		"the other shard has no cut of its last event",
		({ streams }) => Object.assign(streams[1]!, { lastSequence: 4 }),
	],
	[
		"objects",
		"an object of an unknown event is missing",
		({ rows }) => rows.splice(3, 1),
	],
	[
		"objects",
		"an object has a row less than its cut says",
		({ streams: [first] }) =>
			Object.assign(first!.cuts[0]!.groups[0]!, { rows: 3 }),
	],
	[
		"objects",
		"an object is of no cut",
		({ streams: [first] }) => first!.cuts[1]!.groups.pop(),
	],
	[
		"objects",
		"an event of the next cut is in this one's object",
		({ rows }) => Object.assign(rows[3]!, { object: objectOf(nextDate, 8) }),
	],
])("%s is found broken when %s", (check, _, spoil) => {
	const world = whole();
	spoil(world);
	expect(found(() => verifyRemains(world))).toBe(check);
});

test.each<[Check, string, (world: Remains) => unknown]>([
	[
		"once",
		"an object that was replaced counts, too",
		({ rows }) => rows.push({ ...rows[3]!, object: objectOf(nextDate, 10) }),
	],
	[
		"objects",
		"an object has a record's place",
		({ rows }) => Object.assign(rows[3]!, { object: objectOf(nextDate, 10) }),
	],
	["objects", "there is no record", ({ compactions }) => compactions.pop()],
	[
		"objects",
		"a record leaves an object out",
		({ compactions }) => compactions[0]!.outputs[0]!.inputs.pop(),
	],
])("after a compaction, %s is found broken when %s", (check, _, spoil) => {
	const world = compacted();
	spoil(world);
	expect(found(() => verifyRemains(world))).toBe(check);
});

const { entries } = ledger.deviations;

test.each<[string, object]>([
	["a date is missing", { archived: { [date]: 2 } }],
	["a date has one less", { archived: { [date]: 1, [nextDate]: 2 } }],
	[
		"a date is there that has no objects",
		{ archived: { ...ledger.archived, x: 1 } },
	],
	["quarantine isn't counted", { quarantined: undefined }],
	["quarantine is counted twice", { quarantined: { [nextDate]: 2 } }],
	["a deviation isn't counted", { deviations: { entries: [entries[0]!] } }],
	[
		"a deviation is counted for each violation",
		{
			deviations: {
				entries: [entries[0]!, deviation("OutOfRange", 2, 0, lastMs + 1)],
			},
		},
	],
	[
		"a deviation has the time of another",
		{
			deviations: {
				entries: [entries[0]!, deviation("OutOfRange", 1, 0, lastMs + 3)],
			},
		},
	],
	[
		"a deviation of no event is among the others",
		{ deviations: { entries, others: entries[0]! } },
	],
])("ledger is found broken when %s", (_, change) => {
	const fault = faultOfLedger({ ...ledger, ...change }, whole().rows);
	expect(fault).toContain("the ledger says");
});

test.each<[string, (table: PlainRow[]) => unknown]>([
	["a row is missing", (table) => table.pop()],
	["a row is there twice", (table) => table.push(table[0]!)],
	[
		"a row has another's body",
		(table) => Object.assign(table[0]!, { digest: "digest 5" }),
	],
])("table is found broken when %s", (_, spoil) => {
	const { rows } = whole();
	const table = rows.map((row) => ({ ...row }));
	spoil(table);
	expect(found(() => verifyTable("shop", rows, table))).toBe("table");
});

test.each<[Check | undefined, string, (named: PlainRow[]) => unknown]>([
	["manifest", "lacks an event that is due", (named) => named.shift()],
	[undefined, "lacks an event that isn't due", (named) => named.pop()],
	["manifest", "names an event twice", (named) => named.push(named[0]!)],
	[
		"manifest",
		"names an event of another Source",
		(named) => Object.assign(named[1]!, { event_id: idAt(lastMs, 9) }),
	],
])("%s is found broken when a manifest %s", (check, _, spoil) => {
	const { rows, sent } = whole();
	// The last one has an unknown outcome.
	const own = rows.toSpliced(3, 1).concat(rows[3]!);
	const named = own.map((row) => ({ ...row }));
	spoil(named);
	const due = new Set(sent.acknowledged.keys());
	const manifest = { what: "orders", due, rows: named };
	expect(found(() => verifyManifest(manifest, own))).toBe(check);
});
