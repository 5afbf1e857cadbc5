import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { NatsConnection } from "@nats-io/transport-node";
import { expect, vi } from "vitest";
import {
	type Pipeline,
	pipelineKind,
	type Run,
	runKind,
} from "../crds/generated/types.ts";
import { KubeClient } from "../operator/kube/client.ts";
import { rfc3339 } from "../operator/kube/conditions.ts";
import { Informer } from "../operator/kube/informer.ts";
import { kinds } from "../operator/kube/kinds.ts";
import { loadKubeConfig } from "../operator/kube/kube-config.ts";
import type { KubeObject } from "../operator/kube/resource.ts";
import { createLog } from "../service/log.ts";
import { connectNats } from "../service/nats.ts";
import { Settings } from "../service/settings.ts";
import { ApiserverProxy } from "./apiserver-proxy.ts";
import { dailySlot } from "./daily-slot.ts";
import { answerManifests } from "./instant-archive.ts";
import { runInstantNode } from "./instant-node.ts";
import { applyYaml, longLease } from "./operator-fixture.ts";
import { startNats } from "./servers.ts";
import { startTidemill, type TidemillProcess } from "./tidemill-process.ts";

const log = createLog("test");
const dayMs = 86_400_000;
const wait = { timeout: 120_000, interval: 20 };

/** A Source "orders", a Destination "lake" and a Pipeline "load" from one to the other, every day at the {@link dailySlot}. */
export const dailyLoad = `
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
  schedule: { type: Daily, updateTime: "${dailySlot.updateTime}" }
`;

/**
 * Whole operators as processes that a test kills, with an archive and a node that cost nothing, and a proxy between
 * them and the apiserver.
 */
export class OperatorWorld {
	readonly client: KubeClient;
	/** As archive's user. */
	readonly archive: NatsConnection;
	/** Of the operators that {@link startOperator} starts with `throughProxy`. */
	readonly proxy: ApiserverProxy;
	readonly #kubeconfig: string;
	readonly #natsUrl: string;
	readonly #directory: string;
	readonly #stop = new AbortController();
	readonly #operators = new Set<TidemillProcess>();
	readonly #end: (() => Promise<unknown>)[];

