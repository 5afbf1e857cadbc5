import http from "node:http";
import https from "node:https";
import { join } from "node:path";
import { type Source, sourceKind } from "../crds/generated/types.ts";
import { KubeClient } from "../kube/client/client.ts";
import { loadKubeConfig } from "../kube/client/kube-config.ts";
import { freePort } from "../local/ports.ts";
import { answersOk } from "../local/probe.ts";
import { apiNodeOptions } from "../local/roles.ts";
import {
	startControlPlane,
	startNats,
} from "../test/support/servers/servers.ts";
import {
	startServer,
	temporaryDirectory,
} from "../test/support/servers/test-server.ts";
import { type Bench, type Measurement, median } from "./measurement.ts";
import { memory } from "./process-cost.ts";

const connections = 32;
const rounds = 3;
const warmUpMs = 500;
const measureMs = 2_500;
/** Of each side before all else: V8 takes some 20,000 requests to compile what is asked for most. */
const compileMs = 8_000;
const account = "bench";
const listed = 1_000;
const paged = 10_000;
const group = `/apis/tidemill.dev/v1alpha1/namespaces/${account}`;
const duckDB = { type: "DuckDB", duckDB: { path: "a.duckdb" } };

interface Call {
	method: string;
	path: string;
	type?: string;
	body?: unknown;
}

/** The same done through the API and straight at the apiserver, by one client. */
interface Comparison {
	name: string;
	api: (number: number) => Call;
	direct: (number: number) => Call;
}

const comparisons: Comparison[] = [
	{
		name: "get",
		api: () => ({ method: "GET", path: "/v1/sources/source-7" }),
		direct: () => ({ method: "GET", path: `${group}/sources/source-7` }),
	},
	{
		name: `list of ${listed}`,
		api: () => ({ method: "GET", path: `/v1/sources?limit=${listed}` }),
		direct: () => ({ method: "GET", path: `${group}/sources?limit=${listed}` }),
	},
	{
		name: "create",
		api: (number) => ({
			method: "POST",
			path: "/v1/destinations",
			body: { name: `api-${number}`, ...duckDB },
		}),
		direct: (number) => ({
			method: "POST",
			path: `${group}/destinations`,
			body: {
				apiVersion: "tidemill.dev/v1alpha1",
				kind: "Destination",
				metadata: { name: `direct-${number}` },
				spec: duckDB,
			},
		}),
	},
	{
		name: "patch",
		api: (number) => ({
			method: "PATCH",
			path: `/v1/sources/source-${number % listed}`,
			type: "application/merge-patch+json",
			body: { displayName: `${number}` },
		}),
		direct: (number) => ({
			method: "PATCH",
			path: `${group}/sources/source-${number % listed}`,
			type: "application/merge-patch+json",
			body: { spec: { displayName: `${number}` } },
		}),
	},
];

/** The REST API against the apiserver behind it. */
export const bench: Bench = {
	about: `latency of calls at ${connections} connections; baseline: the same calls straight to the apiserver`,
	async run(say) {
		const controlPlane = await startControlPlane();
		const nats = await startNats();
		const api = await startApiProcess(
			controlPlane.kubeconfig,
			nats.urlFor("api"),
		);
		try {
			const token = await prepare(controlPlane.kubectl);
			const admin = KubeClient.fromConfig(
				loadKubeConfig(controlPlane.kubeconfig),
			);
			await makeSources(admin, 0, listed);
			const ca = controlPlane.pki.ca.cert;
			const targets = {
				api: new Target({ url: api.url, token }),
				direct: new Target({ url: controlPlane.server, ca, token }),
			};
			const measurements: Measurement[] = [];
			const [get] = comparisons as [Comparison];
			await targets.direct.measure(get.direct, compileMs);
			await targets.api.measure(get.api, compileMs);
			for (const comparison of comparisons)
				measurements.push(...(await compare(comparison, targets, say)));
			say(`a list of ${paged} in pages`);
			await makeSources(admin, listed, paged);
			const before = await memory(api.pid());
			measurements.push(await readPages(targets.api));
			const { residentBytes, peakBytes } = await memory(api.pid());
			const megabytes = (bytes: number) => bytes / 1024 ** 2;
			return [
				...measurements,
				{
					metric: "resident memory after all that",
					value: megabytes(residentBytes),
					unit: "MB",
				},
				{
					metric: `most memory it ever had (baseline: before the list of ${paged})`,
					value: megabytes(peakBytes),
					baseline: megabytes(before.peakBytes),
					ratio: peakBytes / before.peakBytes,
					unit: "MB",
				},
			];
		} finally {
			await api.stop();
			await nats.stop();
			await controlPlane.stop();
		}
	},
};

async function prepare(
	kubectl: Awaited<ReturnType<typeof startControlPlane>>["kubectl"],
): Promise<string> {
	const roles = join(import.meta.dirname, "../deploy/roles.yaml");
	await kubectl("apply", `--filename=${roles}`);
	await kubectl("create", "namespace", account);
	await kubectl("create", "serviceaccount", "bench", "-n", account);
	await kubectl(
		...["create", "rolebinding", "bench", "-n", account],
		...["--clusterrole=tidemill-editor", `--serviceaccount=${account}:bench`],
	);
	return (await kubectl("create", "token", "bench", "-n", account)).trim();
}

