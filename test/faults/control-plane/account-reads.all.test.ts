// In make test: test/control-plane/tenancy/stored-events.laptop.test.ts
import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import pino from "pino";
import { afterAll, beforeAll, expect, inject, test, vi } from "vitest";
import {
	askAnyArchive,
	askArchiveForEvents,
} from "../../../api/events/archive-question.ts";
import { followArchive } from "../../../api/events/archive-tail.ts";
import { readCountsFrom } from "../../../api/events/days.ts";
import { readRefusedFrom } from "../../../api/events/refused-requests.ts";
import { NatsIdempotencyStore } from "../../../api/http/idempotency-store.ts";
import { askArchiveForLog } from "../../../api/runs/logs.ts";
import {
	destinationKind,
	operationKind,
	pipelineKind,
	runKind,
	sourceKind,
	trackingPlanKind,
} from "../../../crds/generated/types.ts";
import {
	exportSubject,
	uploadSubject,
} from "../../../packages/contracts/nats.ts";
import { kinds } from "../../../packages/kube/kinds.ts";
import type {
	KubeObject,
	ResourceKind,
} from "../../../packages/kube/resource.ts";
import { createLog } from "../../../packages/service/log.ts";
import { connectNats } from "../../../packages/service/nats/connection.ts";
import { Settings } from "../../../packages/service/settings.ts";
import {
	startApi,
	type TestApi,
	tokenOf,
} from "../../support/fixtures/control-plane/api-fixture.ts";
import { applyYaml } from "../../support/fixtures/control-plane/apply-yaml.ts";
import { SourceScene } from "../../support/fixtures/control-plane/source-scene.ts";
import { S3Proxy } from "../../support/proxies/s3-proxy.ts";
import { TcpProxy } from "../../support/proxies/tcp-proxy.ts";
import {
	probeJob,
	startAdmissionWebhook,
	untilRefused,
} from "../../support/servers/admission-webhook.ts";
import type { TestProcessNode } from "../../support/servers/process-node.ts";

/*
 * After each kind of fault of the platform, everything that an account's people can read: the resources of its namespace, the
 * Events about them, and what REST answers. All processes and servers are real, Jobs included; only what a kubelet says of a Pod
 * that never starts is written by the test.
 */

const soon = { timeout: 120_000, interval: 100 };
const bucket = "vault-of-the-platform";
const prefix = "deep-below";
const resources: [ResourceKind<KubeObject>, string][] = [
	[sourceKind, "sources"],
	[destinationKind, "destinations"],
	[pipelineKind, "pipelines"],
	[trackingPlanKind, "tracking-plans"],
	[runKind, "runs"],
	[operationKind, "operations"],
] as [ResourceKind<KubeObject>, string][];

let scene: SourceScene;
let store: S3Proxy;
/** In front of the store, for archive and the Jobs. */
let network: TcpProxy;
let node: TestProcessNode;
let api: TestApi;
let token: string;
let endApi: () => Promise<void>;
let objects: string;

