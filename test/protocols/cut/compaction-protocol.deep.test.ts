// In make test: test/protocols/smallest-worlds.test.ts
import { expect, test } from "vitest";
import {
	type CompactionRecord,
	supersededNames,
} from "../../../ingest/lake/compaction/record.ts";
import { visibleObjects } from "../../../ingest/lake/objects/replacements.ts";
import { isOutput } from "../../../ingest/wire/object-name.ts";
import {
	type CompactionScenario,
	everyCompactionOf,
} from "./compaction-model.ts";
import type { CompactionRules } from "./compaction-steps.ts";
import type { DateWorld } from "./compaction-world.ts";
import { searchAll } from "./exhaustive-search.ts";

/** The argument for all this: docs/decisions/0005-each-event-in-exactly-one-object.md. */
const timeoutMs = 600_000;

const run = { kind: "Run", renewals: 0 } as const;
const lake = { kind: "lake", renewals: 0 } as const;

const twoAlike: CompactionScenario = {
	originals: 3,
	compactors: [3, 3],
	readers: [run],
	crashes: 1,
	turns: [],
	ticks: 3,
};
const twoUnlike: CompactionScenario = {
	...twoAlike,
	originals: 4,
	compactors: [4, 2],
	readers: [lake],
	crashes: 0,
};
const oneLate: CompactionScenario = {
	...twoAlike,
	originals: 2,
	compactors: [4],
	readers: [{ kind: "Run", renewals: 1 }],
	turns: ["late"],
};
const rewritten: CompactionScenario = {
	...twoAlike,
	originals: 2,
	readers: [run],
	crashes: 0,
	turns: ["rewrite", "expire"],
};

test.each<[string, CompactionScenario, number]>([
	["two compactors, one of which dies, and a Run", twoAlike, 10_000],
	[
		"two that make different outputs, and a reader of the lake",
		twoUnlike,
		10_000,
	],
	["an object that comes late, and a Run whose links run out", oneLate, 10_000],
	[
		"an object that comes late, and a reader of the lake",
		{ ...oneLate, readers: [lake] },
		10_000,
	],
	["an archiver that writes again, retention, and a Run", rewritten, 10_000],
	[
		"an archiver that writes again, retention, and a reader of the lake",
		{ ...rewritten, readers: [lake] },
		10_000,
	],
])(
	"every reader finds each event once, in every way with %s",
	(_, scenario, atLeast) => {
		const { fault, states } = searchAll(everyCompactionOf(scenario));
		expect(fault).toBeUndefined();
		expect(states).toBeGreaterThan(atLeast);
	},
	timeoutMs,
);

/** What lies in the folder counts as decided, without a record. */
function recordOfFolder({ objects }: DateWorld): CompactionRecord | undefined {
	const outputs = Object.keys(objects).filter(isOutput);
	return outputs.length > 0
		? {
				version: 1,
				account: "shop",
				sourceKey: "5a",
				date: "2026-03-01",
				outputs: outputs.map((name) => ({
					name,
					rows: 0,
					bytes: 0,
					sha256: "",
					inputs: [...objects[name]!],
				})),
			}
		: undefined;
}

test.each<[string, CompactionScenario, Partial<CompactionRules>, RegExp]>([
	[
		"outputs count without a record",
		twoUnlike,
		{ recordOf: recordOfFolder },
		/finds event . [02] times/,
	],
	[
		"an existing record is overwritten",
		twoUnlike,
		{ isRecordKept: false },
		/finds event . 0 times|misses/,
	],
	[
		"outputs have random names",
		twoAlike,
		{ hasRandomNames: true },
		/takes the space of two outputs/,
	],
	[
		"what was replaced goes before a day is over",
		twoAlike,
		{ hasOutlivedReaders: () => true },
		/a Run misses|a manifest misses/,
	],
	[
		"a manifest names what was replaced beside what replaces it",
		{ ...twoAlike, ticks: 0 },
		{
			visibleObjects: (originals, _, record) => ({
				...visibleObjects([], String, record),
				originals: [...originals],
			}),
		},
		/a Run finds event a 2 times/,
	],
	[
		"new links lead to the current objects",
		oneLate,
		{ sameEvents: visibleObjects },
		/a Run finds event . [12] times/,
	],
	[
		"a reader of the lake lists before it asks for the record",
		twoUnlike,
		{ isRecordReadFirst: false },
		/a lake finds event . 0 times/,
	],
	[
		"what another compactor left behind isn't removed",
		twoUnlike,
		{
			supersededNames: (names, record) =>
				supersededNames(names, record).filter((name) => !isOutput(name)),
		},
		/times in the end/,
	],
	[
		"all but the outputs is removed",
		oneLate,
		{
			supersededNames: (names, { outputs }) =>
				names.filter((name) => !outputs.some((o) => o.name === name)),
		},
		/stored 0 times in the end|misses|finds event z 0 times/,
	],
])(
	"the search finds the fault when %s",
	(_, scenario, mutation, expected) => {
		const search = everyCompactionOf({ ...scenario, mutation });
		expect(searchAll(search).fault?.what).toMatch(expected);
	},
	timeoutMs,
);
