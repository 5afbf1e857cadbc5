import { describe, expect, test } from "vitest";
import type { RunStatus } from "../../crds/generated/types.ts";
import type { JobResult } from "../../packages/contracts/job.ts";
import type {
	LoadExtent,
	ManifestAnswer,
} from "../../packages/contracts/manifest.ts";
import { nameDigest } from "../../packages/contracts/name-digest.ts";
import { findCondition } from "../../packages/kube/conditions.ts";
import type { Job, Pod } from "../../packages/kube/kinds.ts";
import {
	layout,
	pipelineOf,
	runOf,
} from "../../test/support/examples/resource-examples.ts";
import {
	answeredWith,
	decideRefused,
	jobWith,
	loaded,
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

/** A Run whose Job was seen a quarter of an hour ago. */
function loading(status: RunStatus = {}) {
	return owned(
		runOf("r", {
			phase: "Running",
			startTime: "2026-03-31T11:45:00Z",
			attempts: 1,
			...status,
		}),
	);
}

function pod(status: NonNullable<Pod["status"]>): Pod {
	return { ...podWith(undefined, 0), status };
}

function failedJob(reason: string, message: string): Job {
	const job = jobWith("Failed");
	Object.assign(job.status!.conditions![0]!, { reason, message });
	return job;
}

const waiting = (reason: string, message: string) =>
	pod({
		phase: "Pending",
		containerStatuses: [
			{
				...podWith(undefined, 0).status!.containerStatuses![0]!,
				state: { waiting: { reason, message } },
			},
		],
	});
const backoffLimit = failedJob(
	"BackoffLimitExceeded",
	"Job has reached the specified backoff limit",
);
const outOfTime = failedJob(
	"DeadlineExceeded",
	"Job was active longer than specified deadline",
);

test("a Run tells why an attempt failed while the next one loads", () => {
	const first = podWith(
		{
			version: 1,
			outcome: "Failed",
			error: { code: "DestinationBusy", message: "in use", retryable: true },
			log: "busy\n",
		},
		75,
	);
	const second = pod({ phase: "Running" });
	first.metadata.name = "first";
	second.metadata.creationTimestamp = "2026-03-31T11:50:00Z";
	const pods = [first, second];
	const run = loading({ attempts: 2 });
	const actions = decide(stateOf({ run, job: jobWith(), pods }), now);
	const recorded = { pod: "first", code: "DestinationBusy", log: "busy\n" };
	expect(statusOf(actions)).toMatchObject({
		phase: "Running",
		failedAttempts: [recorded],
	});
});

test("a Run whose image can't be pulled says so while it waits", () => {
	const pods = [waiting("ImagePullBackOff", 'Back-off pulling "tidemil:1"')];
	const actions = decide(
		stateOf({ run: loading(), job: jobWith(), pods }),
		now,
	);
	expect(reasonOf(actions)).toBe("PodWaiting");
	expect(statusOf(actions)).toMatchObject({ phase: "Pending", attempts: 1 });
	const complete = findCondition(statusOf(actions).conditions, "Complete");
	expect(complete?.message).toBe(
		'ImagePullBackOff: Back-off pulling "tidemil:1"',
	);
});

test("a Run whose image can't be pulled still says so after it ran out of time and its Pod is gone", () => {
	const pods = [waiting("ImagePullBackOff", 'Back-off pulling "tidemil:1"')];
	const before = stateOf({ run: loading(), job: jobWith(), pods });
	const seen = loading(statusOf(decide(before, now)));
	// The Pods go before the Job has failed.
	const run = loading(
		statusOf(decide(stateOf({ run: seen, job: jobWith() }), now)),
	);
	expect(run.status?.phase).toBe("Pending");
	const status = statusOf(decide(stateOf({ run, job: outOfTime }), now));
	expect(status).toMatchObject({
		phase: "Failed",
		attempts: 1,
		error: {
			code: "DeadlineExceeded",
			message: expect.stringContaining(
				'Last it waited for: ImagePullBackOff: Back-off pulling "tidemil:1"',
			),
		},
	});
});

test.each<[string, Job, Pod[], string]>([
	[
		"evicted",
		backoffLimit,
		[pod({ phase: "Failed", reason: "Evicted", message: "Out of memory." })],
		"Evicted",
	],
	["lost with its node", backoffLimit, [], "BackoffLimitExceeded"],
	[
		"ended without a result",
		backoffLimit,
		[podWith(undefined, 1)],
		"ResultMissing",
	],
	["too slow", outOfTime, [], "DeadlineExceeded"],
])("a Run whose Pod was %s ends with that error", (_, job, pods, code) => {
	const stored = { ok: true } as const;
	const actions = decide(stateOf({ run: loading(), job, pods, stored }), now);
	const status = statusOf(actions);
	expect(status).toMatchObject({ phase: "Failed", error: { code } });
	expect(findCondition(status.conditions, "Failed")?.message).toBe(
		status.error?.message,
	);
	expect(types(actions)).toEqual([
		"writeStatus",
		"recordKubeEvent",
		"removeJob",
	]);
});

test("an evicted Pod that is replaced does not end the Run", () => {
	const pods = [
		pod({ phase: "Failed", reason: "Evicted" }),
		pod({ phase: "Running" }),
	];
	const actions = decide(
		stateOf({ run: loading(), job: jobWith(), pods }),
		now,
	);
	expect(statusOf(actions)).toMatchObject({ phase: "Running", attempts: 2 });
});

test.each([
	["2026-03-30", 2, "Loading 2026-03-30 to 2026-03-31."],
	["2026-03-30", undefined, "Loading 2026-03-30 to 2026-03-31."],
	// One of them got events by an import.
	["2026-03-01", 3, "Loading 3 dates of 2026-03-01 to 2026-03-31."],
])("a Run that loads from %s on says which days", (start, dateCount, words) => {
	const dates = { start, end: "2026-03-31" };
	const run = loading({ dates, ...(dateCount !== undefined && { dateCount }) });
	const actions = decide(stateOf({ run, job: jobWith() }), now);
	const { conditions } = statusOf(actions);
	expect(findCondition(conditions, "Complete")?.message).toBe(words);
});

test("a Run that is cancelled while its Job runs keeps the number of attempts", () => {
	const run = { ...loading(), spec: { ...loading().spec, cancel: true } };
	const pods = [pod({ phase: "Failed" }), pod({ phase: "Running" })];
	const actions = decide(stateOf({ run, job: jobWith(), pods }), now);
	expect(statusOf(actions)).toMatchObject({ phase: "Cancelled", attempts: 2 });
});

const hasWaited = loading({
	conditions: [
		{
			type: "Complete",
			status: "False",
			reason: "PodWaiting",
			message: "Unschedulable: no node",
			lastTransitionTime: "2026-03-31T11:46:00Z",
		},
	],
});

test.each([
	["that ran out of time after it waited", hasWaited, outOfTime, true],
	["that ran out of time and never waited", loading(), outOfTime, false],
	["that failed after it waited", hasWaited, backoffLimit, false],
])("whether a Run %s says what it waited for", (_, run, job, says) => {
	const stored = { ok: true } as const;
	const { error } = statusOf(decide(stateOf({ run, job, stored }), now));
	expect(error?.message.includes("Last it waited for")).toBe(says);
});

test("a Run whose Job was deleted ends, and says so", () => {
	const actions = decide(stateOf({ run: loading() }), now);
	expect(statusOf(actions)).toMatchObject({
		phase: "Failed",
		error: { code: "JobDeleted", retryable: true },
	});
});

test("a Run whose Job was never seen gets one, since the operator died before it created the Job", () => {
	const { attempts: _, ...status } = loading().status!;
	const actions = decide(stateOf({ run: owned(runOf("r", status)) }), now);
	expect(types(actions)).toContain("askManifest");
});

test("the end of the last attempt's log stays with the Run, whether it succeeded or failed", () => {
	const log = '{"msg":"loaded"}\n';
	const error = { code: "DestinationBusy", message: "in use", retryable: true };
	const busy: JobResult = { version: 1, outcome: "Failed", error };
	for (const [type, result, exitCode] of [
		["Complete", loaded, 0],
		["Failed", busy, 75],
	] as const) {
		const pods = [podWith({ ...result, log }, exitCode)];
		const actions = decide(stateOf({ job: jobWith(type), pods }), now);
		expect(statusOf(actions).log).toBe(log);
	}
});

test.each([
	[
		{ start: "2026-03-01", end: "2026-03-02" },
		"Loaded 0 rows: the Source has no events of 2026-03-01 to 2026-03-02.",
	],
	[undefined, "Loaded 0 rows: the Source has no events."],
])("a Run that loads nothing says why: %j", (dates, message) => {
	const run = loading(dates && { dates });
	if (!dates) delete run.status!.dates;
	const pods = [podWith({ ...loaded, rows: 0 } as JobResult, 0)];
	const state = { run, job: jobWith("Complete"), pods };
	const actions = decide(stateOf(state), now);
	const { conditions } = statusOf(actions);
	expect(findCondition(conditions, "Complete")?.message).toBe(message);
});

test("a message says row or rows, as it should be", () => {
	const one = { ...loaded, rows: 1 } as JobResult;
	const state = { job: jobWith("Complete"), pods: [podWith(one, 0)] };
	const { conditions } = statusOf(decide(stateOf(state), now));
	expect(findCondition(conditions, "Complete")?.message).toBe("Loaded 1 row.");
});

test.each([
	[2, "Loaded 5 rows, 2 of them new."],
	[5, "Loaded 5 rows."],
])("a Run that added %d of 5 rows says so", (addedRows, message) => {
	const result = { ...loaded, addedRows } as JobResult;
	const state = { job: jobWith("Complete"), pods: [podWith(result, 0)] };
	const { conditions } = statusOf(decide(stateOf(state), now));
	expect(findCondition(conditions, "Complete")?.message).toBe(message);
});

const expired = {
	run: loading(),
	job: jobWith("Failed"),
	pods: [
		podWith(
			{
				version: 1,
				outcome: "Failed",
				error: { code: "ManifestExpired", message: "", retryable: false },
			},
			65,
		),
	],
};
const answer: ManifestAnswer = {
	ok: true,
	url: "http://s3/manifest",
	snapshotTime: "2026-03-31T11:45:00Z",
	closedThrough: "2026-03-30",
	extent: "Rest",
	expiresAt: "2026-04-01T00:00:00Z",
};

test("a Job whose links have expired is replaced by one with new links, for the time that is left", () => {
	const renewal = decide(stateOf(expired), now);
	expect(types(renewal)).toEqual(["writeStatus", "removeJob"]);
	const status = statusOf(renewal);
	expect(status).toMatchObject({ phase: "Pending" });
	expect(status.completionTime).toBeUndefined();

	// The Job is gone because it was removed. Nobody deleted it.
	const state = stateOf({ run: owned(runOf("r", status)) });
	const asked = decide(state, now).at(-1)!;
	if (asked.type !== "askManifest") throw new Error(asked.type);
	expect(asked.question.renew).toBe(true);
	const started = decide(answeredWith(state, answer, now), now);
	expect(statusOf(started).startTime).toBe("2026-03-31T11:45:00Z");
	const job = started.find(({ type }) => type === "startJob");
	expect(job).toMatchObject({
		// A quarter of the hour is over.
		job: { job: { spec: { activeDeadlineSeconds: 2700 } } },
	});
});

test.each([
	["that is out of time", loading({ startTime: "2026-03-31T10:59:00Z" })],
	[
		"that is cancelled",
		{ ...loading(), spec: { ...loading().spec, cancel: true } },
	],
])("a Run %s is not renewed", (_, run) => {
	const actions = decide(stateOf({ ...expired, run }), now);
	expect(statusOf(actions)).toMatchObject({
		phase: "Failed",
		error: { code: "ManifestExpired" },
	});
});

test("a Run whose Pipeline is gone, or that never started, is not renewed", () => {
	for (const changes of [
		{ references: undefined },
		{ run: owned(runOf("r", { attempts: 1 })) },
	])
		expect(
			statusOf(decide(stateOf({ ...expired, ...changes }), now)),
		).toMatchObject({ phase: "Failed", error: { code: "ManifestExpired" } });
});

describe("a Run whose warehouse says that a quota is used up", () => {
	const error = {
		code: "QuotaExceeded",
		message: "BigQuery refused to load (quotaExceeded): Your table exceeded.",
		retryable: true,
		waits: true,
	} as const;
	const usedUp = {
		run: loading({ attempts: 1 }),
		job: jobWith("Failed"),
		pods: [podWith({ version: 1, outcome: "Failed", error }, 65)],
	};
	const waits = decide(stateOf(usedUp), now);
	const waiting = (status = statusOf(waits)) =>
		stateOf({ run: owned(runOf("r", status)) });

	test("waits a quarter of an hour and says the warehouse's words", () => {
		expect(types(waits)).toEqual([
			"writeStatus",
			"removeJob",
			"recordKubeEvent",
		]);
		const status = statusOf(waits);
		expect(status).toMatchObject({
			phase: "Pending",
			retryTime: "2026-03-31T12:15:00Z",
			failedAttempts: [{ code: "QuotaExceeded" }],
		});
		expect(status).not.toHaveProperty("error");
		expect(status).not.toHaveProperty("pendingSince");
		expect(findCondition(status.conditions, "Complete")).toMatchObject({
			reason: "WaitingForQuota",
			message: expect.stringMatching(
				/again at 2026-03-31T12:15:00Z, and every 15 minutes until 2026-03-31T12:45:00Z\. BigQuery refused to load/,
			),
		});
	});

	test("asks archive for new links then, not before, and starts for the time that is left", () => {
		const early = decide(waiting(), now + 15 * 60_000 - 1);
		expect(types(early)).toEqual(["writeStatus", "requeueAfter"]);
		expect(reasonOf(early)).toBe("WaitingForQuota");
		expect(early.at(-1)).toMatchObject({ afterMs: 1 });
		const dueMs = now + 15 * 60_000;
		const due = decide(waiting(), dueMs).at(-1)!;
		if (due.type !== "askManifest") throw new Error(due.type);
		expect(due.question.renew).toBe(true);
		const answered = { ...answer, snapshotTime: "2026-03-31T12:14:00Z" };
		const started = decide(answeredWith(waiting(), answered, dueMs), dueMs);
		expect(statusOf(started)).toMatchObject({ phase: "Running" });
		expect(statusOf(started)).not.toHaveProperty("retryTime");
		expect(started.find(({ type }) => type === "startJob")).toMatchObject({
			job: { job: { spec: { activeDeadlineSeconds: 1800 } } },
		});
	});

	test("says so again when something else that it waited for has come", () => {
		const status = statusOf(waits);
		const gone = decide({ ...waiting(), references: undefined }, now + 60_000);
		expect(statusOf(gone)).toMatchObject({
			retryTime: status.retryTime!,
		});
		const back = decide(waiting(statusOf(gone)), now + 120_000);
		expect(reasonOf(back)).toBe("WaitingForQuota");
	});

	test("fails with the warehouse's error if its time is over by the next try", () => {
		const run = loading({ startTime: "2026-03-31T11:15:00Z" });
		const actions = decide(stateOf({ ...usedUp, run }), now);
		expect(statusOf(actions)).toMatchObject({
			phase: "Failed",
			error: { code: "QuotaExceeded", retryable: true },
		});
		expect(statusOf(actions).error).not.toHaveProperty("waits");
	});

	test("ends when it is cancelled", () => {
		const state = waiting();
		state.run.spec.cancel = true;
		const status = statusOf(decide(state, now + 1_000));
		expect(status).toMatchObject({ phase: "Cancelled" });
		expect(status).not.toHaveProperty("retryTime");
	});
});

const jobOf = (extent: LoadExtent): Job => {
	const job = jobWith("Failed");
	job.metadata.labels = { "tidemill.dev/extent": extent };
	return job;
};

const incomplete = {
	run: loading({ extent: "Rest" }),
	job: jobOf("Rest"),
	pods: [
		podWith(
			{
				version: 1,
				outcome: "Failed",
				error: { code: "TableIncomplete", message: "", retryable: false },
			},
			65,
		),
	],
};

test("a Run whose table lacks earlier days comes back with the whole window", () => {
	const actions = decide(stateOf(incomplete), now);
	expect(types(actions)).toEqual([
		"writeStatus",
		"removeJob",
		"recordKubeEvent",
	]);
	expect(actions.at(-1)).toMatchObject({ reason: "WholeWindow" });
	const status = statusOf(actions);
	expect(status).toMatchObject({ phase: "Pending", extent: "Whole" });
	expect(status.completionTime).toBeUndefined();

	const asked = decide(stateOf({ run: owned(runOf("r", status)) }), now).at(-1);
	expect(asked).toMatchObject({
		type: "askManifest",
		question: { extent: "Whole", start: "2026-03-01" },
	});
});

test("a Run comes back with the whole window though its status is ahead of its Job's removal", () => {
	const status = statusOf(decide(stateOf(incomplete), now));
	const run = owned(runOf("r", status));
	const again = decide(stateOf({ ...incomplete, run }), now);
	expect(statusOf(again)).toEqual(status);
	expect(types(again)).toContain("removeJob");
});

test.each([
	[
		"whose time is over",
		{ run: loading({ startTime: "2026-03-31T10:59:00Z" }) },
	],
	["that has loaded the whole window", { job: jobOf("Whole") }],
])("a Run %s when its table lacks days fails", (_, changes) => {
	const state = stateOf({ ...incomplete, ...changes });
	expect(statusOf(decide(state, now))).toMatchObject({
		phase: "Failed",
		error: { code: "TableIncomplete" },
	});
});

test("a Run that finds types without a table comes back once they have names, with the whole window", () => {
	const error = {
		...{ code: "EventTypesFound", message: "", retryable: false },
		eventTypes: ["a", "b"],
	};
	const run = loading({
		layout: { ...layout, table: "load_orders" },
		eventTypes: ["z"],
	});
	const pods = [podWith({ version: 1, outcome: "Failed", error }, 65)];
	const found = { run, job: jobOf("Whole"), pods };
	const actions = decide(stateOf(found), now);
	const status = statusOf(actions);
	expect(status).toMatchObject({
		...{ phase: "Pending", extent: "Whole", eventTypes: ["z", "a", "b"] },
	});
	expect(types(actions)).toContain("removeJob");
	expect(actions.at(-1)).toMatchObject({ reason: "EventTypesFound" });
	// The status is ahead of its Job's removal.
	const again = { ...found, run: owned(runOf("r", status)) };
	expect(statusOf(decide(stateOf(again), now))).toEqual(status);

	const pipeline = pipelineOf({
		table: {
			...pipelineOf().spec.table,
			perEventType: true,
			eventType: { bodyPointer: "/type" },
		},
	});
	const nextOf = (known: string[]) => {
		pipeline.status = {
			eventTypeTables: {
				table: "load_orders",
				types: known.map((type) => ({ type, table: `load_orders_${type}` })),
			},
		};
		const run = owned(runOf("r", status));
		const state = stateOf({ run });
		const references = { ...state.references!, pipeline };
		return decide({ ...state, references }, now);
	};
	expect(types(nextOf(["z", "a"]))).toEqual(["writeStatus", "requeueAfter"]);
	expect(nextOf(["z", "a", "b"]).at(-1)).toMatchObject({
		type: "askManifest",
		question: { extent: "Whole" },
	});
});

test("a Run that finds the table of a type to be somebody else's comes back once the type has another", () => {
	const error = {
		...{ code: "EventTypesFound", message: "", retryable: false },
		takenTables: ["load_orders_a"],
	};
	const run = loading({ layout: { ...layout, table: "load_orders" } });
	const pods = [podWith({ version: 1, outcome: "Failed", error }, 65)];
	const actions = decide(stateOf({ run, job: jobOf("Rest"), pods }), now);
	const status = statusOf(actions);
	expect(status).toMatchObject({
		...{ phase: "Pending", extent: "Whole", takenTables: ["load_orders_a"] },
	});
	expect(actions.at(-1)).toMatchObject({
		reason: "EventTypesFound",
		message: expect.stringContaining('"load_orders_a" isn\'t'),
	});
	const pipeline = pipelineOf({
		table: {
			...pipelineOf().spec.table,
			perEventType: true,
			eventType: { bodyPointer: "/type" },
		},
	});
	const nextOf = (table: string) => {
		const types = [{ type: "a", table }];
		pipeline.status = { eventTypeTables: { table: "load_orders", types } };
		const state = stateOf({ run: owned(runOf("r", status)) });
		return decide(
			{ ...state, references: { ...state.references!, pipeline } },
			now,
		);
	};
	expect(types(nextOf("load_orders_a"))).toEqual([
		"writeStatus",
		"requeueAfter",
	]);
	expect(nextOf(`load_orders_a_${nameDigest("a", 0)}`).at(-1)).toMatchObject({
		type: "askManifest",
		question: { extent: "Whole" },
	});
});

test("a Run that finds members without a column comes back once they have one, with the days that it had", () => {
	const error = {
		...{ code: "ColumnsFound", message: "", retryable: false },
		columns: { "/a": "String", "/b": "Integer" } as const,
	};
	const before = { bodyPointer: "/z", type: "String" as const };
	const run = loading({
		layout: { ...layout, table: "load_orders" },
		columns: [before],
	});
	const pods = [podWith({ version: 1, outcome: "Failed", error }, 65)];
	const found = { run, job: jobOf("Rest"), pods };
	const actions = decide(stateOf(found), now);
	const status = statusOf(actions);
	const columns = [
		before,
		{ bodyPointer: "/a", type: "String" },
		{ bodyPointer: "/b", type: "Integer" },
	];
	expect(status).toMatchObject({ phase: "Pending", columns });
	expect(status.extent).toBe(run.status?.extent);
	expect(types(actions)).toContain("removeJob");
	// The status is ahead of its Job's removal.
	const again = { ...found, run: owned(runOf("r", status)) };
	expect(statusOf(decide(stateOf(again), now))).toEqual(status);
	const retyped = { ...error, columns: { "/z": "Date" } as const };
	const told = podWith({ version: 1, outcome: "Failed", error: retyped }, 65);
	expect(
		statusOf(decide(stateOf({ ...found, pods: [told] }), now)).columns,
	).toEqual([{ bodyPointer: "/z", type: "Date" }]);

	const nextOf = (known: string[], schema: "Evolve" | "Fixed" = "Evolve") => {
		const pipeline = pipelineOf({
			table: { ...pipelineOf().spec.table, schema },
		});
		pipeline.status = {
			inferredColumns: {
				table: "load_orders",
				columns: known.map((column) => {
					const [name = "", type = "String"] = column.split(" ");
					return { name, bodyPointer: `/${name}`, type };
				}),
			},
		};
		const state = stateOf({ run: owned(runOf("r", status)) });
		const references = { ...state.references!, pipeline };
		return types(decide({ ...state, references }, now));
	};
	expect(nextOf(["z", "a"])).toEqual(["writeStatus", "requeueAfter"]);
	expect(nextOf(["z", "a", "b Integer"]).at(-1)).toBe("askManifest");
	expect(nextOf(["z", "a", "b"])).toEqual(["writeStatus", "requeueAfter"]);
	// Columns that don't follow the events any more aren't waited for.
	expect(nextOf([], "Fixed").at(-1)).toBe("askManifest");
});

test("a Run is renewed only before its deadline", () => {
	const phaseAt = (startTime: string) => {
		const run = loading({ startTime });
		return statusOf(decide(stateOf({ ...expired, run }), now)).phase;
	};
	expect(phaseAt("2026-03-31T11:00:01Z")).toBe("Pending");
	expect(phaseAt("2026-03-31T11:00:00Z")).toBe("Failed");
});

test("attempts never go down when Pods are gone", () => {
	const run = loading({ attempts: 3 });
	const pods = [pod({ phase: "Running" })];
	const state = { run, job: jobWith(), pods };
	expect(statusOf(decide(stateOf(state), now)).attempts).toBe(3);
});

test("the status keeps what a Pod waited for while that Pod is being deleted", () => {
	const pods = [waiting("ImagePullBackOff", "no such image")];
	const before = stateOf({ run: loading(), job: jobWith(), pods });
	const run = loading(statusOf(decide(before, now)));
	const seen = (pod: Pod) =>
		reasonOf(decide(stateOf({ run, job: jobWith(), pods: [pod] }), now));
	const running = pod({ phase: "Running" });
	expect(seen(running)).toBe("Loading");
	const deletionTimestamp = "2026-03-31T12:00:00Z";
	const leaving = { ...running.metadata, deletionTimestamp };
	expect(seen({ ...running, metadata: leaving })).toBe("PodWaiting");
});

test("a Run's time begins when its Job starts", () => {
	const { attempts: _, ...begun } = loading().status!;
	const status = statusOf(
		decideRefused(stateOf({ run: owned(runOf("r", begun)) }), "A quota.", now),
	);
	expect(status.startTime).toBeUndefined();
	const state = stateOf();
	expect(
		decide(answeredWith(state, answer, now), now).find(
			({ type }) => type === "startJob",
		),
	).toMatchObject({
		job: { job: { spec: { activeDeadlineSeconds: 3600 } } },
	});
});

const gone = { run: loading({ layout }), job: jobWith("Complete"), pods: [] };
const away = {
	ok: false,
	error: { code: "X", message: "Archive is away.", retryable: true },
} as const;

test("a Run whose Job is complete and whose Pod is gone asks archive what it loaded", () => {
	expect(decide(stateOf(gone), now)).toEqual([
		{
			type: "askResult",
			shard: 0,
			question: {
				run: gone.run.metadata.uid,
				account: gone.run.metadata.namespace,
				sourceKey: layout.sourceKey,
			},
		},
	]);
	const unfitValues = [{ column: "total", rows: 2 }];
	const added = { addedRows: 2, unchangedDates: 1 };
	const otherTypes = { rows: 2, types: 1 };
	const more = { unfitValues, quarantinedRows: 3, otherTypes, ...added };
	const result = JSON.stringify({ ...loaded, ...more });
	const stored = { ok: true, result } as const;
	const status = statusOf(decide(stateOf({ ...gone, stored }), now));
	expect(status).toMatchObject({ phase: "Succeeded", rows: 5, ...more });
});

test.each([
	[
		["2026-03-30"],
		"Loaded 5 rows, 2 of them new. Somebody had changed rows of 2026-03-30 in the table: loaded again.",
	],
	[
		[1, 2, 3, 4, 5, 6, 7].map((day) => `2026-03-0${day}`),
		"Loaded 5 rows, 2 of them new. Somebody had changed rows of 2026-03-01, 2026-03-02, 2026-03-03, 2026-03-04, 2026-03-05 and 2 more dates in the table: loaded again.",
	],
])("a Run that found changed rows on %j says so", (repairedDates, words) => {
	const added = { addedRows: 2, unchangedDates: 0, repairedDates };
	const result = JSON.stringify({ ...loaded, ...added });
	const stored = { ok: true, result } as const;
	const status = statusOf(decide(stateOf({ ...gone, stored }), now));
	expect(status).toMatchObject({ phase: "Succeeded", repairedDates });
	expect(findCondition(status.conditions, "Complete")?.message).toBe(words);
});

test("a Run of the whole window says how many rows of other dates the table keeps", () => {
	const dates = { start: "2026-03-30", end: "2026-03-31" };
	const result = JSON.stringify({ ...loaded, otherRows: 7 });
	const stored = { ok: true, result } as const;
	const run = { ...gone.run, status: { ...gone.run.status, dates } };
	const status = statusOf(decide(stateOf({ ...gone, run, stored }), now));
	expect(status.otherRows).toBe(7);
	expect(findCondition(status.conditions, "Complete")?.message).toBe(
		"Loaded 5 rows. The table keeps 7 rows of other dates, outside 2026-03-30 to 2026-03-31.",
	);
});

test("what the warehouse does to the table stands in the Run's message", () => {
	const warning = "BigQuery deletes a day 60 days after its date.";
	const result = JSON.stringify({ ...loaded, warning });
	const stored = { ok: true, result } as const;
	const status = statusOf(decide(stateOf({ ...gone, stored }), now));
	expect(findCondition(status.conditions, "Complete")?.message).toBe(
		`Loaded 5 rows. ${warning}`,
	);
});

test("while archive is away, the Run waits for its result, and says so", () => {
	const actions = decide(stateOf({ ...gone, stored: away }), now);
	expect(types(actions)).toEqual(["writeStatus", "requeueAfter"]);
	const { conditions } = statusOf(actions);
	expect(findCondition(conditions, "Complete")?.message).toContain(
		"Archive is away.",
	);
});

test("a Run waits for its result until ten minutes after its Job's end", () => {
	const endedMs = Date.parse("2026-03-31T11:59:00Z");
	const state = stateOf({ ...gone, stored: away });
	const typesAfter = (ms: number) => types(decide(state, endedMs + ms));
	expect(typesAfter(600_000)).toContain("requeueAfter");
	expect(typesAfter(600_001)).not.toContain("requeueAfter");
});

test.each<[string, Partial<RunState>, number]>([
	["there is no result", { stored: { ok: true } }, now],
	["archive is away for long", { stored: away }, now + 10 * 60_000],
	[
		"archive refuses",
		{ stored: { ok: false, error: { ...away.error, retryable: false } } },
		now,
	],
	["nobody knows the shard", { shard: undefined }, now],
	["the Run began with an earlier version", { run: loading() }, now],
])("if %s, the Run ends with what is known", (_, changes, at) => {
	const actions = decide(stateOf({ ...gone, ...changes }), at);
	expect(statusOf(actions)).toMatchObject({ phase: "Failed" });
});

test("a Run whose Pod's node is lost says so, and fails after ten minutes", () => {
	const leaving = pod({ phase: "Running" });
	leaving.metadata.namespace = "shop";
	leaving.metadata.deletionTimestamp = "2026-03-31T11:58:00Z";
	leaving.spec = { nodeName: "n1" } as NonNullable<Pod["spec"]>;
	const state = stateOf({ run: loading(), job: jobWith(), pods: [leaving] });
	const actions = decide(state, now);
	expect(reasonOf(actions)).toBe("PodLost");
	expect(JSON.stringify(statusOf(actions))).toContain('on node \\"n1\\"');
	// Its deletion was due two minutes ago, and it counts as lost since one.
	expect(actions.at(-1)).toEqual({ type: "requeueAfter", afterMs: 540_000 });
	const late = decide(state, now + 540_000);
	expect(statusOf(late)).toMatchObject({
		phase: "Failed",
		error: { code: "PodLost", retryable: true },
	});
	// A kubelet that lives gets its time.
	leaving.metadata.deletionTimestamp = "2026-03-31T11:59:30Z";
	const early = decide(state, now);
	expect(reasonOf(early)).toBe("Loading");
	expect(early.at(-1)).toEqual({ type: "requeueAfter", afterMs: 30_000 });
});