beforeAll(async () => {
	scene = await SourceScene.start({ node: "processes" }, 1, async (s3) => {
		objects = join(s3.bucketDirectory, "..", bucket);
		await mkdir(objects);
		store = await S3Proxy.start(s3);
		network = await TcpProxy.start(Number(new URL(store.endpoint).port));
		return {
			S3_ENDPOINT: `http://127.0.0.1:${network.port}`,
			S3_FORCE_PATH_STYLE: "true",
			S3_BUCKET: bucket,
			S3_PREFIX: prefix,
			LOG_LEVEL: "info",
		};
	});
	const { account, operator } = scene;
	node = operator.processNode;
	const roles = join(
		import.meta.dirname,
		"../../../charts/tidemill/files/rbac/roles.yaml",
	);
	await applyYaml(account, await readFile(roles, "utf8"));
	token = await tokenOf(
		account,
		"editor",
		"tidemill-editor",
		"tidemill-log-reader",
	);
	const nats = await connectNats(
		new Settings({ NATS_URL: operator.nats.urlFor("api") }),
		"api",
		createLog("api"),
	);
	const connection = () => nats;
	const silent = pino({ level: "silent" });
	api = await startApi(undefined, {
		archive: {
			askEvents: askArchiveForEvents(connection, silent),
			askLog: askArchiveForLog(connection),
			askExport: askAnyArchive(connection, exportSubject),
			askUploads: askAnyArchive(connection, uploadSubject),
			readRefused: readRefusedFrom(connection),
			readCounts: readCountsFrom(connection),
			followArchive: (...tail) => followArchive(connection, ...tail),
		},
		idempotency: new NatsIdempotencyStore({ connection, replicas: 1 }),
		log: silent,
	});
	endApi = async () => {
		await api.api.close();
		await nats.close();
	};
	const { path } = await scene.createSource("orders");
	await scene.accepted(path, "an event");
	await applyYaml(
		account,
		`apiVersion: tidemill.dev/v1alpha1
kind: Destination
metadata: { name: files }
spec: { type: DuckDB, duckDB: { path: a.duckdb } }
---
apiVersion: tidemill.dev/v1alpha1
kind: TrackingPlan
metadata: { name: plan }
spec: { eventType: { constant: order }, common: { type: object } }
---
apiVersion: tidemill.dev/v1alpha1
kind: Pipeline
metadata: { name: orders }
spec:
  sourceRef: { name: orders }
  destinationRef: { name: files }
  runTemplate: { retries: 0 }`,
	);
	await begin("first");
	await untilRead("first", /"phase":"Succeeded"/);
	await end();
});

afterAll(async () => {
	await endApi?.();
	await scene?.stop();
	await network?.close();
	await store?.close();
});

/** A Run, and an Operation that reads the Source's events. */
async function begin(name: string): Promise<void> {
	await applyYaml(
		scene.account,
		`apiVersion: tidemill.dev/v1alpha1
kind: Run
metadata: { name: ${name} }
spec: { pipelineRef: { name: orders } }
---
apiVersion: tidemill.dev/v1alpha1
kind: Operation
metadata: { name: ${name} }
spec:
  type: Draft
  sourceRef: { name: orders }
  eventType: { constant: order }`,
	);
}

async function end(): Promise<void> {
	const { client } = scene.operator;
	for (const [kind] of resources.slice(-2)) {
		const { items } = await client.list(kind, { namespace: scene.account });
		for (const { metadata } of items)
			await client.delete(kind, metadata.name, scene.account);
	}
	await vi.waitFor(async () => {
		const { items } = await client.list(kinds.job, {
			namespace: scene.account,
			labelSelector: "tidemill.dev/run",
		});
		expect(items).toEqual([]);
	}, soon);
}

/** By where it stands. */
async function allThatIsRead(): Promise<Map<string, string>> {
	const { account, operator } = scene;
	const { client } = operator;
	const read = new Map<string, string>();
	const { items: events } = await client.list(kinds.kubeEvent, {
		namespace: account,
	});
	for (const { regarding, reason, note } of events)
		if (regarding?.apiVersion?.startsWith("tidemill.dev/"))
			read.set(`Event ${regarding.kind} ${regarding.name} ${reason}`, note!);
	const paths = [
		"/v1/sources/orders/events",
		"/v1/sources/orders/refusals",
		"/v1/pipelines/orders/preview",
		"/v1/events/00000000-0000-7000-8000-000000000000",
	];
	for (const [kind, plural] of resources) {
		const { items } = await client.list(kind, { namespace: account });
		paths.push(`/v1/${plural}`);
		for (const item of items) {
			const { name, annotations } = item.metadata;
			const { status } = item as { status?: object };
			read.set(`${kind.kind} ${name}`, JSON.stringify({ annotations, status }));
			paths.push(`/v1/${plural}/${name}`);
			if (kind.kind === "Run" || kind.kind === "Operation")
				paths.push(`/v1/${plural}/${name}/logs`);
			if (kind.kind === "Run") paths.push(`/v1/runs/${name}/progress`);
			if (kind.kind === "Operation") paths.push(`/v1/operations/${name}/files`);
		}
	}
	const answers = await Promise.all(
		[
			...paths.map((path) => ["GET", path] as const),
			["POST", "/v1/destinations/files/check"] as const,
		].map(async ([method, path]) => {
			const response = await fetch(api.url + path, {
				method,
				headers: {
					authorization: `Bearer ${token}`,
					// Such requests need NATS.
					...(method === "POST" && { "idempotency-key": "read" }),
				},
			});
			return [
				`${method} ${path}`,
				`${response.status} ${await response.text()}`,
			] as const;
		}),
	);
	for (const [path, body] of answers) read.set(path, body);
	return read;
}