async function makeSources(
	admin: KubeClient,
	from: number,
	to: number,
): Promise<void> {
	let next = from;
	const worker = async () => {
		while (next < to) {
			const metadata = { name: `source-${next++}`, namespace: account };
			await admin.create<Source>(sourceKind, {
				metadata,
				spec: { type: "Webhook" },
			} as Source);
		}
	};
	await Promise.all(Array.from({ length: connections }, worker));
}

/** Alternating runs, so that a machine that slows down slows both. */
async function compare(
	{ name, api, direct }: Comparison,
	targets: { api: Target; direct: Target },
	say: (progress: string) => void,
): Promise<Measurement[]> {
	const through: Latencies[] = [];
	const straight: Latencies[] = [];
	for (let round = 1; round <= rounds; round++) {
		straight.push(await targets.direct.measure(direct));
		through.push(await targets.api.measure(api));
		say(
			`${name}, round ${round} of ${rounds}: API ${through.at(-1)!.p50Ms.toFixed(1)} ms, apiserver ${straight.at(-1)!.p50Ms.toFixed(1)} ms`,
		);
	}
	const against = (metric: string, field: keyof Latencies) => {
		const value = median(through.map((latencies) => latencies[field]));
		const baseline = median(straight.map((latencies) => latencies[field]));
		return { metric, value, unit: "ms", baseline, ratio: value / baseline };
	};
	return [
		against(`${name}: median latency`, "p50Ms"),
		against(`${name}: 99th percentile latency`, "p99Ms"),
	];
}

async function readPages(target: Target): Promise<Measurement> {
	const startedMs = performance.now();
	let [count, cursor] = [0, ""];
	do {
		const path = `/v1/sources?limit=500&cursor=${encodeURIComponent(cursor)}`;
		const answer = await target.call({ method: "GET", path });
		const page = JSON.parse(answer) as { items: unknown[]; cursor?: string };
		count += page.items.length;
		cursor = page.cursor ?? "";
	} while (cursor);
	if (count !== paged) throw new Error(`${count} sources in ${paged}`);
	return {
		metric: `list of ${paged} in pages of 500`,
		value: performance.now() - startedMs,
		unit: "ms",
	};
}

interface Latencies {
	p50Ms: number;
	p99Ms: number;
}

/** One client for both: a closed loop over kept connections. */
class Target {
	readonly #url: string;
	readonly #headers: Record<string, string>;
	readonly #agent: http.Agent;
	#number = 0;

	constructor({ url, ca, token }: { url: string; ca?: string; token: string }) {
		this.#url = url;
		this.#headers = { authorization: `Bearer ${token}` };
		const kept = { keepAlive: true, maxSockets: connections };
		this.#agent = ca ? new https.Agent({ ...kept, ca }) : new http.Agent(kept);
	}

	async measure(
		callOf: (number: number) => Call,
		forMs = measureMs,
	): Promise<Latencies> {
		const latenciesMs: number[] = [];
		const beginMs = performance.now() + warmUpMs;
		const endMs = beginMs + forMs;
		const worker = async () => {
			for (;;) {
				const startedMs = performance.now();
				if (startedMs > endMs) return;
				await this.call(callOf(this.#number++));
				if (startedMs >= beginMs)
					latenciesMs.push(performance.now() - startedMs);
			}
		};
		await Promise.all(Array.from({ length: connections }, worker));
		const sorted = latenciesMs.sort((a, b) => a - b);
		const at = (share: number) =>
			sorted[Math.floor(sorted.length * share)] ?? 0;
		return { p50Ms: at(0.5), p99Ms: at(0.99) };
	}

	/** The answer's body; an answer that isn't 2xx makes this no measurement. */
	async call({ method, path, body, type }: Call): Promise<string> {
		const text = body === undefined ? undefined : JSON.stringify(body);
		const answer = await new Promise<http.IncomingMessage>(
			(resolve, reject) => {
				const { request } = this.#url.startsWith("https") ? https : http;
				const outgoing = request(
					this.#url + path,
					{
						method,
						agent: this.#agent,
						headers: {
							...this.#headers,
							...(text !== undefined && {
								"content-type": type ?? "application/json",
								"content-length": Buffer.byteLength(text),
							}),
						},
					},
					resolve,
				);
				outgoing.on("error", reject);
				outgoing.end(text);
			},
		);
		const answered = Buffer.concat(await answer.toArray()).toString();
		const { statusCode = 0 } = answer;
		if (statusCode >= 200 && statusCode < 300) return answered;
		throw new Error(`${method} ${path}: ${statusCode} ${answered}`);
	}
}

async function startApiProcess(kubeconfig: string, natsUrl: string) {
	const port = await freePort();
	const healthPort = await freePort();
	const server = await startServer(
		{
			name: "api",
			command: process.execPath,
			args: [new URL("../bin/tidemill.ts", import.meta.url).pathname, "api"],
			env: {
				KUBECONFIG: kubeconfig,
				NATS_URL: natsUrl,
				API_PORT: String(port),
				API_RATE_LIMIT: "1000000",
				HEALTH_PORT: String(healthPort),
				LOG_LEVEL: "warn",
				NODE_OPTIONS: apiNodeOptions,
			},
			isReady: () => answersOk(`http://127.0.0.1:${healthPort}/readyz`),
			stopTimeoutMs: 5_000,
		},
		await temporaryDirectory("api"),
	);
	return {
		url: `http://127.0.0.1:${port}`,
		pid: () => server.pid,
		stop: () => server.stop(),
	};
}
