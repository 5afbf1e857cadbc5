import { expect, test } from "vitest";
import type {
	DestinationSpec,
	DestinationStatus,
} from "../../crds/generated/types.ts";
import type { JobResult } from "../../packages/contracts/job.ts";
import type { Pod, Secret } from "../../packages/kube/kinds.ts";
import { knownTypes } from "../../packages/warehouses/registry.ts";
import {
	at,
	bigQuery,
	busy,
	destinationWith,
	failedTimes,
	hash,
	jobThat,
	name,
	now,
	podWith,
	secretRef,
	spec,
	stateWith,
	statusIn,
	succeeded,
	used,
} from "../../test/support/examples/destination-examples.ts";
import { refusalOf } from "../../test/support/examples/run-examples.ts";
import { backoffMs, type DestinationAction, decide } from "./decide.ts";

test("a new Destination is checked by a Job whose name has the spec's digest", () => {
	const actions = decide(stateWith(), now);
	expect(statusIn(actions)).toMatchObject({
		observedGeneration: 2,
		phase: "Checking",
		conditions: [{ status: "Unknown", reason: "Checking" }],
	});
	const start = actions.find((action) => action.type === "startJob")!;
	expect(start.job.job.metadata).toMatchObject({
		name,
		ownerReferences: [{ kind: "Destination", uid: "u", controller: true }],
	});
	expect(
		JSON.parse(
			Buffer.from(start.job.secret.data!["input.json"]!, "base64").toString(),
		),
	).toEqual({
		version: 1,
		account: "shop",
		destination: { type: "DuckDB", path: "events.duckdb" },
	});
});

test("each new value of the annotation asks for one more check, and what is verified stays so meanwhile", () => {
	const before = "2026-02-01T12:00:00Z";
	const done = { jobs: [jobThat("Complete")], pods: [podWith(succeeded)] };
	const verified = statusIn(decide(stateWith(done), now))!;
	const asking = (asked: string, request?: string) => {
		const destination = destinationWith({
			...verified,
			lastCheck: {
				...verified.lastCheck!,
				time: before,
				...(request && { request }),
			},
		});
		destination.metadata.annotations = { "tidemill.dev/check": asked };
		return destination;
	};
	for (const destination of [asking("1"), asking("2", "1")]) {
		const [first, ...others] = decide(stateWith({ destination }), now);
		expect([first?.type, others]).toEqual(["startJob", []]);
	}
	expect(decide(stateWith({ destination: asking("2", "2") }), now)).toEqual([]);

	const destination = asking("2", "1");
	const running = decide(stateWith({ destination, jobs: [jobThat()] }), now);
	expect(statusIn(running)).toBeUndefined();
	for (const [result, status, failures] of [
		[succeeded, "True", 0],
		[busy, "False", 1],
	] as const) {
		const pods = [podWith(result)];
		const ended = decide(stateWith({ ...done, destination, pods }), now);
		expect(statusIn(ended)).toMatchObject({
			lastCheck: { hash, time: at, failures, request: "2" },
			conditions: [{ status }],
		});
	}
});

test("what a check warns of stands in Ready, also after the Destination was not ready for another reason", () => {
	const warning = "BigQuery deletes a day 60 days after its date.";
	const pods = [podWith({ ...succeeded, warning } as JobResult)];
	const done = { jobs: [jobThat("Complete")], pods };
	const verified = statusIn(decide(stateWith(done), now))!;
	const said = [{ status: "True", message: expect.stringContaining(warning) }];
	expect(verified.conditions).toMatchObject(said);
	const [ready] = verified.conditions!;
	const destination = destinationWith({
		...verified,
		conditions: [{ ...ready!, status: "False", reason: "SecretMissing" }],
	});
	const after = statusIn(decide(stateWith({ destination }), now));
	expect(after?.conditions).toMatchObject(said);
});

