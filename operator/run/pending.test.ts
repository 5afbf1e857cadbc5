import { expect, test } from "vitest";
import type { Run, RunStatus } from "../../crds/generated/types.ts";
import {
	destinationOf,
	layout,
	runOf,
} from "../../test/support/examples/resource-examples.ts";
import {
	answeredWith,
	decideRefused,
	jobWith,
	listed,
	owned,
	podWith,
	reasonOf,
	stateOf,
	statusOf,
	types,
} from "../../test/support/examples/run-examples.ts";
import { decide } from "./decide.ts";
import type { RunState } from "./state.ts";

const now = Date.parse("2026-03-31T12:00:00Z");
const hourMs = 3_600_000;
const hourAgo = "2026-03-31T11:00:00Z";
const runWith = (status: RunStatus): Run => owned(runOf("r", status));

/** The state after the status was written. */
function after(changes: Partial<RunState>, actions: ReturnType<typeof decide>) {
	return stateOf({ ...changes, run: runWith(statusOf(actions)) });
}

const destination = destinationOf("files", "events.duckdb", {
	observedGeneration: 1,
	conditions: [],
});
const notReady = {
	references: { ...stateOf().references!, destination },
};
const unschedulable = {
	job: jobWith(),
	pods: [
		{
			...podWith(undefined, 0),
			status: {
				phase: "Pending",
				conditions: [
					{ type: "PodScheduled", status: "False", message: "No node." },
				],
			},
		},
	],
};

test.each<[string, Partial<RunState>, string]>([
	["whose Pipeline is missing", { references: undefined }, "PipelineNotFound"],
	["whose Pipeline can't run", notReady, "PipelineNotReady"],
	["whose Pod finds no node", unschedulable, "PodWaiting"],
])(
	"a Run %s for longer than its deadline fails and says why",
	(_, changes, reason) => {
		const first = decide(stateOf(changes), now);
		expect(reasonOf(first)).toBe(reason);
		expect(first).toContainEqual({ type: "requeueAfter", afterMs: hourMs });
		const waiting = after(changes, first);
		const later = decide(waiting, now + hourMs - 1);
		expect(statusOf(later)).toMatchObject({ phase: "Pending" });
		expect(later).toContainEqual({ type: "requeueAfter", afterMs: 1 });
		const last = decide(waiting, now + hourMs);
		expect(types(last)).toEqual([
			"writeStatus",
			"recordKubeEvent",
			"removeJob",
		]);
		expect(statusOf(last)).toMatchObject({
			phase: "Failed",
			completionTime: "2026-03-31T13:00:00Z",
			error: {
				code: "PendingDeadlineExceeded",
				message: expect.stringContaining("3600 seconds"),
			},
		});
		expect(statusOf(last)).not.toHaveProperty("pendingSince");
	},
);

test("a Run that a quota refuses again and again fails at its deadline, though it is on its way in between", () => {
	const refused = decideRefused(stateOf(), "exceeded quota", now);
	expect(statusOf(refused).phase).toBe("Pending");
	// Its status says so while it is tried again, and never that it runs.
	const asking = decide(after({}, refused), now + 1_000);
	expect(types(asking)).toEqual(["askManifest"]);
	const starting = decide(
		answeredWith(after({}, refused), listed, now + 2_000),
		now + 2_000,
	);
	expect(starting[0]).toMatchObject({ type: "startJob", dryRun: true });
	const again = after({}, refused);
	expect(
		statusOf(decideRefused(again, "exceeded quota", now + 3_000)),
	).toMatchObject({
		phase: "Pending",
		pendingSince: "2026-03-31T12:00:00Z",
	});
	expect(
		statusOf(decideRefused(again, "exceeded quota", now + hourMs)),
	).toMatchObject({
		phase: "Failed",
		error: {
			message: expect.stringContaining(
				"It waited for: Kubernetes refused the Job: exceeded quota",
			),
		},
	});
});

test("a Run that can go on at its deadline goes on", () => {
	const run = runWith({ phase: "Pending", pendingSince: hourAgo });
	expect(types(decide(stateOf({ run }), now)).at(-1)).toBe("askManifest");
});

test("waiting for other Runs, for archive and for a Job's end doesn't count", () => {
	const run = runWith({ phase: "Pending", pendingSince: hourAgo });
	const warehouse = layout.destination;
	const contenders = [{ run: runOf("older", { phase: "Running" }), warehouse }];
	const error = { code: "X", message: "No S3.", retryable: true };
	const away = decide(
		answeredWith(stateOf({ run }), { ok: false, error }, now),
		now,
	);
	expect(reasonOf(away)).toBe("ManifestUnavailable");
	const loading = decide(stateOf({ run, job: jobWith() }), now);
	expect(reasonOf(loading)).toBe("Loading");
	const turn = decide(stateOf({ run, contenders }), now);
	expect(reasonOf(turn)).toBe("WaitingForTurn");
	for (const actions of [away, loading, turn])
		expect(statusOf(actions)).not.toHaveProperty("pendingSince");
});
