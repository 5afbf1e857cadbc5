import { expect, test } from "vitest";
import { type ClusterFacts, needsSomebody } from "../../cli/doctor/facts.ts";
import { findings } from "../../cli/doctor/findings.ts";
import { annotation } from "../../crds/labels.ts";
import { RequestFailure } from "../../ingest/lake/request/errors.ts";
import { dayWouldShrink } from "../../ingest/load/shrinking-days.ts";
import { stoppedShards } from "../../operator/lease-note.ts";
import { decide } from "../../operator/source/decide.ts";
import type { SourceState } from "../../operator/source/state.ts";
import type { ShardState } from "../../packages/contracts/ledger.ts";
import type { Condition } from "../../packages/kube/conditions.ts";
import type { Lease } from "../../packages/kube/kinds.ts";
import {
	ended,
	stateOf,
	statusAfter,
} from "../support/examples/pipeline-examples.ts";
import {
	now,
	stateWith,
	statusIn,
} from "../support/fixtures/control-plane/source-state.ts";

/* What people are told of the faults that test/faults/chaos causes, from what operator hears of each to `kubectl describe` and `tidemill doctor`. */

const shard = (state: Partial<ShardState>): ShardState => ({
	...{ version: 1, shard: 0, lostFrames: {} },
	...state,
});

/** What operator hears of a fault. */
interface Heard {
	source?: Partial<SourceState>;
	/** With which a Run fails. */
	runError?: { code: string; message: string };
	/** Shards whose buffer is full. */
	full?: number[];
	isRestoreAwaited?: true;
}

const shrinking = dayWouldShrink(
	[{ date: "2026-03-01", table: "orders", rows: 30, left: 10, gone: ["a"] }],
	false,
);

test.each<[string, Heard, described: string[], doctor: string[]]>([
	[
		"NATS's only disk is gone",
		{ source: { shardStates: [shard({ lostFrames: { "2026-03-01": 25 } })] } },
		["FramesLost", "25 on 2026-03-01"],
		['conditions.md, "Source: EventsLost", FramesLost', "kubectl describe"],
	],
	[
		"NATS's only disk is gone, and nobody counted",
		{
			source: {
				shardStates: [shard({ unknownSince: "2026-03-01T11:00:00.000Z" })],
			},
		},
		["LossUnknown", "2026-03-01"],
		['conditions.md, "Source: EventsLost", LossUnknown', "kubectl describe"],
	],
	[
		"an object or a day is gone from the bucket",
		{ runError: new RequestFailure("ObjectMissing", "An object is gone") },
		["ObjectMissing", "`tidemill ledger verify`"],
		["ObjectMissing", "`tidemill ledger verify`", "kubectl describe pipeline/"],
	],
	[
		"the table has rows that the bucket has lost",
		{ runError: shrinking },
		["DayWouldShrink", "2026-03-01 (30 rows", "spec.acceptLoss"],
		["DayWouldShrink", "spec.acceptLoss", "kubectl describe pipeline/"],
	],
	[
		"the bucket is an older copy",
		{
			source: {
				shardStates: [shard({ stopped: { alarm: "CutsMissing" } })],
			},
		},
		["ArchiveStopped", "CutsMissing", "TidemillArchiveAlarm"],
		["the alarm CutsMissing", "docs/reference/errors.md", "kubectl logs"],
	],
	[
		"the bucket is refused",
		{ source: { shardStates: [shard({ stopped: {} })] } },
		["ArchiveFails", "was given another bucket", "TidemillArchiveLags"],
		["TidemillArchiveLags.md", "kubectl logs"],
	],
	[
		"JetStream is full",
		{ source: { isBufferFull: true }, full: [0] },
		["BufferFull", "TidemillBufferFills"],
		["senders to its sources get 503", "TidemillBufferFills.md"],
	],
	[
		"etcd is emptied",
		{ isRestoreAwaited: true },
		[],
		["NATS has the routes of another cluster", "tidemill restore --complete"],
	],
])(
	"when %s, kubectl describe and tidemill doctor say what is wrong and what to do",
	(_, heard, described, doctor) => {
		const state = stateWith(heard.source);
		const { conditions = [] } = statusIn(decide(state, now)) ?? {};
		const pipeline = heard.runError && conditionsAfter(heard.runError);
		const troubled = [
			...[conditions].map((of) => ["Source", "orders", of] as const),
			...[pipeline ?? []].map((of) => ["Pipeline", "load", of] as const),
		];
		const shown = troubled
			.flatMap(([, , of]) => of.filter(needsSomebody))
			.map(({ reason, message }) => `${reason}: ${message}`)
			.join("\n");
		for (const words of described) expect(shown).toContain(words);
		const said = doctorSays({
			leases: [leaseWith(heard, state.shardStates)],
			resources: troubled.flatMap(([kind, name, of]) =>
				of.filter(needsSomebody).map((condition) => ({
					...{ kind, name: `${kind.toLowerCase()} ${name}`, condition },
					called: `${kind.toLowerCase()}/${name}`,
				})),
			),
		});
		for (const words of doctor) expect(said).toContain(words);
	},
);

test("doctor is content with an installation that has none of these faults", () => {
	expect(doctorSays({ leases: [leaseWith({}, [])] })).toBe("");
	const success = ended("good", "Succeeded", "2026-03-10T10:00:05Z", {});
	const { conditions = [] } = statusAfter(stateOf({ runs: [success] }));
	expect(conditions.filter(needsSomebody)).toEqual([]);
});

/** Of a Pipeline whose last Run failed so. */
function conditionsAfter(error: { code: string; message: string }) {
	const { code, message } = error;
	const run = ended("bad", "Failed", "2026-03-10T11:00:00Z", {
		error: { code, message, retryable: false },
	});
	const { conditions = [] } = statusAfter(stateOf({ runs: [run] }));
	return conditions as Condition[];
}

function leaseWith(
	{ full = [], isRestoreAwaited }: Heard,
	shards: ShardState[],
): Lease {
	const stopped = stoppedShards({ full }, { shards });
	const renewTime = new Date(now).toISOString();
	return {
		metadata: {
			...{ name: "tidemill-operator", namespace: "tidemill-system" },
			annotations: {
				...(stopped && { [annotation.stoppedShards]: stopped }),
				...(isRestoreAwaited && { [annotation.restore]: "awaited" }),
			},
		},
		spec: { holderIdentity: "operator-1", renewTime },
	} as Lease;
}

/** What `tidemill doctor` prints of what has failed. */
function doctorSays(facts: Partial<ClusterFacts>): string {
	const found = findings(
		{
			...{ kubernetes: "v1.36.3", clockSkewMs: 0, served: ["sources"] },
			...{ missingRights: [], claims: [], unserved: [], pods: [] },
			...{ podless: [], resources: [], workloads: [] },
			...facts,
		},
		{
			...{ expected: ["sources"], clientVersion: "0.1.0" },
			...{ namespace: "shop", nowMs: now },
		},
	);
	return found
		.filter(({ result }) => result === "failed")
		.map(({ check, message, advice }) => `${check}: ${message}\n${advice}`)
		.join("\n");
}