test("a check that succeeds makes the Destination Ready, and is removed after that is recorded", () => {
	const actions = decide(
		stateWith({ jobs: [jobThat("Complete")], pods: [podWith(succeeded)] }),
		now,
	);
	expect(statusIn(actions)).toMatchObject({
		phase: "Ready",
		lastCheck: { hash, time: at, failures: 0 },
		conditions: [{ status: "True", reason: "Verified" }],
	});
	const destination = destinationWith(statusIn(actions));
	expect(
		decide(stateWith({ destination, jobs: [jobThat("Complete")] }), now),
	).toEqual([{ type: "removeJob", job: jobThat("Complete") }]);
	expect(decide(stateWith({ destination }), now + 1e9)).toEqual([]);
});

test("a check that fails reports the destination's error", () => {
	const actions = decide(
		stateWith({ jobs: [jobThat("Failed")], pods: [podWith(busy)] }),
		now,
	);
	expect(statusIn(actions)).toMatchObject({
		phase: "Error",
		lastCheck: { failures: 1 },
		conditions: [
			{
				status: "False",
				reason: "CheckFailed",
				message: "DestinationBusy: in use by x",
			},
		],
	});
	expect(actions).toContainEqual(
		expect.objectContaining({ type: "recordKubeEvent", severity: "Warning" }),
	);
});

test("a recorded result is not counted twice", () => {
	expect(
		decide(
			stateWith({
				destination: failedTimes(1),
				jobs: [jobThat("Failed")],
				pods: [podWith(busy)],
			}),
			now,
		),
	).toEqual([{ type: "removeJob", job: jobThat("Failed") }]);
});

test("a failed check is repeated after a delay that doubles, and its error stays in the status", () => {
	expect([1, 2, 3, 20].map(backoffMs)).toEqual([
		30_000, 60_000, 120_000, 1_800_000,
	]);
	const state = stateWith({ destination: failedTimes(2) });
	expect(decide(state, now + 59_000)).toEqual([
		{ type: "requeueAfter", afterMs: 1_000 },
	]);
	expect(decide(state, now + 60_000)).toMatchObject([{ type: "startJob" }]);
	expect(decide({ ...state, jobs: [jobThat()] }, now + 61_000)).toEqual([
		{ type: "requeueAfter", afterMs: 10_000 },
	]);
});

test("an edit is checked at once, unless only displayName changed", () => {
	const edited = failedTimes(5);
	edited.metadata.generation = 3;
	expect(decide(stateWith({ destination: edited }), now)).toMatchObject([
		{ type: "startJob" },
	]);

	const ready = destinationWith(
		{ lastCheck: { hash, time: at, failures: 0 } },
		{ ...spec, displayName: "Lake" },
	);
	expect(decide(stateWith({ destination: ready }), now)).not.toContainEqual(
		expect.objectContaining({ type: "startJob" }),
	);
});

test("the check of an earlier spec is removed", () => {
	const earlier = { ...jobThat(), metadata: { name: "lake-check-0ld" } };
	expect(decide(stateWith({ jobs: [earlier] }), now)).toEqual(
		expect.arrayContaining([
			{ type: "removeJob", job: earlier },
			expect.objectContaining({ type: "startJob" }),
		]),
	);
});

test("a check that runs says nothing of waiting", () => {
	const actions = decide(stateWith({ jobs: [jobThat()] }), now);
	expect(JSON.stringify(statusIn(actions))).not.toContain("can't start");
});

