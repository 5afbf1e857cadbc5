// In make test: test/protocols/smallest-worlds.test.ts
import { expect, test } from "vitest";
import {
	type CutRecord,
	decideCut,
} from "../../../ingest/archive/decide/cut.ts";
import { resume } from "../../../ingest/archive/decide/resume.ts";
import { searchAll } from "./exhaustive-search.ts";
import { everyWayOf, type Scenario } from "./model.ts";
import type { Protocol } from "./protocol.ts";
import type { ScriptFrame } from "./world.ts";

/** The argument for all this: docs/decisions/0005-each-event-in-exactly-one-object.md. */
const timeoutMs = 600_000;

function frame(number: number, events: string): ScriptFrame {
	return { process: "p", number, events };
}

const [one, two, three, four] = [
	frame(1, "aB"),
	frame(2, "c"),
	frame(3, "d"),
	frame(4, "e"),
];

function withoutLost(known: Parameters<typeof decideCut>[1]): typeof known {
	const entries = Object.entries(known);
	return Object.fromEntries(
		entries.map(([process, { lostSequences, ...rest }]) => [process, rest]),
	);
}

function withoutQuarantine(cut: CutRecord): CutRecord {
	const groups = cut.groups.map(({ quarantined, ...group }) => group);
	return { ...cut, groups };
}

const twoArchivers: Scenario = {
	script: [frame(1, "aBq"), two, two],
	archivers: 2,
	crashes: 1,
	streamFault: "none",
};
const restored: Scenario = {
	script: [one, two],
	archivers: 2,
	crashes: 0,
	streamFault: "restored from an old copy",
};
const deleted: Scenario = {
	script: [frame(1, "aBQ"), two, frame(3, "D")],
	archivers: 1,
	crashes: 1,
	streamFault: "none",
	isDeleted: true,
};
const purgedTwice: Scenario = {
	script: [one, two, three],
	archivers: 2,
	crashes: 0,
	streamFault: "purged",
	faults: 2,
};
const damaged: Scenario = { ...purgedTwice, streamFault: "damaged" };
/** Frames that come a minute apart, which is the most that counts between two: so many tell that a number is overdue. */
const laterFrames = (first: number, events: string): ScriptFrame[] =>
	[...events].map((event, n) => ({
		...frame(first + n, event),
		atMs: (first + n - 2) * 60_000,
	}));
/** One process loses two frames. */
const forgetful: Scenario = {
	script: [
		one,
		{ ...two, mayBeLost: true },
		...laterFrames(3, "d"),
		{ ...laterFrames(4, "e")[0]!, mayBeLost: true },
		...laterFrames(5, "fghij"),
	],
	archivers: 1,
	crashes: 0,
	streamFault: "forgetful",
	faults: 2,
};
/** The process goes on for long after frames of it are lost inside the stream. */
const damagedEarly: Scenario = {
	script: [one, two, ...laterFrames(3, "defghi")],
	archivers: 1,
	crashes: 0,
	streamFault: "damaged",
	faults: 2,
};
const recreated: Scenario = {
	script: [one, two, two],
	archivers: 2,
	crashes: 0,
	streamFault: "recreated",
};

test.each<[string, Scenario, number]>([
	[
		"with two archivers, a crash and a frame stored twice",
		twoArchivers,
		10_000,
	],
	[
		"with two archivers and a stream restored from an old copy",
		restored,
		20_000,
	],
	[
		"with an archiver that crashes, and a long stream restored from an old copy",
		{ ...restored, script: [one, two, three, four], archivers: 1, crashes: 1 },
		20_000,
	],
	[
		"with two archivers and a recreated stream, into which a frame is repeated",
		recreated,
		10_000,
	],
	["with an archiver that crashes, and a source deleted", deleted, 2_000],
	[
		"with two archivers, and a source deleted",
		{
			...deleted,
			script: [one],
			archivers: 2,
		},
		5_000,
	],
	["with two archivers and two purged frames", purgedTwice, 5_000],
	["with two archivers and two damaged frames", damaged, 10_000],
	["with frames that NATS forgets", forgetful, 2_000],
	["with damaged frames of a process that goes on", damagedEarly, 2_000],
])(
	"each event gets into exactly one object, or its loss is recorded, or there is an alarm, in every way %s",
	(_, scenario, atLeast) => {
		const { fault, states } = searchAll(everyWayOf(scenario));
		expect(fault).toBeUndefined();
		expect(states).toBeGreaterThan(atLeast);
	},
	timeoutMs,
);

