import { randomBytes } from "node:crypto";
import type { NatsConnection } from "@nats-io/transport-node";
import {
	afterAll,
	afterEach,
	beforeAll,
	beforeEach,
	expect,
	inject,
	test,
	vi,
} from "vitest";
import type { JobResult, LoadInput } from "../../contracts/job.ts";
import type {
	ManifestAnswer,
	ManifestQuestion,
} from "../../contracts/manifest.ts";
import { manifestSubject } from "../../contracts/nats.ts";
import { addDays, utcDate } from "../../contracts/utc-date.ts";
import {
	type Destination,
	destinationKind,
	type Pipeline,
	type PipelineSpec,
	pipelineKind,
	type Run,
	type RunSpec,
	runKind,
	type Source,
	sourceKind,
} from "../../crds/generated/types.ts";
import type { OperatorContext } from "../../operator/context.ts";
import { createInformers } from "../../operator/informers.ts";
import { KubeClient } from "../../operator/kube/client.ts";
import { findCondition, rfc3339 } from "../../operator/kube/conditions.ts";
import { EventRecorder } from "../../operator/kube/events.ts";
import { kinds } from "../../operator/kube/kinds.ts";
import { loadKubeConfig } from "../../operator/kube/kube-config.ts";
import { LedgerView } from "../../operator/ledger-view.ts";
import { createPipelineController } from "../../operator/pipeline/controller.ts";
import { RouteTable } from "../../operator/routes.ts";
import { createRunController } from "../../operator/run/controller.ts";
import { keysSecret } from "../../operator/source/keys.ts";
import { createLog } from "../../service/log.ts";
import { connectNats } from "../../service/nats.ts";
import { Settings } from "../../service/settings.ts";
import { startNats, type TestNats } from "../servers.ts";

const client = KubeClient.fromConfig(loadKubeConfig(inject("kubeconfig")));
const log = createLog("test");
const wait = { timeout: 30_000, interval: 50 };
const sourceKey = "5".repeat(32);
const today = utcDate(Date.now());

let server: TestNats;
let nats: NatsConnection;
let archive: NatsConnection;
let questions: ManifestQuestion[] = [];
let answer: (question: ManifestQuestion) => ManifestAnswer | undefined;
const manifest = (question: ManifestQuestion): ManifestAnswer => ({
	ok: true,
	url: `http://s3/runs/${question.run}.json?signature=secret`,
	snapshotTime: rfc3339(Date.now()),
	closedThrough: addDays(today, -1),
	firstEventDate: addDays(today, -2),
	dates: { start: addDays(today, -2), end: today },
	expiresAt: rfc3339(Date.now() + 3_600_000),
});

const connectAs = (role: "operator" | "archive") =>
	connectNats(new Settings({ NATS_URL: server.urlFor(role) }), role, log);

beforeAll(async () => {
	server = await startNats();
	nats = await connectAs("operator");
	archive = await connectAs("archive");
	// The question's part of archive, answered as the test says.
	archive.subscribe(manifestSubject(0), {
		callback: (_, message) => {
			const question = message.json<ManifestQuestion>();
			questions.push(question);
			const reply = answer(question);
			if (reply) message.respond(JSON.stringify(reply));
		},
	});
	await archive.flush();
});

afterAll(async () => {
	await nats.close();
	await archive.close();
	await server.stop();
});

let namespace = "";
let stop: AbortController;
let operator: Promise<unknown>;

beforeEach(async () => {
	namespace = `runs-${randomBytes(4).toString("hex")}`;
	questions = [];
	answer = manifest;
	await client.create(kinds.namespace, { metadata: { name: namespace } });
	await createReferences();
	stop = new AbortController();
	operator = startOperator(stop.signal);
});

afterEach(async () => {
	stop.abort();
	await operator;
});

/** The two controllers under test, alone: no process loads anything here. */
function startOperator(signal: AbortSignal): Promise<unknown> {
	const informers = createInformers(client, { namespaces: [namespace], log });
	const context: OperatorContext = {
		client,
		events: new EventRecorder(client, "tidemill.dev/operator", log),
		informers,
		nats,
		routes: new RouteTable(nats, { replicas: 1 }),
		ledgers: new LedgerView(nats, log),
		settings: {
			receiveURL: "http://receive",
			image: "tidemill.local/tidemill:test",
			shards: 1,
			watchNamespaces: undefined,
			leaseNamespace: "default",
			localWarehouse: "/warehouse",
			bucketReplicas: 1,
			sealKey: undefined,
		},
		log,
	};
	const loops = [createPipelineController, createRunController].map((create) =>
		create(context),
	);
	return Promise.all(
		[...Object.values(informers), ...loops].map((part) => part.run(signal)),
	);
}

