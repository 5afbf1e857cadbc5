import { once } from "node:events";
import type { FastifyInstance } from "fastify";
import pino from "pino";
import { Registry } from "prom-client";
import { afterEach, beforeEach, expect, test } from "vitest";
import type {
	KubeClient,
	ListOptions,
	WatchOptions,
} from "../packages/kube/client/client.ts";
import type { KubeObject, ResourceKind } from "../packages/kube/resource.ts";
import {
	withoutArchive,
	withoutKeys,
	withoutReceive,
} from "../test/support/fixtures/control-plane/without-nats.ts";
import { RequestMetrics } from "./http/request-metrics.ts";
import { createApi } from "./server.ts";

/* A request from its head to what reaches the apiserver, which is a double here. */

/** Its conditions are a Pipeline's, its spec is a Source's. */
const found = {
	metadata: { name: "orders", namespace: "shop", uid: "a", generation: 2 },
	spec: { type: "Webhook", suspend: false },
	status: {
		observedGeneration: 2,
		conditions: [
			{
				type: "Ready",
				status: "False",
				reason: "SourceNotFound",
				message: "There is no Source.",
				observedGeneration: 2,
			},
		],
	},
};
let api: FastifyInstance;
/** What was written, such as `create runs`; dry runs aren't. */
let writes: string[];
/** What any list has. */
let listed: object[];
/** Whether lists have a second page, and more than anybody sorts. */
let isLong: boolean;
/** Of each watch, when it shall end. */
let watches: AbortSignal[];
let registry: Registry;
/** Namespaces that were read or written. */
let namespaces: (string | undefined)[];

interface Review {
	spec: { resourceAttributes?: { subresource?: string } };
}

/** An apiserver that has one object, under any name. The token has all rights but that to bodies of events. */
function clientOf(): KubeClient {
	const read = async (_: unknown, __: string, namespace: string) => {
		namespaces.push(namespace);
		return structuredClone(found);
	};
	const write =
		(verb: string) =>
		async (kind: ResourceKind<KubeObject>, ...[object]: unknown[]) => {
			writes.push(`${verb} ${kind.plural}`);
			return typeof object === "object" ? object : structuredClone(found);
		};
	const patch = async (
		kind: ResourceKind<KubeObject>,
		...[, namespace, , , { dryRun }]: [
			string,
			string,
			unknown,
			string,
			{ dryRun?: boolean },
		]
	) => {
		namespaces.push(namespace);
		if (!dryRun) writes.push(`patch ${kind.plural}`);
		return structuredClone(found);
	};
	return {
		raw: async (_: string, path: string, { body }: { body: Review }) => ({
			status: path.includes("accessreviews")
				? { allowed: body.spec.resourceAttributes?.subresource !== "bodies" }
				: {
						userInfo: {
							username: "system:serviceaccount:shop:ci",
							groups: ["system:serviceaccounts"],
						},
					},
		}),
		get: read,
		list: async (_: unknown, { namespace, continue: from }: ListOptions) => {
			namespaces.push(namespace);
			const more = { continue: "next", remainingItemCount: 2_000 };
			const metadata = isLong && from === undefined && more;
			return { items: listed, metadata: { resourceVersion: "1", ...metadata } };
		},
		async *watch(_: unknown, { signal }: WatchOptions) {
			watches.push(signal!);
			yield {
				type: "BOOKMARK",
				object: { metadata: { resourceVersion: "1" } },
			};
			if (!signal!.aborted) await once(signal!, "abort");
		},
		patch,
		create: write("create"),
		delete: write("delete"),
	} as unknown as KubeClient;
}

beforeEach(() => {
	writes = [];
	namespaces = [];
	listed = [];
	isLong = false;
	watches = [];
	registry = new Registry();
	api = createApi({
		clientFor: clientOf,
		rateLimit: { limit: 3, windowMs: 60_000, now: () => 0 },
		idempotency: withoutKeys,
		archive: withoutArchive,
		receive: withoutReceive,
		metrics: new RequestMetrics(registry),
		log: pino({ level: "silent" }),
		stopping: new AbortController().signal,
	});
});

afterEach(() => api.close());

function send(
	method: "GET" | "POST" | "PATCH" | "DELETE",
	path: string,
	{ headers = {}, payload }: { headers?: object; payload?: object } = {},
) {
	return api.inject({
		method,
		path,
		headers: { authorization: "Bearer t", prefer: "respond-async", ...headers },
		...(payload && { payload }),
	});
}

