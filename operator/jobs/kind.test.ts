import { describe, expect, test } from "vitest";
import { runKind } from "../../crds/generated/types.ts";
import { findCondition } from "../../packages/kube/conditions.ts";
import {
	operationOf,
	stateOf as operationState,
} from "../../test/support/examples/operation-examples.ts";
import { runOf } from "../../test/support/examples/resource-examples.ts";
import {
	jobWith,
	listed,
	loaded,
	owned,
	podWith,
	refusalOf,
	stateOf as runState,
} from "../../test/support/examples/run-examples.ts";
import { decide as decideOperation } from "../operation/decide.ts";
import { type AskAction, aboutOf } from "../reconcile/questions.ts";
import { decide as decideRun } from "../run/decide.ts";
import type { WorkState } from "./kind.ts";
import { lifecycle } from "./lifecycle.ts";
import { jobWithInput } from "./template.ts";
import {
	type JobWork,
	type WorkAction,
	type WorkReasons,
	workTransitions,
} from "./transition.ts";

/* What every kind with a Job does alike, on the kinds that there are and on one that a contributor might add. */

type Probe = JobWork & { status?: { rows?: number } };

interface ProbeReasons extends WorkReasons {
	noun: "Probe";
	complete: "Probing";
	failed: "ProbeFailed";
}

interface ProbeState extends WorkState {
	probe: Probe;
}

/** A kind that counts the rows of a Source's events: all that it says itself. */
const transition = workTransitions<Probe, ProbeReasons>("Probe");
const probes = lifecycle<Probe, ProbeReasons, ProbeState>({
	noun: "Probe",
	transition,
	workIn: ({ probe }) => probe,
	prepare,
	activeDeadlineSeconds: () => 3_600,
	resultSource: () => ({ sourceKey, shard: 0 }),
	leavesReport: false,
	succeed: ({ probe }, { rows }, facts, now) =>
		transition.succeed(probe, `${rows} rows.`, { ...facts, rows }, now),
	keptMs: () => 3_600_000,
	working: "Probing",
	workingMessage: () => "Counting rows.",
	listing: "Archive is listing the objects to count",
	failed: "ProbeFailed",
	limited: [],
	pendingLimit: () => ({ seconds: 3_600, text: "The Probe didn't start." }),
});

const sourceKey = "5".repeat(32);

function prepare(
	state: ProbeState,
	now: number,
): WorkAction<Probe, ProbeReasons>[] {
	const { probe } = state;
	const question = {
		shard: 0,
		sourceKey,
		extent: "Whole",
		start: "2026-03-01",
		end: "2026-03-31",
	} as const;
	return probes.askToStart(state, question, now, ({ url }) =>
		probes.start(state, () => probeJob(probe, url), "Counting rows.", {}, now),
	);
}

function probeJob(probe: Probe, manifestURL: string) {
	const { name } = probe.metadata;
	return jobWithInput(
		// It has no CRD here.
		{
			kind: runKind,
			owner: probe as never,
			jobName: name,
			secretName: name,
			labels: {},
		},
		{ version: 1, manifestURL } as never,
		{ command: "operation", image: "tidemill:1", retries: 3 },
	);
}

const now = Date.parse("2026-03-31T12:00:00Z");
const hourAgo = "2026-03-31T11:00:00Z";
type Status = JobWork["status"];
type Action = { type: string; status?: Status; severity?: string };

/** Each kind's decision about an object with this status and these outcomes. */
const kinds: [
	noun: string,
	working: string,
	decide: (
		status: Status,
		changes?: Partial<WorkState>,
		cancel?: boolean,
	) => Action[],
][] = [
	[
		"Run",
		"Loading",
		(status, changes, cancel) => {
			const run = owned(runOf("r", status as never));
			if (cancel) run.spec.cancel = true;
			return decideRun(runState({ run, ...changes }), now);
		},
	],
	[
		"Operation",
		"Working",
		(status, changes, cancel) => {
			const operation = operationOf(status as never);
			if (cancel) operation.spec.cancel = true;
			return decideOperation(operationState({ operation, ...changes }), now);
		},
	],
	[
		"Probe",
		"Probing",
		(status, changes, cancel) => {
			const probe: Probe = {
				metadata: runOf("p").metadata,
				spec: { ...(cancel && { cancel }) },
				...(status && { status }),
			};
			const state = { job: undefined, pods: [], progress: undefined };
			return probes.decide({ ...state, probe, ...changes }, now);
		},
	],
];

function readAs(actions: Action[]) {
	const { status } = actions.find(({ type }) => type === "writeStatus") ?? {};
	const { reason, message } =
		findCondition(status?.conditions, "Complete") ?? {};
	return { ...status, reason, message };
}