/** A Source and a Destination as their controllers leave them. */
async function createReferences(): Promise<void> {
	await client.create(
		kinds.secret,
		keysSecret(
			{ namespace, name: "orders" },
			{ sourceKey, urlKey: "6".repeat(32), shard: 0 },
		),
	);
	const source = await client.apply<Source>(
		sourceKind,
		named("orders", {
			spec: { type: "Webhook", webhook: { capturedHeaders: ["x-event"] } },
		}),
		{ fieldManager: "test" },
	);
	await client.applyStatus(
		sourceKind,
		named("orders", { status: { ...ready(source), sourceKey } }),
		{ fieldManager: "test" },
	);
	const destination = await client.apply<Destination>(
		destinationKind,
		named("files", {
			spec: { type: "DuckDB", duckDB: { path: "events.duckdb" } },
		}),
		{ fieldManager: "test" },
	);
	await client.applyStatus(
		destinationKind,
		named("files", { status: ready(destination) }),
		{ fieldManager: "test" },
	);
}

function named<T extends object>(name: string, rest: T) {
	return { metadata: { name, namespace }, ...rest };
}

function ready({ metadata }: Source | Destination) {
	return {
		observedGeneration: metadata.generation!,
		conditions: [
			{
				type: "Ready",
				status: "True" as const,
				reason: "Fine",
				message: "",
				lastTransitionTime: rfc3339(Date.now()),
			},
		],
	};
}

function createPipeline(name: string, spec: Partial<PipelineSpec> = {}) {
	return client.apply<Pipeline>(
		pipelineKind,
		named(name, {
			spec: {
				sourceRef: { name: "orders" },
				destinationRef: { name: "files" },
				...spec,
			},
		}),
		{ fieldManager: "test" },
	);
}

function createRun(
	name: string,
	pipeline: string,
	rest: Partial<RunSpec> = {},
) {
	return client.apply<Run>(
		runKind,
		named(name, { spec: { pipelineRef: { name: pipeline }, ...rest } }),
		{ fieldManager: "test" },
	);
}

async function statusOfRun(name: string): Promise<NonNullable<Run["status"]>> {
	return (await client.get<Run>(runKind, name, namespace))?.status ?? {};
}

async function completeOf(name: string) {
	const { conditions } = await statusOfRun(name);
	return findCondition(conditions, "Complete");
}

async function podOf(run: string) {
	const labelSelector = `tidemill.dev/run=${run}`;
	const { items } = await client.list(kinds.pod, { namespace, labelSelector });
	expect(items).toHaveLength(1);
	return items[0]!;
}

/** What a node says of the Run's Pod when its process has ended. */
async function endPod(run: string, exitCode: number, result: JobResult) {
	const { metadata } = await vi.waitFor(() => podOf(run), wait);
	await setPodStatus(metadata.name, {
		phase: exitCode === 0 ? "Succeeded" : "Failed",
		containerStatuses: [
			{
				...container,
				state: {
					terminated: { exitCode, message: JSON.stringify(result) },
				},
			},
		],
	});
}

const container = {
	name: "tidemill",
	image: "tidemill.local/tidemill:test",
	imageID: "",
	ready: false,
	restartCount: 0,
};

function setPodStatus(name: string, status: object) {
	return client.patch(kinds.pod, name, namespace, { status }, "merge", {
		subresource: "status",
	});
}

const succeeded: JobResult = {
	version: 1,
	outcome: "Succeeded",
	rows: 329,
	bytes: 4096,
	objects: 2,
};

function phaseBecomes(run: string, phase: string) {
	return vi.waitFor(async () => {
		expect((await statusOfRun(run)).phase).toBe(phase);
	}, wait);
}