test("a change of an earlier version is 412 and changes nothing; one of the current version is made", async () => {
	const change = (etag: string) =>
		send("PATCH", "/v1/sources/shop", {
			headers: { "if-match": etag },
			payload: { suspend: true },
		});
	expect((await change('"1"')).statusCode).toBe(412);
	expect(writes).toEqual([]);
	const { headers } = await send("GET", "/v1/sources/shop");
	expect((await change(headers.etag as string)).statusCode).toBe(200);
	expect(writes).toEqual(["patch sources"]);
});

test("a Pipeline that can't run is 409 with the reason and gets no Run, unless it may wait", async () => {
	const run = "/v1/pipelines/orders/run";
	const refused = await send("POST", run);
	expect(refused.statusCode).toBe(409);
	expect(refused.json().detail).toContain("There is no Source.");
	expect(writes).toEqual([]);
	expect((await send("POST", `${run}?queue=true`)).statusCode).toBe(202);
	expect(writes).toEqual(["create runs"]);
});

test("each answer says how many requests are left, and what is beyond them is 429 and reaches nothing", async () => {
	const answers = [];
	for (let request = 0; request < 4; request++)
		answers.push(await send("GET", "/v1/pipelines"));
	expect(
		answers.map(({ statusCode, headers }) => [
			statusCode,
			headers["x-ratelimit-limit"],
			headers["x-ratelimit-remaining"],
		]),
	).toEqual([
		[200, "3", "2"],
		[200, "3", "1"],
		[200, "3", "0"],
		[429, "3", "0"],
	]);
	expect(answers[3]!.headers["retry-after"]).toBe("60");
	expect(namespaces).toHaveLength(3);
});

test("a service account reaches its own namespace alone, whichever account it names", async () => {
	const named = (account: string) =>
		send("GET", "/v1/pipelines", { headers: { "tidemill-account": account } });
	expect((await named("bank")).statusCode).toBe(403);
	expect((await named("shop")).statusCode).toBe(200);
	expect(namespaces).toEqual(["shop"]);
});

test("a resource that another one uses is deleted only by force", async () => {
	listed = [{ metadata: { name: "orders" } }];
	const refused = await send("DELETE", "/v1/sources/shop");
	expect(refused.statusCode).toBe(409);
	expect(refused.json().detail).toContain('used by the pipelines "orders"');
	expect(writes).toEqual([]);
	await send("DELETE", "/v1/sources/shop?force=true");
	expect(writes).toEqual(["delete sources"]);
});

test("bodies of events, stored and refused, are for those who have the right to bodies", async () => {
	const event = "/v1/sources/shop/events/0190a000-0000-7000-8000-000000000001";
	// The Source has had none.
	expect((await send("GET", event)).statusCode).toBe(404);
	for (const path of [event, "/v1/sources/shop/refusals"]) {
		const refused = await send("GET", `${path}?body=true`);
		expect(refused.statusCode).toBe(403);
		expect(refused.json().detail).toContain("get sources/bodies");
	}
});

test("requests are counted by method, route and status, and what callers make up by none", async () => {
	await send("GET", "/v1/sources/shop");
	await send("DELETE", "/v1/no/such/path?token=secret");
	await api.inject({ method: "GET", path: "/v1/sources/other" });
	const text = await registry.metrics();
	const told = text
		.split("\n")
		.filter((line) => line.startsWith("tidemill_api_requests_total{"))
		.toSorted();
	expect(told).toEqual([
		'tidemill_api_requests_total{method="DELETE",route="(none)",status="404"} 1',
		'tidemill_api_requests_total{method="GET",route="/v1/sources/:name",status="200"} 1',
		'tidemill_api_requests_total{method="GET",route="/v1/sources/:name",status="401"} 1',
	]);
	expect(text).toContain(
		'tidemill_api_request_seconds_count{method="GET",route="/v1/sources/:name"} 2',
	);
	expect(text).not.toContain("secret");
});

test("no watch for the next page of a long list keeps a process whose API has closed", async () => {
	isLong = true;
	const metadata = { name: "a", creationTimestamp: "2026-01-01T00:00:00Z" };
	listed = [{ metadata, spec: { pipelineRef: { name: "orders" } } }];
	expect((await send("GET", "/v1/runs")).statusCode).toBe(200);
	expect(watches.map(({ aborted }) => aborted)).toEqual([false]);
	await api.close();
	expect(watches.map(({ aborted }) => aborted)).toEqual([true]);
});

test("whoever opens the API's address in a browser is led to its page of documentation, or to the console", async () => {
	const { statusCode, headers } = await api.inject({ path: "/" });
	expect([statusCode, headers.location]).toEqual([302, "docs"]);
});
