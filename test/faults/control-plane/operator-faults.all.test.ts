// In make test: test/faults/control-plane/operator-kill.laptop.test.ts
import { Kvm } from "@nats-io/kv";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import {
	destinationKind,
	type Pipeline,
	pipelineKind,
	type Run,
	runKind,
	type Source,
	sourceKind,
} from "../../../crds/generated/types.ts";
import { freePort } from "../../../local/machine/ports.ts";
import type { SourceLedger } from "../../../packages/contracts/ledger.ts";
import { bucket } from "../../../packages/contracts/nats.ts";
import { findCondition } from "../../../packages/kube/conditions.ts";
import { kinds } from "../../../packages/kube/kinds.ts";
import { republished } from "../../../packages/streams/made-streams.ts";
import { eventReasons } from "../../support/fixtures/control-plane/cluster-state.ts";
import {
	dailyLoad,
	OperatorWorld,
} from "../../support/fixtures/control-plane/operator-world.ts";
import { isWrite } from "../../support/proxies/apiserver-proxy.ts";
import { kubectlDone } from "../../support/servers/kubectl.ts";
import type { TidemillProcess } from "../../support/servers/tidemill-process.ts";

const soon = { timeout: 120_000, interval: 20 };

let world: OperatorWorld;
let operator: TidemillProcess;
let namespace: string;
let healthPort: number;
const statusSeconds = 3;

beforeAll(async () => {
	world = await OperatorWorld.start();
	[namespace = ""] = await world.namespaces(1);
	healthPort = await freePort();
	startOperator();
});

beforeEach(() => {
	world.proxy.onRequest = () => undefined;
});

afterAll(() => world?.stop());

function startOperator(): void {
	operator = world.startOperator([namespace], {
		throughProxy: true,
		env: {
			HEALTH_PORT: String(healthPort),
			SOURCE_STATUS_SECONDS: String(statusSeconds),
		},
	});
}

const sourceYaml = (name: string) => `
apiVersion: tidemill.dev/v1alpha1
kind: Source
metadata: { name: ${name} }
spec: { type: Webhook }
`;

const runYaml = (name: string) => `
---
apiVersion: tidemill.dev/v1alpha1
kind: Run
metadata: { name: ${name} }
spec: { pipelineRef: { name: load } }
`;

function becomesActive(name: string): Promise<Source> {
	return vi.waitFor(async () => {
		const source = await world.client.get<Source>(sourceKind, name, namespace);
		expect(source?.status?.phase).toBe("Active");
		return source!;
	}, soon);
}

test("watches that are cut continue where they were", async () => {
	await world.apply(namespace, sourceYaml("before"));
	await becomesActive("before");
	const seen = world.proxy.requests.length;
	world.proxy.cut();
	await world.apply(namespace, sourceYaml("after"));
	await becomesActive("after");
	const reads = world.proxy.requests
		.slice(seen)
		.filter(
			({ method, path }) => method === "GET" && path.endsWith("/sources"),
		);
	expect(reads.length).toBeGreaterThan(0);
	expect(reads.every(({ query }) => query.has("watch"))).toBe(true);
});

test("a status computed from an old state is refused, and computed again", async () => {
	const path = "/sources/contested/status";
	let isFirst = true;
	world.proxy.onRequest = async (request) => {
		if (!request.path.endsWith(path) || !isFirst) return;
		isFirst = false;
		await kubectlDone([
			"patch",
			"source/contested",
			`--namespace=${namespace}`,
			"--type=merge",
			'--patch={"spec":{"suspend":true}}',
		]);
	};
	await world.apply(namespace, sourceYaml("contested"));
	const source = await vi.waitFor(async () => {
		const source = await world.client.get<Source>(
			sourceKind,
			"contested",
			namespace,
		);
		expect(source?.status?.phase).toBe("Suspended");
		return source!;
	}, soon);
	expect(source.status?.observedGeneration).toBe(2);
	const writes = world.proxy.requests.filter((request) =>
		request.path.endsWith(path),
	);
	expect(writes[0]?.status).toBe(409);
	expect(findCondition(source.status?.conditions, "Ready")?.reason).toBe(
		"Suspended",
	);
});