test("a Run that a person creates becomes a Job, and its result the status of Run and Pipeline", async () => {
	const pipeline = await createPipeline("load-orders");
	await createRun("first", "load-orders");
	await phaseBecomes("first", "Running");

	const { metadata, spec } = (await client.get(kinds.job, "first", namespace))!;
	const run = (await client.get<Run>(runKind, "first", namespace))!;
	expect(metadata.ownerReferences).toMatchObject([{ uid: run.metadata.uid }]);
	expect(run.metadata.ownerReferences).toMatchObject([
		{ kind: "Pipeline", uid: pipeline.metadata.uid, controller: true },
	]);
	expect(spec?.template.spec?.volumes?.[0]?.secret?.secretName).toBe(
		"first-input",
	);
	const secret = await client.get(kinds.secret, "first-input", namespace);
	const input = JSON.parse(
		Buffer.from(secret!.data!["input.json"]!, "base64").toString(),
	) as LoadInput;
	expect(input).toMatchObject({
		run: { name: "first", uid: run.metadata.uid, account: namespace },
		destination: { type: "DuckDB", path: "events.duckdb" },
		table: { name: "load_orders" },
		strategy: "Incremental",
		manifestURL: `http://s3/runs/${run.metadata.uid}.json?signature=secret`,
	});
	expect(input.table.columns.map(({ name }) => name)).toEqual([
		"event_id",
		"timestamp",
		"body",
		"date",
		"header_x_event",
	]);

	await endPod("first", 0, succeeded);
	await phaseBecomes("first", "Succeeded");
	const status = await statusOfRun("first");
	expect(status).toMatchObject({
		trigger: "Manual",
		strategy: "Incremental",
		rows: 329,
		bytes: 4096,
		objects: 2,
		attempts: 1,
		dates: { start: addDays(today, -2), end: today },
	});
	expect(findCondition(status.conditions, "Complete")?.status).toBe("True");
	expect(JSON.stringify(status)).not.toContain("signature");

	await vi.waitFor(async () => {
		const { status } = (await client.get<Pipeline>(
			pipelineKind,
			"load-orders",
			namespace,
		))!;
		expect(status).toMatchObject({
			phase: "Ready",
			tableName: "load_orders",
			lastRun: { name: "first", phase: "Succeeded", rows: 329 },
			lastSuccess: { closedThrough: addDays(today, -1) },
		});
		expect(status!.activeRun).toBeUndefined();
		expect(findCondition(status!.conditions, "RunSucceeded")?.status).toBe(
			"True",
		);
		// Recorded, so that nothing is kept of it but the Run.
		expect(await client.get(kinds.job, "first", namespace)).toBeUndefined();
		expect(
			await client.get(kinds.secret, "first-input", namespace),
		).toBeUndefined();
	}, wait);
	const events = await client.list(kinds.event, { namespace });
	const told = events.items.filter(
		({ regarding }) => regarding?.name === "first" && regarding.kind === "Run",
	);
	expect(told.map(({ reason }) => reason).sort()).toEqual([
		"RunStarted",
		"RunSucceeded",
	]);
});

test("the next Run loads from the first day that wasn't closed, less the overwrite period", async () => {
	await createPipeline("p", { overwritePeriodDays: 1 });
	await createRun("one", "p");
	await endPod("one", 0, succeeded);
	await vi.waitFor(async () => {
		const pipeline = await client.get<Pipeline>(pipelineKind, "p", namespace);
		expect(pipeline?.status?.lastSuccess).toBeDefined();
	}, wait);
	await createRun("two", "p");
	await vi.waitFor(() => expect(questions).toHaveLength(2), wait);
	expect(questions.map(({ start, end }) => [start, end])).toEqual([
		[addDays(today, -30), today],
		[addDays(today, -1), today],
	]);
});

test("a permanent error fails the Run with the words of the load", async () => {
	await createPipeline("p");
	await createRun("doomed", "p");
	const error = {
		code: "TableIncompatible",
		message: "Table p can't take this load.",
		retryable: false,
	};
	await endPod("doomed", 65, { version: 1, outcome: "Failed", error });
	await phaseBecomes("doomed", "Failed");
	const status = await statusOfRun("doomed");
	expect(status.error).toEqual(error);
	expect(findCondition(status.conditions, "Failed")?.status).toBe("True");
	await vi.waitFor(async () => {
		const pipeline = await client.get<Pipeline>(pipelineKind, "p", namespace);
		expect(findCondition(pipeline?.status?.conditions, "Ready")).toMatchObject({
			status: "False",
			reason: "TableIncompatible",
		});
	}, wait);
});

