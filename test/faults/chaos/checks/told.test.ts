import { expect, test } from "vitest";
import type { Loss } from "../../../../ingest/archive/decide/loss.ts";
import type { Check, Violation } from "../scene/violation.ts";
import { type ToldLosses, withoutTold } from "./told.ts";

const [stream, process] = ["tidemill-frames-1-a", "a".repeat(32)];
const atMs = Date.parse("2026-11-30T12:00:00.000Z");
const time = new Date(atMs).toISOString();
const there = [{ event_id: "there", digest: "digest there" }];

/** Of two frames that NATS has acknowledged, the second is in no object. */
function lost(change: Partial<ToldLosses> = {}): ToldLosses {
	const frame = (number: number, id: string) => ({
		...{ stream, process, number, sequence: 10 + number, atMs, life: 1 },
		events: [{ id, sourceKey: "5a" }],
	});
	return {
		stored: [frame(1, "there"), frame(2, "gone")],
		...{ life: 1, losses: [], unknownSinceMs: new Map(), ...change },
	};
}

function found(told: ToldLosses): Check | string[] {
	const answer = (id: string) =>
		[
			id,
			{ digest: `digest ${id}`, sentAtMs: atMs, answeredAtMs: atMs },
		] as const;
	const sent = {
		acknowledged: new Map([answer("there"), answer("gone")]),
		...{ rejected: new Set<string>(), unknown: new Set<string>() },
		notFound: 0,
		unavailable: 0,
	};
	try {
		return [...withoutTold(sent, there, told).acknowledged.keys()];
	} catch (error) {
		return (error as Violation).check;
	}
}

const frames = (from: number, to = from): Loss => ({
	...{ kind: "frames", process, from, to, time },
});
const objects = (sourceKey: string): Loss => ({
	...{ kind: "objects", from: 12, to: 13, time },
	groups: [{ account: "shop", sourceKey, date: "2026-11-30", rows: 1 }],
});
const sinceThen = (ms: number) => new Map([[1, atMs + ms]]);

test.each<[string, Partial<ToldLosses>, Check | string[]]>([
	["nothing", {}, ["there", "gone"]],
	["its frame", { losses: [{ stream, loss: frames(2) }] }, ["there"]],
	[
		"a frame that is there",
		{ losses: [{ stream, loss: frames(1, 2) }] },
		"told",
	],
	[
		"a frame that never was",
		{ losses: [{ stream, loss: frames(2, 3) }] },
		"told",
	],
	[
		"its sequence",
		{
			losses: [{ stream, loss: { kind: "sequences", from: 12, to: 12, time } }],
		},
		["there"],
	],
	[
		"another stream's sequence",
		{
			losses: [
				{
					stream: "tidemill-frames-1-b",
					loss: { kind: "sequences", from: 12, to: 12, time },
				},
			],
		},
		["there", "gone"],
	],
	[
		"its Source's object",
		{ losses: [{ stream, loss: objects("5a") }] },
		["there"],
	],
	[
		"another Source's object",
		{ losses: [{ stream, loss: objects("5b") }] },
		["there", "gone"],
	],
	[
		"an unknown number before it, by a process that has ended",
		{ life: 2, unknownSinceMs: sinceThen(-1) },
		["there"],
	],
	[
		"an unknown number after it",
		{ life: 2, unknownSinceMs: sinceThen(60_000) },
		["there", "gone"],
	],
	[
		"an unknown number of another shard",
		{ life: 2, unknownSinceMs: new Map([[0, atMs - 1]]) },
		["there", "gone"],
	],
	[
		"an unknown number, by a process that could count it",
		{ unknownSinceMs: sinceThen(-1) },
		"told",
	],
])("when %s is told to be lost", (_, told, expected) => {
	expect(found(lost(told))).toEqual(expected);
});
