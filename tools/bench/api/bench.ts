import { join } from "node:path";
import { type Source, sourceKind } from "../../../crds/generated/types.ts";
import { freePort } from "../../../local/machine/ports.ts";
import { processEnvironment } from "../../../operator/install/process-environment.ts";
import { mapConcurrently } from "../../../packages/fair/fair-limit.ts";
import { KubeClient } from "../../../packages/kube/client/client.ts";
import { loadKubeConfig } from "../../../packages/kube/client/kube-config.ts";
import { untilReady } from "../../../test/support/fixtures/data-plane/receiver.ts";
import { startRole } from "../../../test/support/servers/role-server.ts";
import {
	startControlPlane,
	startNats,
} from "../../../test/support/servers/servers.ts";
import {
	type Bench,
	compared,
	figure,
	type Measurement,
	type Say,
} from "../measure/measurement.ts";
import { memory } from "../measure/process-cost.ts";
import { alternate, roundsOf } from "../measure/rounds.ts";
import { type Call, HttpTarget } from "./http-target.ts";

const connections = 32;
const measureMs = 2_500;
/** Warm-up of each side: V8 compiles the hot code within about 20,000 requests. */
const compileMs = 8_000;
const account = "bench";
const listed = 1_000;
const paged = 10_000;
const group = `/apis/tidemill.dev/v1alpha1/namespaces/${account}`;
const duckDB = { type: "DuckDB", duckDB: { path: "a.duckdb" } };

/** The same call through the API and straight to the apiserver. */
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
		const api = await startAPI(controlPlane.kubeconfig, nats.urlFor("api"));
		try {
			const token = await prepare(controlPlane.kubectl);
			const admin = KubeClient.fromConfig(
				loadKubeConfig(controlPlane.kubeconfig),
			);
			await makeSources(admin, 0, listed);
			const ca = controlPlane.pki.ca.cert;
			const targets = {
				api: new HttpTarget(connections, { url: api.url, token }),
				direct: new HttpTarget(connections, {
					url: controlPlane.server,
					ca,
					token,
				}),
			};
			const measurements: Measurement[] = [];
			const [get] = comparisons as [Comparison];
			await targets.direct.measure(get.direct, compileMs);
			await targets.api.measure(get.api, compileMs);
			for (const comparison of comparisons)
				measurements.push(await compare(comparison, targets, say));
			say(`a list of ${paged} in pages`);
			await makeSources(admin, listed, paged);
			const before = await memory(api.pid);
			measurements.push(await readPages(targets.api));
			const { peakBytes } = await memory(api.pid);
			const megabytes = (bytes: number) => bytes / 1e6;
			return [
				...measurements,
				compared(
					`peak memory (baseline: before the list of ${paged})`,
					"MB",
					megabytes(peakBytes),
					megabytes(before.peakBytes),
					{ atMost: 150 },
				),
			];
		} finally {
			await api.stop();
			await nats.stop();
			await controlPlane.stop();
		}
	},
};

/** With its container's Node options, and a rate limit that the bench doesn't reach. */
async function startAPI(kubeconfig: string, natsUrl: string) {
	const port = await freePort();
	const server = await startRole("api", {
		name: "api",
		env: {
			KUBECONFIG: kubeconfig,
			NATS_URL: natsUrl,
			API_PORT: String(port),
			API_RATE_LIMIT: "1000000",
			LOG_LEVEL: "warn",
			...processEnvironment.api,
		},
	});
	const api = Object.assign(server, { url: `http://127.0.0.1:${port}` });
	await untilReady(api);
	return api;
}

async function prepare(
	kubectl: Awaited<ReturnType<typeof startControlPlane>>["kubectl"],
): Promise<string> {
	const roles = join(
		import.meta.dirname,
		"../../../charts/tidemill/files/rbac/roles.yaml",
	);
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
	const numbers = Array.from({ length: to - from }, (_, n) => from + n);
	await mapConcurrently(numbers, connections, (n) =>
		admin.create<Source>(sourceKind, {
			metadata: { name: `source-${n}`, namespace: account },
			spec: { type: "Webhook" },
		} as Source),
	);
}

async function compare(
	{ name, api, direct }: Comparison,
	targets: { api: HttpTarget; direct: HttpTarget },
	say: Say,
): Promise<Measurement> {
	const calls = await alternate(
		name,
		{
			API: () => targets.api.measure(api, measureMs),
			apiserver: () => targets.direct.measure(direct, measureMs),
		},
		{
			count: roundsOf(5),
			say,
			text: (medianMs) => `${medianMs.toFixed(1)} ms`,
		},
	);
	return compared(`${name}: median latency`, "ms", calls.API, calls.apiserver, {
		ratioAtMost: 1.3,
	});
}

async function readPages(target: HttpTarget): Promise<Measurement> {
	const startedMs = performance.now();
	let [count, cursor] = [0, ""];
	do {
		const path = `/v1/sources?limit=500&cursor=${encodeURIComponent(cursor)}`;
		const answer = await target.call({ method: "GET", path });
		const page = JSON.parse(answer) as { items: unknown[]; cursor?: string };
		count += page.items.length;
		cursor = page.cursor ?? "";
	} while (cursor);
	if (count !== paged)
		throw new Error(`the pages hold ${count} sources, not ${paged}`);
	const tookMs = performance.now() - startedMs;
	return figure(`list of ${paged} in pages of 500`, tookMs, "ms");
}