test("no flush, no run: a Run waits for archive, says so, and asks again at its own pace", async () => {
	const askedMs: number[] = [];
	answer = () => {
		askedMs.push(performance.now());
		const message = `S3 is away, ${askedMs.length} times.`;
		return { ok: false, error: { code: "Away", message, retryable: true } };
	};
	await createPipeline("p");
	await createRun("waits", "p");
	await vi.waitFor(async () => {
		expect(await completeOf("waits")).toMatchObject({
			status: "False",
			reason: "ManifestUnavailable",
			message: "S3 is away, 4 times.",
		});
	}, wait);
	// What changes around it may make it ask at once, but not what it says itself.
	expect(askedMs[3]! - askedMs[0]!).toBeGreaterThan(900);
	expect(await client.get(kinds.job, "waits", namespace)).toBeUndefined();
	answer = manifest;
	await phaseBecomes("waits", "Running");
});

test("a Run that comes before its Pipeline waits for it", async () => {
	await createRun("early", "late");
	await vi.waitFor(async () => {
		expect((await completeOf("early"))?.reason).toBe("PipelineNotFound");
	}, wait);
	await createPipeline("late");
	await phaseBecomes("early", "Running");
});

test("of two Runs into one file the second starts when the first one's Pods are gone", async () => {
	await createPipeline("p");
	await createPipeline("q");
	await createRun("a-first", "p");
	await phaseBecomes("a-first", "Running");
	const { metadata } = await vi.waitFor(() => podOf("a-first"), wait);
	await setPodStatus(metadata.name, {
		phase: "Running",
		containerStatuses: [{ ...container, state: { running: {} } }],
	});
	// Its process takes its time to end: the Pod is there until the finalizer goes.
	await client.patch(
		kinds.pod,
		metadata.name,
		namespace,
		{ metadata: { finalizers: [...metadata.finalizers!, "test.dev/hold"] } },
		"merge",
	);
	await createRun("b-second", "q");
	await vi.waitFor(async () => {
		expect((await completeOf("b-second"))?.reason).toBe("WaitingForTurn");
	}, wait);
	await client.patch(
		runKind,
		"a-first",
		namespace,
		{ spec: { cancel: true } },
		"merge",
	);
	await phaseBecomes("a-first", "Cancelled");
	await vi.waitFor(async () => {
		expect((await completeOf("b-second"))?.message).toContain("Pods of Run");
	}, wait);
	expect(await client.get(kinds.job, "b-second", namespace)).toBeUndefined();
	await client.patch(
		kinds.pod,
		metadata.name,
		namespace,
		{ metadata: { finalizers: null } },
		"merge",
	);
	await client.delete(kinds.pod, metadata.name, namespace, {
		gracePeriodSeconds: 0,
	});
	await phaseBecomes("b-second", "Running");
});

test("of the slots that were missed the latest is made up for, once, by a Run named for its minute", async () => {
	const schedule = {
		type: "Interval",
		interval: "1h",
		timeZone: "UTC",
	} as const;
	await createPipeline("clock", { schedule });
	const statusOf = async () =>
		(await client.get<Pipeline>(pipelineKind, "clock", namespace))!.status;
	await vi.waitFor(async () => {
		expect((await statusOf())?.schedule?.hash).toBeDefined();
	}, wait);
	// As if the operator had been away for five hours.
	const since = rfc3339(Date.now() - 5 * 3_600_000);
	await client.patch(
		pipelineKind,
		"clock",
		namespace,
		{ status: { schedule: { since } } },
		"merge",
		{ subresource: "status" },
	);
	const hour = Math.floor(Date.now() / 3_600_000);
	const name = `clock-${hour * 60}`;
	await phaseBecomes(name, "Running");
	await endPod(name, 0, succeeded);
	await phaseBecomes(name, "Succeeded");
	expect((await statusOfRun(name)).trigger).toBe("Schedule");
	await vi.waitFor(async () => {
		expect(await statusOf()).toMatchObject({
			phase: "Ready",
			lastScheduleTime: rfc3339(hour * 3_600_000),
			nextRunTime: rfc3339((hour + 1) * 3_600_000),
			lastRun: { name, phase: "Succeeded" },
		});
	}, wait);
	const { items } = await client.list<Run>(runKind, { namespace });
	expect(items).toHaveLength(1);
});