/** Waits until something about the Run or Operation of this name says this; returns all there is to read, and what is about it. */
function untilRead(name: string, words: RegExp) {
	return vi.waitFor(async () => {
		const all = await allThatIsRead();
		const own = [...all]
			.filter(([where]) => where.split(/[ /]/).includes(name))
			.map(([, text]) => text)
			.join("\n");
		expect(own).toMatch(words);
		return { all, own };
	}, soon);
}

function internals(): RegExp[] {
	const ports = [
		network.port,
		new URL(store.endpoint).port,
		new URL(scene.s3.endpoint).port,
		new URL(scene.operator.nats.url).port,
	];
	return [
		new RegExp(`${bucket}|${prefix}|${scene.s3.secretAccessKey}|X-Amz`),
		new RegExp(`:(${ports.join("|")})\\b`),
		// Addresses.
		/(?<![\d.])\d{1,3}(\.\d{1,3}){3}(?![\d.])/,
		/[a-z]+:\/\//,
		// Streams, buckets, subjects and consumers.
		/tidemill-(frames|routes|source-keys|objects-done|archives|ledger|idempotency|deliveries|requests|rates|refused|notifications)\b/,
		/tidemill\.(frames|archive|refused|notifications|rates|sns)\b|KV_|\$(KV|JS|SYS)/,
		// Keys of objects.
		/account=|date=\d|source=/,
	];
}

function expectNothingInternal(read: Map<string, string>): void {
	const found = [...read].flatMap(([where, text]) =>
		// A Source's own URL, and the documented type of an error.
		internals()
			.map((internal) =>
				internal.exec(
					text.replaceAll(
						/"https:\/\/(in\.example|tidemill\.dev)\/[^"]*"/g,
						"",
					),
				),
			)
			.filter((match) => match !== null)
			.map(({ 0: match, index, input }) => ({
				where,
				match,
				text: input.slice(Math.max(0, index - 200), index + 100),
			})),
	);
	expect(found).toEqual([]);
}

/** The Pod of a Run's Job as a kubelet says that it never started. */
async function podNeverStarts(run: string, status: object): Promise<void> {
	const { client } = scene.operator;
	const pod = await vi.waitFor(async () => {
		const { items } = await client.list(kinds.pod, {
			namespace: scene.account,
			labelSelector: `tidemill.dev/run=${run}`,
		});
		expect(items).toHaveLength(1);
		return items[0]!;
	}, soon);
	await client.patch(
		kinds.pod,
		pod.metadata.name,
		scene.account,
		{ status },
		"merge",
		{ subresource: "status" },
	);
}

const isSigned = ({ query }: { query: URLSearchParams }) =>
	query.has("X-Amz-Signature");
const archiveId = /error ([0-9a-f]{8}) in the log of archive/;

interface Fault {
	begins: (name: string) => unknown;
	/** What is then read somewhere. */
	words: RegExp;
	ends?: () => unknown;
}

const refuses = (code: string, status: number): Fault => ({
	begins: () => {
		store.disturb = () => ({ status, code });
	},
	words: archiveId,
});

const withoutNode = async (name: string, status: object) => {
	await node.kill();
	await begin(name);
	await podNeverStarts(name, status);
};

