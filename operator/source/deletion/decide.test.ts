import { expect, test } from "vitest";
import type { Source, SourceStatus } from "../../../crds/generated/types.ts";
import { finalizer } from "../../../crds/labels.ts";
import type { DeletionAnswer } from "../../../packages/contracts/archive.ts";
import { aboutOf } from "../../reconcile/questions.ts";
import { decide } from "./decide.ts";
import type { DeletionState } from "./state.ts";

const deletedMs = Date.parse("2026-03-01T12:00:00Z");
const keys = {
	sourceKey: "a".repeat(32),
	urlKey: "b".repeat(32),
	shard: 3,
	shards: [3],
};
const letGo = { type: "setFinalizers", finalizers: ["other"] };

function sourceWith(
	status: SourceStatus = {},
	deletionPolicy: "Delete" | "Retain" = "Delete",
): Source {
	return {
		apiVersion: "tidemill.dev/v1alpha1",
		kind: "Source",
		metadata: {
			name: "orders",
			namespace: "shop",
			generation: 4,
			finalizers: ["other", finalizer],
			deletionTimestamp: "2026-03-01T12:00:00Z",
		},
		spec: {
			type: "Webhook",
			webhook: { authorization: { type: "None" }, maxBodyBytes: 1024 },
			suspend: false,
			retentionDays: 30,
			deletionPolicy,
		},
		status,
	};
}

function stateWith(part: Partial<DeletionState> = {}): DeletionState {
	return {
		source: sourceWith(),
		keys,
		shards: 4,
		hasContender: false,
		runs: [],
		statusWrittenMs: 0,
		...part,
	};
}

/** The key is out of use, and archive has answered. */
function answeredWith(
	answer: DeletionAnswer,
	part: Partial<DeletionState> = {},
): DeletionState {
	const question = { account: "shop", sourceKey: keys.sourceKey };
	const { shard } = keys;
	const about = aboutOf({ type: "askDeletion", shard, question });
	return stateWith({ tombstone: "put", answered: { about, answer }, ...part });
}

function waiting(reason: string, message: string): SourceStatus {
	return {
		observedGeneration: 4,
		phase: "Deleting",
		conditions: [
			{
				type: "Ready",
				status: "False",
				reason,
				message,
				observedGeneration: 4,
				lastTransitionTime: "2026-03-01T12:00:00Z",
			},
		],
	};
}

const away: DeletionAnswer = {
	ok: false,
	error: { code: "x", message: "Archive is away.", retryable: true },
};

test("a Source that isn't being deleted, or has no finalizer, is left alone", () => {
	const alive = sourceWith();
	delete alive.metadata.deletionTimestamp;
	expect(decide(stateWith({ source: alive }), deletedMs)).toEqual([]);
	const free = sourceWith();
	free.metadata.finalizers = ["other"];
	expect(decide(stateWith({ source: free }), deletedMs)).toEqual([]);
	delete free.metadata.finalizers;
	expect(decide(stateWith({ source: free }), deletedMs)).toEqual([]);
});

test("with Retain, even if it is set late, the Source goes and all else stays", () => {
	const source = sourceWith({}, "Retain");
	expect(decide(stateWith({ source }), deletedMs)).toEqual([letGo]);
});

test("the source key goes out of use first", () => {
	expect(decide(stateWith(), deletedMs)).toEqual([
		{ type: "putTombstone", stored: keys },
	]);
});

test("if the Secret is gone, the status says what to delete", () => {
	const { sourceKey } = keys;
	const source = sourceWith({ sourceKey, shard: 3 });
	for (const keys of ["absent", "invalid"] as const)
		expect(decide(stateWith({ source, keys }), deletedMs)).toEqual([
			{ type: "putTombstone", stored: { sourceKey, shard: 3, shards: [3] } },
		]);
});

test("the status says which shard to ask, whatever people wrote into the Secret", () => {
	const { sourceKey } = keys;
	const source = sourceWith({ sourceKey, shard: 0 });
	expect(decide(stateWith({ source }), deletedMs)).toEqual([
		{ type: "putTombstone", stored: { sourceKey, shard: 0, shards: [0] } },
	]);
});

test("a Source that never had keys goes at once", () => {
	expect(decide(stateWith({ keys: "absent" }), deletedMs)).toEqual([letGo]);
});