test("a check that can't start says what it waits for, even after it ran out of time", () => {
	const message = 'persistentvolumeclaim "files" not found';
	const pod: Pod = {
		...podWith(busy),
		status: {
			conditions: [{ type: "PodScheduled", status: "False", message }],
		},
	};
	const status = statusIn(
		decide(stateWith({ jobs: [jobThat()], pods: [pod] }), now),
	)!;
	expect(status.conditions![0]!.message).toContain(message);
	const late = decide(
		stateWith({
			destination: destinationWith(status),
			jobs: [jobThat("Failed", "DeadlineExceeded")],
		}),
		now,
	);
	const said = statusIn(late)!.conditions![0]!;
	expect(said).toMatchObject({
		reason: "CheckNotFinished",
		message: `The check did not end within 300 seconds. Its last message: The check can't start yet: ${message}`,
	});
	// A repetition that doesn't end either leaves the message as it is.
	const repeated = decide(
		stateWith({
			destination: destinationWith({
				...statusIn(late)!,
				lastCheck: { hash, time: "2026-03-01T11:00:00Z", failures: 1 },
			}),
			jobs: [jobThat("Failed", "DeadlineExceeded")],
		}),
		now,
	);
	expect(statusIn(repeated)).toMatchObject({
		lastCheck: { failures: 2 },
		conditions: [{ message: said.message }],
	});
});

test.each<[string, DestinationSpec]>([
	["EndpointNotAllowed", bigQuery({ apiEndpoint: "https://elsewhere" })],
	[
		"EndpointNotAllowed",
		bigQuery({ stagingBucket: "bucket", storageEndpoint: "https://elsewhere" }),
	],
	["SecretNotFound", bigQuery({ credentials: { secretRef } })],
	["VolumeClaimRequired", { type: "DuckDB", duckDB: { path: "x.duckdb" } }],
])(
	"%s is reported without a check, and ends a check that runs",
	(reason, wanted) => {
		const destination = destinationWith(undefined, wanted);
		const actions = decide(stateWith({ destination, jobs: [jobThat()] }), now);
		expect(actions[0]).toEqual({ type: "removeJob", job: jobThat() });
		expect(statusIn(actions)).toMatchObject({
			phase: "Error",
			conditions: [{ status: "False", reason }],
		});
	},
);

/** As CloudNativePG makes it for an application. */
const ofCluster: Secret = {
	metadata: { name: "warehouse-app", namespace: "shop", labels: used },
	data: Object.fromEntries(
		Object.entries({
			username: "app",
			password: "secret",
			host: "warehouse-rw",
			port: "5432",
			dbname: "app",
			uri: "postgresql://app:secret@warehouse-rw.shop:5432/app",
		}).map(([key, value]) => [key, Buffer.from(value).toString("base64")]),
	),
} as Secret;

function postgresWith(
	more: object = {},
	{
		without = [],
		hosts,
		bound,
	}: { without?: string[]; hosts?: string[]; bound?: string } = {},
) {
	const data = { ...ofCluster.data };
	for (const key of without) delete data[key];
	const destination = destinationWith(undefined, {
		type: "Postgres",
		postgres: {
			credentials: { secretRef: { name: "warehouse-app" } },
			...more,
		},
	} as DestinationSpec);
	return decide(
		stateWith({
			destination,
			credentials: [
				{
					...ofCluster,
					data,
					metadata: {
						...ofCluster.metadata,
						...(bound && { annotations: { "tidemill.dev/hosts": bound } }),
					},
				},
			],
			allowedEndpoints: hosts ? { DESTINATION_HOSTS: hosts } : {},
		}),
		now,
	);
}

function secretKeysOf(actions: DestinationAction[]): string[] {
	const [start] = actions.filter((action) => action.type === "startJob");
	return Object.keys(start!.job.secret.data ?? {}).toSorted();
}

test("a Secret of CloudNativePG fills what the spec leaves out, and the spec wins over it", () => {
	const all = ["dbname", "host", "password", "port", "username"];
	expect(secretKeysOf(postgresWith())).toEqual([
		"input.json",
		...all.map((key) => `postgres-${key}`),
	]);
	expect(
		secretKeysOf(
			postgresWith(
				{ host: "db.example.com", database: "own" },
				{ bound: "postgres://db.example.com" },
			),
		),
	).toEqual([
		"input.json",
		"postgres-password",
		"postgres-port",
		"postgres-username",
	]);
});