test.each<[string, string, Fault]>([
	[
		"away",
		"the store is away",
		{
			begins: () => network.close(),
			words: archiveId,
			ends: () => network.open(),
		},
	],
	[
		"access-key",
		"the store doesn't know the access key",
		refuses("InvalidAccessKeyId", 403),
	],
	["denied", "the store denies access", refuses("AccessDenied", 403)],
	["no-bucket", "the bucket is gone", refuses("NoSuchBucket", 404)],
	["busy", "the store is busy", refuses("SlowDown", 503)],
	[
		"job-cut-off",
		"a Job can't reach the store",
		{
			begins: () => {
				store.disturb = (request) =>
					isSigned(request) ? "answer lost" : undefined;
			},
			words: /ManifestUnavailable.*error [0-9a-f]{8} in the log of archive/,
		},
	],
	[
		"old-links",
		"a Job's links have expired",
		{
			begins: () => {
				store.disturb = (request) =>
					isSigned(request) ? { status: 400, code: "ExpiredToken" } : undefined;
			},
			words: /links? .*expired/,
		},
	],
	[
		"corrupt",
		"an object is corrupt",
		{
			begins: () => {
				store.disturb = (request) =>
					isSigned(request) && request.path.endsWith(".parquet")
						? "answer corrupted"
						: undefined;
			},
			words: /ObjectMismatch|Unexpected/,
		},
	],
	[
		"archive-away",
		"archive is away",
		{
			begins: () => scene.killArchive(),
			words: /nobody listens/,
			ends: () => scene.startArchive(),
		},
	],
	[
		"nats-away",
		"NATS is away",
		{
			begins: () => scene.operator.nats.kill(),
			words: /Archive of shard 0 did not answer|NATS can't be used/,
			ends: () => scene.operator.nats.start(),
		},
	],
	[
		"start-error",
		"a Pod's process can't be started",
		{
			begins: (name) =>
				withoutNode(name, {
					phase: "Failed",
					containerStatuses: [
						{
							name: "tidemill",
							image: scene.operator.image,
							imageID: "",
							ready: false,
							restartCount: 0,
							state: {
								terminated: {
									exitCode: 128,
									reason: "StartError",
									message:
										'failed to create containerd task: Post "https://robot:s3cret@registry.platform.example/v2/": dial tcp 10.0.7.9:443: connect: connection refused',
								},
							},
						},
					],
				}),
			words: /StartError/,
			ends: () => node.start(),
		},
	],
	[
		"evicted",
		"a Pod is evicted",
		{
			begins: (name) =>
				withoutNode(name, {
					phase: "Failed",
					reason: "Evicted",
					message: "The node n1 (10.0.7.9:10250) was low on resource: memory.",
				}),
			words: /Evicted/,
			ends: () => node.start(),
		},
	],
	[
		"webhook",
		"an admission webhook denies Jobs, and names an address",
		{
			begins: async () => {
				const webhook = await startAdmissionWebhook(
					scene.operator.client,
					inject("pki").ca,
					scene.account,
					[{ apiGroups: ["batch"], resources: ["jobs"] }],
				);
				endWebhook = () => webhook.stop();
				const { client } = scene.operator;
				await untilRefused(client, kinds.job, probeJob(scene.account));
				webhook.answer = {
					denies: "no Jobs today, ask at http://10.0.7.9:8443/policies",
				};
			},
			words: /ask at <address>.*JobNotStarted/s,
			ends: () => endWebhook(),
		},
	],
	[
		"object-gone",
		"an object is gone from the bucket",
		{
			begins: async () => {
				await rm(join(objects, prefix, "events"), { recursive: true });
			},
			words: /ObjectMissing.*error [0-9a-f]{8} in the log of archive/s,
		},
	],
])(
	"%s: when %s, no status, Event or REST answer names anything of the platform's",
	async (name, _, fault) => {
		await fault.begins(name);
		await begin(name);
		try {
			const { all, own } = await untilRead(name, fault.words);
			expectNothingInternal(all);
			// What is withheld stands in archive's log, under the id.
			const [, id] = archiveId.exec(own) ?? [];
			if (id)
				await vi.waitFor(
					() =>
						expect(
							scene.archiveLog.find((line) => line.includes(`"${id}"`)),
						).toMatch(new RegExp(`${bucket}|${prefix}`)),
					soon,
				);
		} finally {
			store.disturb = () => undefined;
			await fault.ends?.();
			await end();
		}
	},
);

let endWebhook: () => Promise<void> = async () => undefined;