test("events of another Source are not deleted", () => {
	const finished = [{ type: "deleteKeys" }, letGo];
	expect(decide(stateWith({ hasContender: true }), deletedMs)).toEqual(
		finished,
	);
	expect(decide(stateWith({ tombstone: "foreign" }), deletedMs)).toEqual(
		finished,
	);
});

test.each([
	[
		"the receivers",
		{},
		{ lastError: "NATS: TIMEOUT" },
		"DeletionWaitsForRoute",
		"TIMEOUT",
		"Warning",
	],
	[
		"a Run that loads the events",
		{ runs: ["load-1", "load-2"] },
		"put",
		"DeletionWaitsForRun",
		'Run "load-1"',
		"Normal",
	],
] as const)(
	"a deletion waits for %s, and says so",
	(_, part, tombstone, reason, words, severity) => {
		const state = stateWith({
			...part,
			tombstone,
			runs: [...("runs" in part ? part.runs : [])],
		});
		expect(decide(state, deletedMs)).toMatchObject([
			{
				type: "writeStatus",
				status: {
					phase: "Deleting",
					conditions: [{ reason, message: expect.stringContaining(words) }],
				},
			},
			{ type: "recordKubeEvent", severity, reason },
			{ type: "requeueAfter", afterMs: 2_000 },
		]);
	},
);

test("then archive is asked, and the status keeps its last answer meanwhile", () => {
	const ask = {
		type: "askDeletion",
		shard: 3,
		question: { account: "shop", sourceKey: keys.sourceKey },
	};
	expect(
		decide(stateWith({ tombstone: "put" }), deletedMs).map(({ type }) => type),
	).toEqual(["writeStatus", "recordKubeEvent", "askDeletion"]);
	for (const reason of ["DeletionWaitsForArchive", "DeletingEvents"]) {
		const source = sourceWith(waiting(reason, "It said so."));
		const state = stateWith({ source, tombstone: "put" });
		expect(decide(state, deletedMs)).toEqual([ask]);
	}
});

test("an archive that can't answer is asked again, less and less often", () => {
	const source = sourceWith(
		waiting("DeletionWaitsForArchive", "Archive is away."),
	);
	const again = (afterMs: number) =>
		decide(answeredWith(away, { source }), deletedMs + afterMs);
	expect(decide(answeredWith(away), deletedMs)).toMatchObject([
		{ type: "writeStatus" },
		{ type: "recordKubeEvent", severity: "Warning" },
		{ type: "requeueAfter", afterMs: 2_000 },
	]);
	expect(again(80_000)).toEqual([{ type: "requeueAfter", afterMs: 10_000 }]);
	expect(again(86_400_000)).toEqual([
		{ type: "requeueAfter", afterMs: 60_000 },
	]);
});

test("what archive said of another shard is no answer", () => {
	const done: DeletionAnswer = { ok: true, isDone: true, objects: 1 };
	const state = answeredWith(done, { keys: { ...keys, shard: 4 } });
	expect(decide(state, deletedMs).map(({ type }) => type)).toContain(
		"askDeletion",
	);
});

test("progress is written at most once in ten seconds, and archive is asked for the rest at once", () => {
	const source = sourceWith(waiting("DeletingEvents", "Archive deletes."));
	const answer: DeletionAnswer = {
		ok: true,
		isDone: false,
		objects: 5_000,
		remainsFrom: "2026-02-20",
	};
	const after = (ms: number) =>
		decide(
			answeredWith(answer, { source, statusWrittenMs: deletedMs }),
			deletedMs + ms,
		);
	const soon = { type: "requeueAfter", afterMs: 0 };
	expect(after(9_999)).toEqual([soon]);
	expect(after(10_000)).toMatchObject([
		{
			type: "writeStatus",
			status: {
				conditions: [{ message: expect.stringContaining("2026-02-20") }],
			},
		},
		soon,
	]);
});

test("when no event is left, the Secret goes, and then the Source", () => {
	const answer: DeletionAnswer = { ok: true, isDone: true, objects: 1 };
	expect(decide(answeredWith(answer), deletedMs)).toEqual([
		expect.objectContaining({
			type: "recordKubeEvent",
			reason: "EventsDeleted",
		}),
		{ type: "deleteKeys" },
		letGo,
	]);
});

test("keys that name a shard that isn't there are deleted by another shard's archive", () => {
	const question = { account: "shop", sourceKey: keys.sourceKey };
	const state = stateWith({ tombstone: "put", shards: 3 });
	expect(decide(state, deletedMs)).toContainEqual({
		type: "askDeletion",
		shard: 0,
		question,
	});
});