test.each([
	[
		"ConnectionIncomplete",
		"spec.postgres.host is not set",
		{},
		{ without: ["host"] },
	],
	[
		"ConnectionIncomplete",
		'no key "dbname"',
		{ host: "a" },
		{ without: ["dbname"] },
	],
	["SecretKeyNotFound", "password", {}, { without: ["password"] }],
	["HostNotAllowed", "warehouse-rw", {}, { hosts: ["db.example.com"] }],
	[
		"HostNotAllowed",
		"evil-example.com",
		{ host: "evil-example.com" },
		{ hosts: ["*.example.com"] },
	],
])("%s: %s", (reason, words, more, how) => {
	expect(statusIn(postgresWith(more, how))).toMatchObject({
		conditions: [
			{ status: "False", reason, message: expect.stringContaining(words) },
		],
	});
});

test.each([["DB.example.com."], ["a.b.example.com"]])(
	"host %s is one that the operator's list has",
	(host) => {
		const actions = postgresWith(
			{ host },
			{
				hosts: ["db.example.com", "*.example.com"],
				bound: "postgres://db.example.com postgres://a.b.example.com",
			},
		);
		expect(actions.map(({ type }) => type)).toContain("startJob");
	},
);

test("a type of a later version's CRD is refused without a check", () => {
	const destination = destinationWith(undefined, {
		type: "Snowflake",
		snowflake: {},
	} as unknown as DestinationSpec);
	const actions = decide(stateWith({ destination }), now);
	expect(actions.map(({ type }) => type)).not.toContain("startJob");
	expect(statusIn(actions)).toMatchObject({
		phase: "Error",
		conditions: [
			{
				status: "False",
				reason: "UnsupportedType",
				message: `spec.type is Snowflake, but this version of the operator knows only ${knownTypes()}. Upgrade Tidemill, or change spec.type.`,
			},
		],
	});
});

test("a Secret that may still arrive is waited for before a warning", () => {
	const destination = destinationWith(
		undefined,
		bigQuery({ credentials: { secretRef } }),
	);
	const createdAt = new Date(now - 5_000).toISOString();
	destination.metadata.creationTimestamp = createdAt;
	const actions = decide(stateWith({ destination }), now);
	expect(statusIn(actions)).toMatchObject({
		phase: "Checking",
		conditions: [{ status: "Unknown", reason: "SecretNotFound" }],
	});
	expect(actions).toContainEqual({ type: "requeueAfter", afterMs: 25_000 });
	const status = statusIn(actions)!;
	const later = stateWith({ destination: { ...destination, status } });
	expect(decide(later, now + 25_000)).toContainEqual(
		expect.objectContaining({ severity: "Warning", reason: "SecretNotFound" }),
	);
});

test("local mode needs no volume claim, since each namespace has a folder", () => {
	const destination = destinationWith(undefined, {
		type: "DuckDB",
		duckDB: { path: "x.duckdb" },
	});
	const start = decide(
		stateWith({ destination, localWarehouse: "/data" }),
		now,
	).find((action) => action.type === "startJob")!;
	expect(start.job.job.spec!.template.spec!.volumes).toContainEqual({
		name: "warehouse",
		hostPath: { path: "/data/shop", type: "DirectoryOrCreate" },
	});
});

test("a check that Kubernetes refuses is reported with its error and repeated", () => {
	const refusal = refusalOf("exceeded quota", { at: now });
	const actions = decide(stateWith({ refusal }), now);
	expect(statusIn(actions)).toMatchObject({
		lastCheck: { failures: 1 },
		conditions: [
			{
				reason: "CheckNotStarted",
				message: "Kubernetes refused the Job: exceeded quota",
			},
		],
	});
	expect(actions.at(-1)).toEqual({ type: "requeueAfter", afterMs: 30_000 });
	// The refusal counts once.
	const destination = destinationWith(statusIn(actions));
	const again = decide(stateWith({ destination, refusal }), now + 500);
	expect(statusIn(again)).toBeUndefined();
});