describe.each(kinds)("a %s", (noun, working, decide) => {
	/** Archive has listed what the Job reads. */
	const answered = (status: Status): Partial<WorkState> => {
		const ask = decide(status).at(-1) as AskAction;
		expect(ask.type).toBe("askManifest");
		return { answered: { about: aboutOf(ask), answer: listed } };
	};
	const types = (actions: Action[]) => actions.map(({ type }) => type);

	test("asks archive before anything else, and says so", () => {
		const actions = decide(undefined);
		expect(types(actions)).toEqual(["writeStatus", "askManifest"]);
		expect(readAs(actions)).toMatchObject({
			phase: "Pending",
			reason: "Preparing",
		});
	});

	test("starts its Job once archive has answered, after its status says so", () => {
		const actions = decide(undefined, answered(undefined));
		expect(types(actions)).toEqual([
			"startJob",
			"writeStatus",
			"startJob",
			"recordKubeEvent",
		]);
		expect(readAs(actions)).toMatchObject({
			phase: "Running",
			reason: working,
		});
	});

	test("that has waited 61 minutes for its turn and is then refused by Kubernetes waits on", () => {
		const place = { ahead: 2, heldInNamespace: 1, held: 9 };
		const created = { pendingSince: "2026-03-31T10:59:00Z" };
		const queued = readAs(decide(created, { ...answered(created), place }));
		expect(queued).toMatchObject({ phase: "Pending", reason: "Queued" });
		expect(queued.pendingSince).toBeUndefined();
		const { reason: _, message: _message, ...status } = queued;
		const refusal = refusalOf("exceeded quota");
		const refused = readAs(decide(status, { ...answered(status), refusal }));
		expect(refused).toMatchObject({
			phase: "Pending",
			reason: "JobNotStarted",
			pendingSince: "2026-03-31T12:00:00Z",
		});
	});

	test("that Kubernetes has refused for an hour fails, and says for what it waited", () => {
		const status = { pendingSince: hourAgo };
		const refusal = refusalOf("exceeded quota");
		const ended = readAs(decide(status, { ...answered(status), refusal }));
		expect(ended).toMatchObject({
			phase: "Failed",
			error: { code: "PendingDeadlineExceeded" },
		});
		expect(ended.error?.message).toContain("exceeded quota");
	});

	const running = { phase: "Running", startTime: hourAgo, attempts: 1 };

	test("whose Pod is gone goes on saying what the Pod waited for", () => {
		const waiting = {
			...running,
			conditions: [
				{
					type: "Complete",
					status: "False" as const,
					reason: "PodWaiting",
					message: "No node is free.",
					lastTransitionTime: hourAgo,
				},
			],
		};
		expect(readAs(decide(waiting, { job: jobWith() }))).toMatchObject({
			phase: "Pending",
			reason: "PodWaiting",
			message: "No node is free.",
		});
	});

	test("whose Job somebody has deleted fails", () => {
		expect(readAs(decide(running))).toMatchObject({
			phase: "Failed",
			error: { code: "JobDeleted" },
		});
	});

	test("that is cancelled ends, and its Job goes", () => {
		const actions = decide(running, { job: jobWith() }, true);
		expect(readAs(actions)).toMatchObject({
			phase: "Cancelled",
			message: `The ${noun} was cancelled by spec.cancel.`,
		});
		expect(types(actions).at(-1)).toBe("removeJob");
	});

	test("whose links have expired asks archive for new ones, for a new Job", () => {
		const error = { code: "ManifestExpired", message: "", retryable: true };
		const result = { version: 1, outcome: "Failed", error } as const;
		const actions = decide(
			{ ...running, startTime: "2026-03-31T11:58:00Z" },
			{ job: jobWith("Failed"), pods: [podWith(result, 1)] },
		);
		expect(types(actions)).toEqual(["writeStatus", "removeJob"]);
		expect(readAs(actions)).toMatchObject({
			phase: "Pending",
			reason: "Preparing",
		});
	});

	test("asks archive for the result of a Job whose Pod is gone", () => {
		const status = {
			...running,
			sourceKey,
			layout: { sourceKey },
		} as Status;
		const actions = decide(status, { job: jobWith("Complete") });
		expect(types(actions)).toEqual(["askResult"]);
	});

	test("that fails keeps the end of its log", () => {
		const error = { code: "Broken", message: "It broke.", retryable: false };
		const result = {
			version: 1,
			outcome: "Failed",
			error,
			log: "the end",
		} as const;
		expect(
			readAs(
				decide(running, {
					job: jobWith("Failed"),
					pods: [podWith(result, 1)],
				}),
			),
		).toMatchObject({ phase: "Failed", error, log: "the end", attempts: 1 });
	});
});

test("a new kind reads its own result", () => {
	const [, , decide] = kinds.at(-1)!;
	const status = { phase: "Running", startTime: hourAgo, attempts: 1 };
	const pods = [podWith(loaded, 0)];
	const ended = readAs(decide(status, { job: jobWith("Complete"), pods }));
	expect(ended).toMatchObject({ phase: "Succeeded", rows: 5 });
});
