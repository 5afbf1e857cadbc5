import { expect, test } from "vitest";
import {
	layout,
	runOf,
} from "../../test/support/examples/resource-examples.ts";
import {
	answeredWith,
	listed,
	owned,
	reasonOf,
	stateOf,
	statusOf,
	types,
} from "../../test/support/examples/run-examples.ts";
import { decide } from "./decide.ts";
import { warehouseLabel } from "./job.ts";
import type { ContendingRun, WarehouseWriter } from "./state.ts";

const now = Date.parse("2026-03-31T12:00:00Z");
const warehouse = layout.destination;
const createdAt = (minute: number) => `2026-03-01T00:0${minute}:00Z`;
const run = owned(runOf("run", undefined, { createdAt: createdAt(5) }));

function contender(
	minute: number,
	options: { running?: boolean; warehouse?: string | undefined } = {},
): ContendingRun {
	const status = options.running ? { phase: "Running" as const } : undefined;
	return {
		run: runOf("contender", status, { createdAt: createdAt(minute) }),
		warehouse: "warehouse" in options ? options.warehouse : warehouse,
	};
}

const pods = (name: string): WarehouseWriter => ({
	run: "deleted",
	warehouseLabel: warehouseLabel(name),
});

test.each<[string, ContendingRun[], WarehouseWriter[], boolean]>([
	["there is no other Run", [], [], true],
	["an older Run waits for the same warehouse", [contender(1)], [], false],
	["a younger Run waits", [contender(9)], [], true],
	["a younger Run is running", [contender(9, { running: true })], [], false],
	[
		"an older Run can't run",
		[contender(1, { warehouse: undefined })],
		[],
		true,
	],
	[
		"an older Run has another file",
		[contender(1, { warehouse: "b" })],
		[],
		true,
	],
	["the Pods of a deleted Run still write", [], [pods(warehouse)], false],
	["Pods write to another file", [], [pods("b")], true],
])("whether a Run has its turn when %s", (_, contenders, writers, starts) => {
	const actions = decide(stateOf({ run, contenders, writers }), now);
	expect(types(actions).includes("askManifest")).toBe(starts);
	expect(reasonOf(actions)).toBe(starts ? "Preparing" : "WaitingForTurn");
});

test("one of two Runs of the same second goes first", () => {
	const [a, b] = ["a", "b"].map((name) => owned(runOf(name)));
	const starts = (one: typeof run, other: typeof run) => {
		const contenders = [{ run: other, warehouse }];
		const actions = decide(stateOf({ run: one, contenders }), now);
		return types(actions).includes("askManifest");
	};
	expect(starts(a!, b!)).toBe(true);
	expect(starts(b!, a!)).toBe(false);
});

test("a Run says which Run it waits for", () => {
	const waits = (part: {
		contenders?: ContendingRun[];
		writers?: WarehouseWriter[];
	}) => JSON.stringify(decide(stateOf({ run, ...part }), now));
	expect(waits({ contenders: [contender(1)] })).toContain(
		`Run \\"contender\\" loads into ${warehouse} first.`,
	);
	expect(waits({ writers: [pods(warehouse)] })).toContain(
		`The Pods of Run \\"deleted\\" write to ${warehouse}.`,
	);
});

test("a Run that has no slot for a Job says how many come first", () => {
	const place = { ahead: 12, heldInNamespace: 20, held: 77 };
	const state = { ...answeredWith(stateOf({ run }), listed, now), place };
	const actions = decide(state, now);
	expect(statusOf(actions)).toMatchObject({
		phase: "Pending",
		conditions: [
			{
				reason: "Queued",
				message:
					"The Run waits for its turn: 12 Jobs of this namespace come first. There are 20 Jobs in this namespace and 77 in all.",
			},
		],
	});
	expect(actions).toContainEqual({ type: "awaitSlot", afterMs: 42_000 });
	// Its place stays in the status while it asks again.
	const queued = owned(runOf("run", statusOf(actions)));
	expect(types(decide(stateOf({ run: queued }), now))).toEqual(["askManifest"]);
});

const lost = {
	namespace: "shop",
	name: "q-x",
	node: "n1",
	dueTime: "2026-03-31T11:50:00Z",
	leftMs: 1_000,
};

test("a Run that waits for a Pod on a lost node names both and what frees the warehouse, and waits no longer than its deadline", () => {
	const writers = [pods(warehouse), { ...pods(warehouse), run: "q", lost }];
	const actions = decide(stateOf({ run, writers }), now);
	expect(reasonOf(actions)).toBe("PodLost");
	const recorded = JSON.stringify(statusOf(actions));
	for (const words of [
		'Run \\"q\\"',
		'Pod \\"q-x\\"',
		'node \\"n1\\"',
		"kubectl",
	])
		expect(recorded).toContain(words);
	// However long it takes: two processes that write to one DuckDB file could damage it.
	expect(types(actions)).not.toContain("askManifest");
	const waiting = owned(
		runOf("run", statusOf(actions), { createdAt: createdAt(5) }),
	);
	const late = decide(stateOf({ run: waiting, writers }), now + 3_600_000);
	expect(statusOf(late)).toMatchObject({
		phase: "Failed",
		error: {
			code: "PendingDeadlineExceeded",
			message: expect.stringContaining('Pod "q-x" on node "n1"'),
		},
	});
});

test("a Run that waits for its turn says how many come before it, and looks again later the more there are", () => {
	const contenders = [contender(1)];
	const actions = decide(stateOf({ run, contenders, ahead: 12 }), now);
	expect(JSON.stringify(actions)).toContain("12 Runs come before this one.");
	expect(actions.at(-1)).toEqual({ type: "requeueAfter", afterMs: 42_000 });
});