test("an endpoint in the operator's setting is allowed", () => {
	const apiEndpoint = "https://bigquery.example/";
	const state = stateWith({
		destination: destinationWith(undefined, bigQuery({ apiEndpoint })),
		allowedEndpoints: {
			TIDEMILL_BIGQUERY_ENDPOINTS: ["https://bigquery.example"],
		},
	});
	expect(decide(state, now).map(({ type }) => type)).toContain("startJob");
});

test("a Destination that is being deleted is left alone", () => {
	const destination = destinationWith();
	destination.metadata.deletionTimestamp = at;
	expect(decide(stateWith({ destination }), now)).toEqual([]);
});

test("the result of another check's Pod does not count", () => {
	const pod = podWith(succeeded);
	pod.metadata.ownerReferences![0]!.uid = "earlier job";
	const jobs = [jobThat("Complete")];
	expect(statusIn(decide(stateWith({ jobs, pods: [pod] }), now))?.phase).toBe(
		"Error",
	);
});

test("another message of the same failure is reported again, and the same one is not", () => {
	const failed = decide(
		stateWith({ jobs: [jobThat("Failed")], pods: [podWith(busy)] }),
		now,
	);
	const status = { ...statusIn(failed)!, lastCheck: { failures: 1 } };
	const again = (message: string) =>
		decide(
			stateWith({
				destination: destinationWith(status),
				jobs: [jobThat("Failed")],
				pods: [
					podWith({
						version: 1,
						outcome: "Failed",
						error: { code: "DestinationBusy", message, retryable: true },
					}),
				],
			}),
			now,
		).map(({ type }) => type);
	expect(again("in use by x")).toEqual(["writeStatus"]);
	expect(again("in use by y")).toEqual(["writeStatus", "recordKubeEvent"]);
});

test("another reason is reported, even in the same words", () => {
	const refusedAt = (at: number, status?: DestinationStatus) =>
		decide(
			stateWith({
				destination: destinationWith(status),
				refusal: refusalOf("in use", { at }),
			}),
			at,
		);
	const refused = (reason: string) => {
		const before = statusIn(refusedAt(now))!;
		const status = {
			...before,
			conditions: before.conditions!.map((ready) => ({ ...ready, reason })),
		};
		return refusedAt(now + 60_000, status).map(({ type }) => type);
	};
	expect(refused("CheckFailed")).toContain("recordKubeEvent");
	expect(refused("CheckNotStarted")).not.toContain("recordKubeEvent");
});

test("a repeated check that fails counts as another failure", () => {
	const destination = failedTimes(1);
	destination.status!.lastCheck!.time = "2026-03-01T11:00:00Z";
	const jobs = [jobThat("Failed")];
	const actions = decide(
		stateWith({ destination, jobs, pods: [podWith(busy)] }),
		now,
	);
	expect(statusIn(actions)?.lastCheck).toEqual({ hash, time: at, failures: 2 });
});

test("a check whose Job a failing webhook refuses says so and is tried when that is due, without counting as a failed check", () => {
	const refusal = refusalOf("the webhook is out of order", {
		status: 500,
		at: now,
		retryInMs: 7_000,
	});
	const actions = decide(stateWith({ refusal }), now);
	expect(actions.map(({ type }) => type)).toEqual([
		"recordKubeEvent",
		"writeStatus",
		"requeueAfter",
	]);
	expect(statusIn(actions)).toMatchObject({
		conditions: [
			{
				status: "False",
				reason: "WriteRefused",
				message: "Kubernetes refused the Job: the webhook is out of order",
			},
		],
	});
	expect(statusIn(actions)?.lastCheck).toBeUndefined();
	expect(actions.at(-1)).toEqual({ type: "requeueAfter", afterMs: 7_000 });
	const destination = destinationWith(statusIn(actions));
	const due = { ...refusal, retryInMs: 0 };
	const again = decide(stateWith({ destination, refusal: due }), now + 7_000);
	expect(again.map(({ type }) => type)).toContain("startJob");
});