	/** @param kubeconfig path of an administrator's. */
	static async start(kubeconfig: string): Promise<OperatorWorld> {
		const nats = await startNats();
		const settings = new Settings({ NATS_URL: nats.urlFor("archive") });
		const archive = await connectNats(settings, "archive", log);
		answerManifests(archive);
		const proxy = await ApiserverProxy.start(loadKubeConfig(kubeconfig));
		const directory = await mkdtemp(join(tmpdir(), "tidemill-test-operator-"));
		await writeFile(
			join(directory, "kubeconfig"),
			proxy.kubeConfig.exportConfig(),
		);
		const world = new OperatorWorld(
			kubeconfig,
			nats.urlFor("operator"),
			directory,
			{ archive, proxy },
		);
		world.#end.push(
			() => proxy.close(),
			() => archive.close(),
			() => nats.stop(),
			() => rm(directory, { recursive: true, force: true }),
		);
		return world;
	}

	private constructor(
		kubeconfig: string,
		natsUrl: string,
		directory: string,
		{ archive, proxy }: Pick<OperatorWorld, "archive" | "proxy">,
	) {
		this.client = KubeClient.fromConfig(loadKubeConfig(kubeconfig));
		this.archive = archive;
		this.proxy = proxy;
		this.#kubeconfig = kubeconfig;
		this.#natsUrl = natsUrl;
		this.#directory = directory;
		this.#end = [];
	}

	async stop(): Promise<void> {
		this.#stop.abort();
		await this.killOperators();
		for (const end of this.#end) await end();
	}

	/** Its Lease is in the first of the namespaces that it serves. */
	startOperator(
		namespaces: string[],
		options: { throughProxy?: boolean; env?: Record<string, string> } = {},
	): TidemillProcess {
		const operator = startTidemill(["operator"], {
			KUBECONFIG: options.throughProxy
				? join(this.#directory, "kubeconfig")
				: this.#kubeconfig,
			NATS_URL: this.#natsUrl,
			TIDEMILL_RECEIVE_URL: "https://in.example",
			TIDEMILL_IMAGE: "tidemill.local/tidemill:test",
			WATCH_NAMESPACES: namespaces.join(","),
			LEASE_NAMESPACE: namespaces[0]!,
			HEALTH_PORT: "0",
			LOG_LEVEL: "error",
			...longLease,
			...options.env,
		});
		operator.onLine = (line) => process.stderr.write(`${line}\n`);
		this.#operators.add(operator);
		return operator;
	}

	async killOperators(): Promise<void> {
		for (const { child, ended } of this.#operators) {
			child.kill("SIGKILL");
			await ended;
		}
		this.#operators.clear();
	}

	/** New namespaces, in which Pods end well as soon as they are there. */
	async namespaces(count: number): Promise<string[]> {
		const suffix = randomBytes(4).toString("hex");
		const names = Array.from({ length: count }, (_, i) => `w${i}-${suffix}`);
		await Promise.all(
			names.map((name) =>
				this.client.create(kinds.namespace, { metadata: { name } }),
			),
		);
		void runInstantNode(this.client, names, log, this.#stop.signal);
		return names;
	}

	apply(namespace: string, yaml: string): Promise<void> {
		return applyYaml(namespace, yaml, this.#kubeconfig);
	}

	/** Namespaces in which {@link dailyLoad} is Ready and its schedule in force, without an operator. */
	async settledNamespaces(count: number): Promise<string[]> {
		const namespaces = await this.namespaces(count);
		for (const namespace of namespaces) await this.apply(namespace, dailyLoad);
		const operator = this.startOperator(namespaces);
		for (const namespace of namespaces)
			await vi.waitFor(async () => {
				const { status } = await this.pipelineIn(namespace);
				expect(status?.phase).toBe("Ready");
				expect(status?.schedule?.since).toBeDefined();
			}, wait);
		operator.child.kill("SIGTERM");
		expect((await operator.ended).exitCode).toBe(0);
		return namespaces;
	}

	async pipelineIn(namespace: string): Promise<Pipeline> {
		return (await this.client.get<Pipeline>(pipelineKind, "load", namespace))!;
	}

	/** As if no operator had been there for five days. Returns the name of the one Run that makes up for them. */
	async missSlots(namespace: string): Promise<string> {
		const since = rfc3339(Date.now() - 5 * dayMs);
		await this.client.patch(
			pipelineKind,
			"load",
			namespace,
			{ status: { schedule: { since } } },
			"merge",
			{ subresource: "status" },
		);
		return `load-${dailySlot.lastMs / 60_000}`;
	}

	/** All Runs and load Jobs that are made in a namespace from now on. */
	async everMade(namespace: string): Promise<EverMade> {
		const made = new EverMade(this.client, namespace, this.#stop.signal);
		await made.lookAgain();
		return made;
	}

	/** The Run has ended well, its Pipeline says so, and its Job is removed. */
	async isRecorded(namespace: string, run: string): Promise<boolean> {
		const { status } = await this.pipelineIn(namespace);
		const job = await this.client.get(kinds.job, run, namespace);
		const { name, phase } = status?.lastRun ?? {};
		return name === run && phase === "Succeeded" && !status?.activeRun && !job;
	}

	async recorded(namespace: string, run: string): Promise<void> {
		await vi.waitFor(
			async () => expect(await this.isRecorded(namespace, run)).toBe(true),
			wait,
		);
	}
}

/** Names of all Runs and load Jobs that ever were in a namespace, of each name as often as it was made. */
export class EverMade {
	/** By uid. */
	readonly #runs = new Map<string, string>();
	readonly #jobs = new Map<string, string>();
	readonly #client: KubeClient;
	readonly #namespace: string;
	readonly #signal: AbortSignal;

	constructor(client: KubeClient, namespace: string, signal: AbortSignal) {
		this.#client = client;
		this.#namespace = namespace;
		this.#signal = signal;
	}

	/**
	 * Settles when from now on nothing is missed. To be awaited when an apiserver is back, before anybody may go on: who
	 * watched before waits for a while after a failure, and what came and went meanwhile nobody tells.
	 */
	async lookAgain(): Promise<void> {
		const options = { namespaces: [this.#namespace], log };
		const runs = new Informer<Run>(this.#client, runKind, options);
		const jobs = new Informer(this.#client, kinds.job, {
			...options,
			labelSelector: "tidemill.dev/run",
		});
		const note =
			(seen: Map<string, string>) =>
			({ metadata: { name, uid } }: KubeObject) =>
				void seen.set(uid!, name);
		runs.onChange(note(this.#runs));
		jobs.onChange(note(this.#jobs));
		for (const informer of [runs, jobs]) void informer.run(this.#signal);
		await Promise.all([runs.synced, jobs.synced]);
	}

	/** That there was one Run of this name, and one Job of it: what was made is seen a moment later. */
	async wasOnly(run: string): Promise<void> {
		await vi.waitFor(() => {
			const [runs, jobs] = [[...this.#runs.values()], [...this.#jobs.values()]];
			expect({ runs, jobs }).toEqual({ runs: [run], jobs: [run] });
		}, wait);
	}
}
