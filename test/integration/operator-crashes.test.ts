import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { NatsConnection } from "@nats-io/transport-node";
import {
	afterAll,
	afterEach,
	beforeAll,
	expect,
	inject,
	test,
	vi,
} from "vitest";
import {
	type Pipeline,
	pipelineKind,
	type Run,
	runKind,
} from "../../crds/generated/types.ts";
import { KubeClient } from "../../operator/kube/client.ts";
import { rfc3339 } from "../../operator/kube/conditions.ts";
import { Informer } from "../../operator/kube/informer.ts";
import { kinds } from "../../operator/kube/kinds.ts";
import { loadKubeConfig } from "../../operator/kube/kube-config.ts";
import { createLog } from "../../service/log.ts";
import { connectNats } from "../../service/nats.ts";
import { Settings } from "../../service/settings.ts";
import {
	ApiserverProxy,
	isWrite,
	type SeenRequest,
} from "../apiserver-proxy.ts";
import { answerManifests } from "../instant-archive.ts";
import { runInstantNode } from "../instant-node.ts";
import { applyYaml } from "../operator-fixture.ts";
import { startNats, type TestNats } from "../servers.ts";
import { startTidemill, type TidemillProcess } from "../tidemill-process.ts";

const log = createLog("test");
const direct = loadKubeConfig(inject("kubeconfig"));
const client = KubeClient.fromConfig(direct);
const wait = { timeout: 40_000, interval: 20 };
/** More than an operator writes for one slot. */
const mostWrites = 14;

let nats: TestNats;
let archive: NatsConnection;
let proxy: ApiserverProxy;
let directory: string;
let throughProxy: string;
const stop = new AbortController();
const processes = new Set<TidemillProcess>();

beforeAll(async () => {
	nats = await startNats();
	const settings = new Settings({ NATS_URL: nats.urlFor("archive") });
	archive = await connectNats(settings, "archive", log);
	answerManifests(archive);
	proxy = await ApiserverProxy.start(direct);
	directory = await mkdtemp(join(tmpdir(), "tidemill-test-crashes-"));
	throughProxy = join(directory, "kubeconfig");
	await writeFile(throughProxy, proxy.kubeConfig.exportConfig());
});

afterEach(async () => {
	for (const { child, ended } of processes) {
		child.kill("SIGKILL");
		await ended;
	}
	processes.clear();
});

afterAll(async () => {
	stop.abort();
	await proxy?.close();
	await archive?.close();
	await nats?.stop();
	await rm(directory, { recursive: true, force: true });
});

/** Its Lease is in the first of the namespaces that it serves. */
function startOperator(
	namespaces: string[],
	kubeconfig = inject("kubeconfig"),
): TidemillProcess {
	const operator = startTidemill(["operator"], {
		KUBECONFIG: kubeconfig,
		NATS_URL: nats.urlFor("operator"),
		TIDEMILL_RECEIVE_URL: "https://in.example",
		TIDEMILL_IMAGE: "tidemill.local/tidemill:test",
		WATCH_NAMESPACES: namespaces.join(","),
		LEASE_NAMESPACE: namespaces[0]!,
		HEALTH_PORT: "0",
		LOG_LEVEL: "error",
	});
	operator.onLine = (line) => process.stderr.write(`${line}\n`);
	processes.add(operator);
	return operator;
}

const resources = `
apiVersion: tidemill.dev/v1alpha1
kind: Source
metadata: { name: orders }
spec: { type: Webhook }
---
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
  schedule: { type: Interval, interval: 1h }
`;

/** Namespaces in which everything is Ready, and the schedule of Pipeline "load" in force, without an operator. */
async function settledNamespaces(count: number): Promise<string[]> {
	const suffix = randomBytes(4).toString("hex");
	const namespaces = Array.from({ length: count }, (_, i) => `c${i}-${suffix}`);
	await Promise.all(
		namespaces.map((name) =>
			client.create(kinds.namespace, { metadata: { name } }),
		),
	);
	void runInstantNode(client, namespaces, log, stop.signal);
	for (const namespace of namespaces) await applyYaml(namespace, resources);
	const operator = startOperator(namespaces);
	for (const namespace of namespaces)
		await vi.waitFor(async () => {
			const { status } = await pipelineIn(namespace);
			expect(status?.phase).toBe("Ready");
			expect(status?.schedule?.since).toBeDefined();
		}, wait);
	operator.child.kill("SIGTERM");
	expect((await operator.ended).exitCode).toBe(0);
	return namespaces;
}

