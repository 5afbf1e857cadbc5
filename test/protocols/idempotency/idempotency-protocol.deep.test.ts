// In make test: test/protocols/smallest-worlds.test.ts
import { expect, test } from "vitest";
import {
	claimed,
	onRefused,
	onStored,
	reactionTo,
} from "../../../ingest/wire/idempotency-entry.ts";
import { searchAll } from "../cut/exhaustive-search.ts";
import { everyWayOf, type Scenario } from "./model.ts";
import type { Protocol } from "./steps.ts";

/** The argument for all this: docs/decisions/0006-a-sender-s-key-is-one-event.md. */
const timeoutMs = 600_000;

const timely: Scenario = {
	receivers: 2,
	archivers: 1,
	requests: 2,
	others: 0,
	crashes: 1,
	expiries: 1,
	isLate: false,
};
const late: Scenario = { ...timely, expiries: 0, isLate: true };
const twoArchivers: Scenario = { ...late, archivers: 2, crashes: 0 };
const busy: Scenario = { ...timely, others: 1, crashes: 0 };
const busyCrash: Scenario = { ...timely, others: 1, expiries: 0 };
const threeRequests: Scenario = {
	...timely,
	requests: 3,
	crashes: 0,
	expiries: 0,
};

test.each<[string, Scenario, number]>([
	["with a crash, and a key that expires at any moment", timely, 20_000],
	["with a crash, and publishes that come too late", late, 10_000],
	[
		"with two archivers, and publishes that come too late",
		twoArchivers,
		20_000,
	],
	["with three requests", threeRequests, 10_000],
	["with events of others, and a key that expires", busy, 20_000],
	["with events of others, and a crash", busyCrash, 20_000],
])(
	"a key is one row, and no answer says otherwise, in every way %s",
	(_, scenario, atLeast) => {
		const { fault, states } = searchAll(everyWayOf(scenario));
		expect(fault).toBeUndefined();
		expect(states).toBeGreaterThan(atLeast);
	},
	timeoutMs,
);

test.each<[string, Scenario, Partial<Protocol>, RegExp]>([
	[
		"an id is taken over before the claim's deadline",
		timely,
		{
			reactionTo: (entry, progress) =>
				reactionTo(entry, progress && { ...progress, nowMs: Infinity }),
		},
		/two rows/,
	],
	[
		"an id is taken over before archive has seen all",
		timely,
		{
			reactionTo: (entry, progress) =>
				reactionTo(entry, progress && { ...progress, objectsDone: Infinity }),
		},
		/two rows/,
	],
	[
		"an id is taken over when archive has yet to see what is older than the deadline",
		busy,
		{
			reactionTo: (entry, progress) =>
				reactionTo(
					entry,
					progress && { ...progress, firstStoredAtMs: Infinity },
				),
		},
		/two rows/,
	],
	[
		"a claim is given back by another than its claimant",
		{ ...threeRequests, expiries: 1 },
		{
			onRefused: (entry) =>
				onRefused(entry, entry?.state === "claimed" ? entry.claim : ""),
		},
		/two rows/,
	],
	[
		"an id is taken over whatever the entry has become",
		timely,
		{ takesOverBlindly: true },
		/two rows|rows in/,
	],
	[
		"archive says that objects are done before it has settled their keys",
		timely,
		{ settlesLast: true },
		/two rows/,
	],
	[
		"a copy isn't dropped",
		late,
		{
			onStored: (entry, event, frame) => {
				const after = onStored(entry, event, frame);
				return after === "drop" ? "keep" : after;
			},
		},
		/two rows/,
	],
	[
		"a takeover gives the event a new id",
		late,
		{
			claimed: (event, claim, times, before) => ({
				...claimed(event, claim, times, before),
				event,
			}),
		},
		/rows in 1 windows|told to be stored/,
	],
	[
		"a sender is told before the frame is acknowledged",
		timely,
		{ answersEarly: true },
		/told to be stored/,
	],
])(
	"the search finds the fault when %s",
	(_, scenario, mutation, expected) => {
		const { fault } = searchAll(everyWayOf({ ...scenario, mutation }));
		expect(fault?.what).toMatch(expected);
	},
	timeoutMs,
);
