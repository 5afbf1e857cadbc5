import { randomBytes } from "node:crypto";
import type { NatsConnection } from "@nats-io/transport-node";
import {
	afterAll,
	afterEach,
	beforeAll,
	beforeEach,
	expect,
	inject,
	vi,
} from "vitest";
import type { JobResult } from "../contracts/job.ts";
import type {
	ManifestAnswer,
	ManifestQuestion,
} from "../contracts/manifest.ts";
import { manifestSubject } from "../contracts/nats.ts";
import { addDays, utcDate } from "../contracts/utc-date.ts";
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
} from "../crds/generated/types.ts";
import type { OperatorContext } from "../operator/context.ts";
import { createInformers } from "../operator/informers.ts";
import { KubeClient } from "../operator/kube/client.ts";
import { findCondition, rfc3339 } from "../operator/kube/conditions.ts";
import { EventRecorder } from "../operator/kube/events.ts";
import { kinds } from "../operator/kube/kinds.ts";
import { loadKubeConfig } from "../operator/kube/kube-config.ts";
import { LedgerView } from "../operator/ledger-view.ts";
import { createPipelineController } from "../operator/pipeline/controller.ts";
import { RouteTable } from "../operator/routes.ts";
import { createRunController } from "../operator/run/controller.ts";
import { readOperatorSettings } from "../operator/settings.ts";
import { keysSecret } from "../operator/source/keys.ts";
import { createLog } from "../service/log.ts";
import { connectNats } from "../service/nats.ts";
import { Settings } from "../service/settings.ts";
import { startNats, type TestNats } from "./servers.ts";

export const client = KubeClient.fromConfig(
	loadKubeConfig(inject("kubeconfig")),
);
export const wait = { timeout: 120_000, interval: 50 };
export const sourceKey = "5".repeat(32);
export const today = utcDate(Date.now());
const log = createLog("test");

export const succeeded: JobResult = {
	version: 1,
	outcome: "Succeeded",
	rows: 329,
	bytes: 4096,
	objects: 2,
};

export const manifest = (question: ManifestQuestion): ManifestAnswer => ({
	ok: true,
	url: `http://s3/runs/${question.run}.json?signature=secret`,
	snapshotTime: rfc3339(Date.now()),
	closedThrough: addDays(today, -1),
	firstEventDate: addDays(today, -2),
	dates: { start: addDays(today, -2), end: today },
	expiresAt: rfc3339(Date.now() + 3_600_000),
});

/**
 * The controllers of Pipelines and Runs on the real apiserver, in a namespace of the test's own, with a Source and a
 * Destination that are ready. No process loads anything: the test plays archive, and the node on which Pods run.
 */
export class RunScene {
	namespace = "";
	/** What archive was asked. */
	questions: ManifestQuestion[] = [];
	/** What archive answers; nothing for undefined. */
	answer: (question: ManifestQuestion) => ManifestAnswer | undefined = manifest;
	#server!: TestNats;
	#nats!: NatsConnection;
	#archive!: NatsConnection;
	#stop = new AbortController();
	#operator: Promise<unknown> = Promise.resolve();

	/** For a file of tests: each test has a scene of its own. */
	static use(): RunScene {
		const scene = new RunScene();
		beforeAll(() => scene.#startServers());
		afterAll(() => scene.#stopServers());
		beforeEach(() => scene.#begin());
		afterEach(() => scene.#end());
		return scene;
	}

	async #startServers(): Promise<void> {
		this.#server = await startNats();
		const connectAs = (role: "operator" | "archive") =>
			connectNats(
				new Settings({ NATS_URL: this.#server.urlFor(role) }),
				role,
				log,
			);
		this.#nats = await connectAs("operator");
		this.#archive = await connectAs("archive");
		this.#archive.subscribe(manifestSubject(0), {
			callback: (_, message) => {
				const question = message.json<ManifestQuestion>();
				this.questions.push(question);
				const reply = this.answer(question);
				if (reply) message.respond(JSON.stringify(reply));
			},
		});
		await this.#archive.flush();
	}

	async #stopServers(): Promise<void> {
		await this.#nats.close();
		await this.#archive.close();
		await this.#server.stop();
	}

	async #begin(): Promise<void> {
		this.namespace = `runs-${randomBytes(4).toString("hex")}`;
		this.questions = [];
		this.answer = manifest;
		await client.create(kinds.namespace, {
			metadata: { name: this.namespace },
		});
		await this.createSource("orders");
		await this.createDestination("files");
		this.#stop = new AbortController();
		this.#operator = this.#startOperator(this.#stop.signal);
	}

	async #end(): Promise<void> {
		this.#stop.abort();
		await this.#operator;
	}