test.each<[string, Scenario, Partial<Protocol>, RegExp]>([
	[
		"an existing cut record isn't followed",
		twoArchivers,
		{ followsRecords: false },
		/nowhere|in 2 objects/,
	],
	[
		"objects have random names",
		twoArchivers,
		{ hasRandomNames: true },
		/in 2 objects/,
	],
	[
		"events in quarantine have no folder of their own",
		twoArchivers,
		{ folderOf: ({ sourceKey }) => sourceKey },
		/event q is (in a\/s0|nowhere)/,
	],
	[
		"a cut doesn't say which events are in quarantine",
		twoArchivers,
		{ decideCut: (...which) => withoutQuarantine(decideCut(...which)) },
		/alarm CutMismatch about nothing/,
	],
	[
		"a cut knows nothing of the frames before it",
		twoArchivers,
		{ decideCut: (stream, _, frames) => decideCut(stream, {}, frames) },
		/event c is in 2 objects/,
	],
	[
		"the stream is purged before the objects are written",
		twoArchivers,
		{ purgesFirst: true },
		/nowhere/,
	],
	[
		"a new stream knows nothing of the one before",
		recreated,
		{ inheritNumbers: () => ({}) },
		/event c is in 2 objects/,
	],
	[
		"the stream isn't compared with the cut before it is purged",
		restored,
		{ verifyStream: () => undefined },
		/nowhere/,
	],
	[
		"a source is deleted without a tombstone",
		deleted,
		{ hasTombstones: false },
		/event [BDQ]+ of the deleted source is in the bucket/,
	],
	[
		"a source is deleted without a flush",
		deleted,
		{ flushesFirst: false },
		/came back/,
	],
	[
		"one sequence more is given up than the stream has lost",
		purgedTwice,
		{
			resume: (...state) => {
				const { lost, ...rest } = resume(...state);
				return lost ? { ...rest, lost: { ...lost, to: lost.to + 1 } } : rest;
			},
		},
		/isn't gone/,
	],
	[
		"one frame behind a damaged one is given up, too",
		damaged,
		{
			resume: (stream, head, { heldFrom, ...state }, objectsDone) => {
				const isLost = heldFrom > (head?.last ?? 0) + 1;
				const more = isLost ? heldFrom + 1 : heldFrom;
				return resume(stream, head, { ...state, heldFrom: more }, objectsDone);
			},
		},
		/isn't gone/,
	],
	[
		"a cut doesn't say which frames never arrived",
		forgetful,
		{
			decideCut: (...frames) => {
				const { losses, ...cut } = decideCut(...frames);
				return cut;
			},
		},
		/nobody was told/,
	],
	[
		"a cut of lost sequences doesn't tell the processes",
		damagedEarly,
		{
			decideCut: (stream, known, frames) =>
				decideCut(stream, withoutLost(known), frames),
		},
		/counted as lost twice/,
	],
	[
		"objects-done is read after the cuts",
		twoArchivers,
		{ readsDoneLate: true },
		/alarm CutsMissing about nothing/,
	],
])(
	"the search finds the fault when %s",
	(_, scenario, mutation, expected) => {
		const { fault } = searchAll(everyWayOf({ ...scenario, mutation }));
		expect(fault?.what).toMatch(expected);
	},
	timeoutMs,
);
