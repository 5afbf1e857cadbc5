import { expect, test } from "vitest";
import { decideCut } from "../../ingest/archive/decide/cut.ts";
import { everyCompactionOf } from "./cut/compaction-model.ts";
import { searchAll } from "./cut/exhaustive-search.ts";
import { everyWayOf as everyCutOf, type Scenario } from "./cut/model.ts";
import { everyWayOf as everyClaimOf } from "./idempotency/model.ts";

/* The smallest world of each exhaustive search, for `make check`; `make test-deep` runs them all. */

const twoArchivers: Scenario = {
	script: [
		{ process: "p", number: 1, events: "aq" },
		{ process: "p", number: 2, events: "c" },
		{ process: "p", number: 2, events: "c" },
	],
	archivers: 2,
	crashes: 0,
	streamFault: "none",
};
const oneCompactor = {
	originals: 2,
	compactors: [4],
	readers: [{ kind: "Run" as const, renewals: 0 }],
	crashes: 1,
	turns: [],
	ticks: 3,
};
const oneReceiver = {
	receivers: 1,
	archivers: 1,
	requests: 2,
	others: 0,
	crashes: 1,
	expiries: 0,
	isLate: false,
};

test("two archivers put each event into exactly one object", () => {
	const { fault, states } = searchAll(everyCutOf(twoArchivers));
	expect(fault).toBeUndefined();
	expect(states).toBeGreaterThan(3_000);
});

test("a compactor that dies leaves each event readable once", () => {
	const { fault, states } = searchAll(everyCompactionOf(oneCompactor));
	expect(fault).toBeUndefined();
	expect(states).toBeGreaterThan(1_000);
});

test("a key that is sent twice becomes one row, though a process dies", () => {
	const { fault, states } = searchAll(everyClaimOf(oneReceiver));
	expect(fault).toBeUndefined();
	expect(states).toBeGreaterThan(1_000);
});

test("the search finds the fault when a cut ignores the frames before it", () => {
	const { fault } = searchAll(
		everyCutOf({
			...twoArchivers,
			mutation: {
				decideCut: (stream, _, frames) => decideCut(stream, {}, frames),
			},
		}),
	);
	expect(fault?.what).toMatch(/event c is in 2 objects/);
});