async function pipelineIn(namespace: string): Promise<Pipeline> {
	return (await client.get<Pipeline>(pipelineKind, "load", namespace))!;
}

/** As if no operator had been there for five hours. Returns the name of the one Run that makes up for them. */
async function missSlots(namespace: string): Promise<string> {
	const since = rfc3339(Date.now() - 5 * 3_600_000);
	await client.patch(
		pipelineKind,
		"load",
		namespace,
		{ status: { schedule: { since } } },
		"merge",
		{ subresource: "status" },
	);
	return `load-${Math.floor(Date.now() / 3_600_000) * 60}`;
}

/** All Runs and load Jobs that ever were in a namespace, from now on, as name and uid. */
async function everMade(namespace: string) {
	const made = { runs: new Set<string>(), jobs: new Set<string>() };
	const options = { namespaces: [namespace], log };
	const runs = new Informer<Run>(client, runKind, options);
	const jobs = new Informer(client, kinds.job, {
		...options,
		labelSelector: "tidemill.dev/run",
	});
	runs.onChange(({ metadata: { name, uid } }) =>
		made.runs.add(`${name} ${uid}`),
	);
	jobs.onChange(({ metadata: { name, uid } }) =>
		made.jobs.add(`${name} ${uid}`),
	);
	for (const informer of [runs, jobs]) void informer.run(stop.signal);
	await Promise.all([runs.synced, jobs.synced]);
	return made;
}

/** The Run has ended well, its Pipeline says so, and its Job is removed. */
async function isRecorded(namespace: string, run: string): Promise<boolean> {
	const { status } = await pipelineIn(namespace);
	const job = await client.get(kinds.job, run, namespace);
	const { name, phase } = status?.lastRun ?? {};
	return name === run && phase === "Succeeded" && !status?.activeRun && !job;
}

function recorded(namespace: string, run: string): Promise<void> {
	return vi.waitFor(
		async () => expect(await isRecorded(namespace, run)).toBe(true),
		wait,
	);
}

test("killed after any of its writes, the next operator ends with one Run and one Job for the slot", async () => {
	const namespaces = await settledNamespaces(mostWrites);
	let reached = 0;
	for (const [index, namespace] of namespaces.entries()) {
		const made = await everMade(namespace);
		const run = await missSlots(namespace);
		let writes = 0;
		proxy.onAnswer = (request) => {
			if (!isWrite(request) || writes++ < index) return undefined;
			// Done, and nobody hears of it.
			operator.child.kill("SIGKILL");
			return new Promise(() => {});
		};
		const operator = startOperator([namespace], throughProxy);
		let isOver = false;
		void operator.ended.then(() => {
			isOver = true;
		});
		await vi.waitUntil(
			async () => isOver || (await isRecorded(namespace, run)),
			wait,
		);
		if (isOver) {
			reached++;
			// Instead of waiting until it has run out.
			await client.delete(kinds.lease, "tidemill-operator", namespace);
			startOperator([namespace]);
			await recorded(namespace, run);
		}
		expect([...made.runs].map((text) => text.split(" ")[0])).toEqual([run]);
		expect([...made.jobs].map((text) => text.split(" ")[0])).toEqual([run]);
		for (const { child } of processes) child.kill("SIGKILL");
		if (!isOver) break;
	}
	// From the Run's creation to the removal of its Job.
	expect(reached).toBeGreaterThanOrEqual(8);
	expect(reached).toBeLessThan(mostWrites);
}, 180_000);

test("a leader that was stopped for longer than its lease starts nothing when it goes on", async () => {
	const [namespace] = await settledNamespaces(1);
	const made = await everMade(namespace!);
	const run = await missSlots(namespace!);
	const { promise: goOn, resolve: release } = Promise.withResolvers<void>();
	const { promise: held, resolve: hold } = Promise.withResolvers<SeenRequest>();
	// The input is there; with this answer the next thing is the Job.
	proxy.onAnswer = (request) => {
		const isInput = request.path.endsWith(`${run}-input`);
		if (request.method !== "PATCH" || !isInput) return undefined;
		hold(request);
		return goOn;
	};
	const first = startOperator([namespace!], throughProxy);
	const request = await held;
	first.child.kill("SIGSTOP");
	startOperator([namespace!]);
	await recorded(namespace!, run);
	release();
	await vi.waitUntil(() => request.isAnswered, wait);
	first.child.kill("SIGCONT");
	expect((await first.ended).exitCode).toBe(1);
	expect(made.runs.size).toBe(1);
	expect(made.jobs.size).toBe(1);
}, 90_000);