test("reconciling what hasn't changed writes nothing", async () => {
	await world.apply(namespace, dailyLoad + runYaml("by-hand"));
	await vi.waitFor(async () => {
		const pipeline = await world.client.get<Pipeline>(
			pipelineKind,
			"load",
			namespace,
		);
		expect(pipeline?.status?.lastRun?.phase).toBe("Succeeded");
		// Those of the Run and of the check are removed when they are recorded.
		const jobs = await world.client.list(kinds.job, { namespace });
		expect(jobs.items).toEqual([]);
	}, soon);
	operator.child.kill("SIGTERM");
	expect((await operator.ended).exitCode).toBe(0);
	// A new operator reconciles everything, and again after the change of a label.
	const seen = world.proxy.requests.length;
	startOperator();
	await reconciled(1);
	await kubectlDone([
		"label",
		"sources,destinations,pipelines,runs",
		"--all",
		`--namespace=${namespace}`,
		"looked-at=again",
	]);
	await reconciled(2);
	const requests = world.proxy.requests.slice(seen);
	expect(requests.filter(isWrite)).toEqual([]);
	const events = requests.filter(({ path }) => path.endsWith("/events"));
	expect(events).toEqual([]);
});

test("a busy Source's status is written at most once in the interval that is set", async () => {
	await world.apply(namespace, sourceYaml("busy"));
	const { sourceKey = "" } = (await becomesActive("busy")).status!;
	const ledger = await new Kvm(world.archive).create(
		bucket.ledger,
		republished(bucket.ledger),
	);
	const seen = world.proxy.requests.length;
	const startMs = Date.now();
	const cuts = 300;
	for (let archived = 1; archived <= cuts; archived++)
		await ledger.put(
			sourceKey,
			JSON.stringify({
				version: 1,
				account: namespace,
				sourceKey,
				firstEventDate: "2026-02-28",
				lastEventTime: "2026-02-28T11:59:59Z",
				archivedThrough: "2026-02-28T12:00:00Z",
				archived: { "2026-02-28": archived },
			} satisfies SourceLedger),
		);
	await vi.waitFor(async () => {
		const { status } = (await world.client.get<Source>(
			sourceKind,
			"busy",
			namespace,
		))!;
		expect(status?.counts?.archived).toBe(cuts);
	}, soon);
	const writes = world.proxy.requests
		.slice(seen)
		.filter(({ path }) => path.endsWith("/sources/busy/status"));
	const seconds = (Date.now() - startMs) / 1000;
	const most = Math.ceil(seconds / statusSeconds);
	expect(writes.length).toBeLessThanOrEqual(most);
});

test("a Job's result is read even if the Job's end is seen before its Pod's", async () => {
	const { promise: seen, resolve: release } = Promise.withResolvers<void>();
	world.proxy.onRequest = ({ path, query }) =>
		path.endsWith("/pods") && query.has("watch") ? seen : undefined;
	world.proxy.cut();
	await world.apply(
		namespace,
		dailyLoad.replace("lake.duckdb", "pond.duckdb") + runYaml("overtaken"),
	);
	await vi.waitFor(async () => {
		const run = await world.client.get<Run>(runKind, "overtaken", namespace);
		expect(run?.status?.phase).toMatch(/Succeeded|Failed/);
		expect(run?.status?.error).toBeUndefined();
	}, soon);
	const reasons = await eventReasons(
		world.client,
		destinationKind,
		namespace,
		"lake",
	);
	expect(reasons).not.toContain("CheckFailed");
	release();
});

/** Waits until every controller has looked so often at every object, and none waits. */
async function reconciled(times: number): Promise<void> {
	await vi.waitFor(async () => {
		const answer = await fetch(`http://127.0.0.1:${healthPort}/metrics`);
		const metrics = await answer.text();
		const sum = (name: string, labels = "") =>
			metrics
				.split("\n")
				.filter((line) => line.startsWith(`${name}{`) && line.includes(labels))
				.reduce((total, line) => total + Number(line.split(" ").at(-1)), 0);
		const looks = (controller: string) =>
			sum("controller_runtime_reconcile_total", `"${controller}"`);
		expect(looks("source")).toBeGreaterThanOrEqual(4 * times);
		for (const controller of ["destination", "pipeline"])
			expect(looks(controller)).toBeGreaterThanOrEqual(times);
		expect(looks("run")).toBeGreaterThanOrEqual(1);
		expect(sum("workqueue_depth")).toBe(0);
		expect(sum("controller_runtime_active_workers")).toBe(0);
		expect(sum("controller_runtime_reconcile_errors_total")).toBe(0);
	}, soon);
}
