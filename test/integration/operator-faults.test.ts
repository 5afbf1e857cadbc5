import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { NatsConnection } from "@nats-io/transport-node";
import {
	afterAll,
	beforeAll,
	beforeEach,
	expect,
	inject,
	test,
	vi,
} from "vitest";
import {
	type Pipeline,
	pipelineKind,
	type Source,
	sourceKind,
} from "../../crds/generated/types.ts";
import { freePort } from "../../local/ports.ts";
import { findCondition } from "../../operator/kube/conditions.ts";
import { kinds } from "../../operator/kube/kinds.ts";
import { loadKubeConfig } from "../../operator/kube/kube-config.ts";
import { createLog } from "../../service/log.ts";
import { connectNats } from "../../service/nats.ts";
import { Settings } from "../../service/settings.ts";
import { ApiserverProxy, isWrite } from "../apiserver-proxy.ts";
import { answerManifests } from "../instant-archive.ts";
import { runInstantNode } from "../instant-node.ts";
import { kubectlDone } from "../kubectl.ts";
import {
	applyYaml,
	type OperatorFixture,
	startOperatorFixture,
} from "../operator-fixture.ts";

const log = createLog("test");
const soon = { timeout: 20_000, interval: 20 };
const stop = new AbortController();

let proxy: ApiserverProxy;
let fixture: OperatorFixture;
let archive: NatsConnection;
let directory: string;
let namespace: string;
let healthPort: number;

beforeAll(async () => {
	proxy = await ApiserverProxy.start(loadKubeConfig(inject("kubeconfig")));
	directory = await mkdtemp(join(tmpdir(), "tidemill-test-faults-"));
	const KUBECONFIG = join(directory, "kubeconfig");
	await writeFile(KUBECONFIG, proxy.kubeConfig.exportConfig());
	healthPort = await freePort();
	fixture = await startOperatorFixture({
		KUBECONFIG,
		HEALTH_PORT: String(healthPort),
		LOG_LEVEL: "error",
	});
	[namespace] = fixture.namespaces;
	const settings = new Settings({ NATS_URL: fixture.nats.urlFor("archive") });
	archive = await connectNats(settings, "archive", log);
	answerManifests(archive);
	void runInstantNode(fixture.client, [namespace], log, stop.signal);
	fixture.startOperator();
});

beforeEach(() => {
	proxy.onRequest = () => undefined;
});

afterAll(async () => {
	stop.abort();
	await archive?.close();
	await fixture?.stop();
	await proxy?.close();
	await rm(directory, { recursive: true, force: true });
});

const sourceYaml = (name: string) => `
apiVersion: tidemill.dev/v1alpha1
kind: Source
metadata: { name: ${name} }
spec: { type: Webhook }
`;

function becomesActive(name: string): Promise<Source> {
	return vi.waitFor(async () => {
		const source = await fixture.client.get<Source>(
			sourceKind,
			name,
			namespace,
		);
		expect(source?.status?.phase).toBe("Active");
		return source!;
	}, soon);
}

test("when all watches are cut, they go on where they were", async () => {
	await applyYaml(namespace, sourceYaml("before"));
	await becomesActive("before");
	const seen = proxy.requests.length;
	proxy.cut();
	await applyYaml(namespace, sourceYaml("after"));
	await becomesActive("after");
	const reads = proxy.requests
		.slice(seen)
		.filter(
			({ method, path }) => method === "GET" && path.endsWith("/sources"),
		);
	expect(reads.length).toBeGreaterThan(0);
	expect(reads.every(({ query }) => query.has("watch"))).toBe(true);
});

test("a status that was thought out over an old state is refused, and thought out anew", async () => {
	const path = "/sources/contested/status";
	let isFirst = true;
	proxy.onRequest = async (request) => {
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
	await applyYaml(namespace, sourceYaml("contested"));
	const source = await vi.waitFor(async () => {
		const source = await fixture.client.get<Source>(
			sourceKind,
			"contested",
			namespace,
		);
		expect(source?.status?.phase).toBe("Suspended");
		return source!;
	}, soon);
	expect(source.status?.observedGeneration).toBe(2);
	const writes = proxy.requests.filter((request) =>
		request.path.endsWith(path),
	);
	expect(writes[0]?.status).toBe(409);
	expect(findCondition(source.status?.conditions, "Ready")?.reason).toBe(
		"Suspended",
	);
});

test("looking again at what hasn't changed writes nothing", async () => {
	await applyYaml(namespace, sourceYaml("orders"));
	await applyYaml(
		namespace,
		`
apiVersion: tidemill.dev/v1alpha1
kind: Destination
metadata: { name: lake }
spec: { type: DuckDB, duckDB: { path: lake.duckdb, volumeClaimName: lake } }
---
apiVersion: tidemill.dev/v1alpha1
kind: Pipeline
metadata: { name: load }
spec:
  sourceRef: { name: orders }
  destinationRef: { name: lake }
  schedule: { type: Daily, updateTime: "00:00" }
---
apiVersion: tidemill.dev/v1alpha1
kind: Run
metadata: { name: by-hand }
spec: { pipelineRef: { name: load } }
`,
	);
	await vi.waitFor(async () => {
		const pipeline = await fixture.client.get<Pipeline>(
			pipelineKind,
			"load",
			namespace,
		);
		expect(pipeline?.status?.lastRun?.phase).toBe("Succeeded");
		// Those of the Run and of the check are removed when they are recorded.
		const jobs = await fixture.client.list(kinds.job, { namespace });
		expect(jobs.items).toEqual([]);
	}, soon);
	expect(await fixture.stopOperator()).toBe(0);
	// Everything is looked at by an operator that knows nothing, and then again since somebody wrote a label.
	const seen = proxy.requests.length;
	fixture.startOperator();
	await reconciled(1);
	await kubectlDone([
		"label",
		"sources,destinations,pipelines,runs",
		"--all",
		`--namespace=${namespace}`,
		"looked-at=again",
	]);
	await reconciled(2);
	const requests = proxy.requests.slice(seen);
	expect(requests.filter(isWrite)).toEqual([]);
	const events = requests.filter(({ path }) => path.endsWith("/events"));
	expect(events).toEqual([]);
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