	createPipeline(name: string, spec: Partial<PipelineSpec> = {}) {
		return client.apply<Pipeline>(
			pipelineKind,
			this.#named(name, {
				spec: {
					sourceRef: { name: "orders" },
					destinationRef: { name: "files" },
					...spec,
				},
			}),
			{ fieldManager: "test" },
		);
	}

	createRun(name: string, pipeline: string, rest: Partial<RunSpec> = {}) {
		return client.apply<Run>(
			runKind,
			this.#named(name, { spec: { pipelineRef: { name: pipeline }, ...rest } }),
			{ fieldManager: "test" },
		);
	}

	async statusOfRun(name: string): Promise<NonNullable<Run["status"]>> {
		return (await client.get<Run>(runKind, name, this.namespace))?.status ?? {};
	}

	async completeOf(name: string) {
		const { conditions } = await this.statusOfRun(name);
		return findCondition(conditions, "Complete");
	}

	async podOf(run: string) {
		const labelSelector = `tidemill.dev/run=${run}`;
		const { items } = await client.list(kinds.pod, {
			namespace: this.namespace,
			labelSelector,
		});
		expect(items).toHaveLength(1);
		return items[0]!;
	}

	/** What a node says of the Run's Pod when its process has ended. */
	async endPod(run: string, exitCode: number, result: JobResult) {
		const { metadata } = await vi.waitFor(() => this.podOf(run), wait);
		await this.setPodStatus(metadata.name, {
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

	setPodStatus(name: string, status: object) {
		return client.patch(kinds.pod, name, this.namespace, { status }, "merge", {
			subresource: "status",
		});
	}

	phaseBecomes(run: string, phase: string) {
		return vi.waitFor(async () => {
			expect((await this.statusOfRun(run)).phase).toBe(phase);
		}, wait);
	}

	/** As its controller leaves it. */
	async createSource(name: string): Promise<void> {
		const keys = { sourceKey, urlKey: "6".repeat(32), shard: 0 };
		const { namespace } = this;
		await client.create(kinds.secret, keysSecret({ namespace, name }, keys));
		const source = await client.apply<Source>(
			sourceKind,
			this.#named(name, {
				spec: { type: "Webhook", webhook: { capturedHeaders: ["x-event"] } },
			}),
			{ fieldManager: "test" },
		);
		await client.applyStatus(
			sourceKind,
			this.#named(name, { status: { ...ready(source), sourceKey } }),
			{ fieldManager: "test" },
		);
	}

	/** As its controller leaves it. */
	async createDestination(name: string): Promise<void> {
		const destination = await client.apply<Destination>(
			destinationKind,
			this.#named(name, {
				spec: { type: "DuckDB", duckDB: { path: "events.duckdb" } },
			}),
			{ fieldManager: "test" },
		);
		await client.applyStatus(
			destinationKind,
			this.#named(name, { status: ready(destination) }),
			{ fieldManager: "test" },
		);
	}

	/** The two controllers under test, alone: no process loads anything here. */
	#startOperator(signal: AbortSignal): Promise<unknown> {
		const informers = createInformers(client, {
			namespaces: [this.namespace],
			log,
		});
		const context: OperatorContext = {
			client,
			events: new EventRecorder(client, "tidemill.dev/operator", log),
			informers,
			nats: this.#nats,
			routes: new RouteTable(this.#nats, { replicas: 1 }),
			ledgers: new LedgerView(this.#nats, log),
			settings: readOperatorSettings(
				new Settings({
					TIDEMILL_RECEIVE_URL: "http://receive",
					TIDEMILL_IMAGE: container.image,
					TIDEMILL_LOCAL_WAREHOUSE: "/warehouse",
				}),
			),
			log,
		};
		const loops = [createPipelineController, createRunController].map(
			(create) => create(context),
		);
		return Promise.all(
			[...Object.values(informers), ...loops].map((part) => part.run(signal)),
		);
	}

	#named<T extends object>(name: string, rest: T) {
		return { metadata: { name, namespace: this.namespace }, ...rest };
	}
}

export const container = {
	name: "tidemill",
	image: "tidemill.local/tidemill:test",
	imageID: "",
	ready: false,
	restartCount: 0,
};

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
