import { once } from "node:events";
import { type AddressInfo, connect, type Socket } from "node:net";
import { PassThrough } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
	KubeApiError,
	type KubeClient,
} from "../packages/kube/client/client.ts";
import { createLog } from "../packages/service/log.ts";
import {
	withoutArchive,
	withoutKeys,
	withoutReceive,
} from "../test/support/fixtures/control-plane/without-nats.ts";
import {
	type BehaviourName,
	behaviours,
} from "../test/support/strangers/flood.ts";
import { besiege, mostUnderSiege } from "../test/support/strangers/siege.ts";
import { usualLimits } from "./http/connections.ts";
import { createApi } from "./server.ts";

const windowMs = 60 * 60_000;
let api: ReturnType<typeof createApi>;
let watches: number;
let reviews: { running: number; most: number; total: number };

const succeeded = {
	phase: "Succeeded",
	completionTime: "2026-01-01T00:00:00Z",
};
const run = {
	metadata: { name: "orders-1", namespace: "shop", resourceVersion: "1" },
	spec: { pipelineRef: { name: "orders" } },
};

const pod = {
	metadata: { name: "orders-1-pod", creationTimestamp: "2026-01-01T00:00:00Z" },
	status: { phase: "Running" },
};
const largeSource = {
	metadata: { name: "large", uid: "1" },
	spec: { displayName: "x".repeat(16_000_000) },
};
let log: PassThrough;

/** An apiserver that knows the tokens that begin with "valid". */
function clientOf(token: string): KubeClient {
	return {
		raw: async () => {
			reviews.total++;
			reviews.most = Math.max(reviews.most, ++reviews.running);
			await nextTurn();
			reviews.running--;
			if (!token.startsWith("valid"))
				throw new KubeApiError(401, { reason: "Unauthorized" });
			const [, account = "shop"] = token.split("~");
			const username = `system:serviceaccount:${account}:${token}`;
			const groups = ["system:serviceaccounts"];
			return { status: { userInfo: { username, groups } } };
		},
		rawText: async () => "ok",
		list: async () => ({
			items: token.includes("large") ? [largeSource] : [pod],
			metadata: {},
		}),
		rawStream: async () => log,
		get: async () => run,
		create: async (_kind: unknown, object: object) => object,
		async *watch() {
			watches++;
			if (watches === 1) throw new Error("the connection broke");
			yield { type: "MODIFIED", object: { ...run, status: succeeded } };
		},
	} as unknown as KubeClient;
}

beforeEach(() => {
	watches = 0;
	log = new PassThrough().setMaxListeners(0);
	reviews = { running: 0, most: 0, total: 0 };
	const logger = createLog("test");
	logger.level = "silent";
	api = createApi({
		clientFor: clientOf,
		rateLimit: { limit: 120, windowMs, now: () => 0 },
		idempotency: withoutKeys,
		archive: withoutArchive,
		receive: withoutReceive,
		connections: {
			...usualLimits,
			maxConnections: mostUnderSiege,
			maxLargeBytes: 50_000_000,
		},
		log: logger,
		stopping: new AbortController().signal,
	});
});

afterEach(() => api.close());

function get(token?: string, path = "/v1/sources") {
	const headers = token ? { authorization: `Bearer ${token}` } : {};
	return api.inject({ path, headers });
}

test("1,000 wrong tokens from an address deny nobody there a valid token, and the apiserver reviews 16 at once", async () => {
	expect((await get("valid-known")).statusCode).toBe(200);
	const wrong = Array.from({ length: 1_000 }, (_, index) => `wrong-${index}`);
	const guesses = wrong.map((token) => get(token));
	const valid = [get("valid-known"), get("valid-new")];
	for (const answer of valid) expect((await answer).statusCode).toBe(200);
	const statuses = (await Promise.all(guesses)).map((one) => one.statusCode);
	expect(new Set(statuses)).toEqual(new Set([401, 429]));
	expect(reviews).toMatchObject({ most: 16, total: 1_002 });
	expect((await get("valid-late")).statusCode).toBe(200);
	expect((await get("wrong")).statusCode).toBe(429);
	expect((await get()).statusCode).toBe(429);
});

test.each([
	["objects", `{"a":`, "}"],
	["lists", `[`, "]"],
])("a body of many nested %s is refused as invalid", async (_, open, close) => {
	const nested = `${open.repeat(100_000)}1${close.repeat(100_000)}`;
	const answer = await api.inject({
		method: "PATCH",
		path: "/v1/tracking-plans/orders",
		headers: {
			authorization: "Bearer valid",
			"content-type": "application/json",
		},
		payload: `{"common":{"default":${nested}}}`,
	});
	expect([answer.statusCode, answer.json().detail]).toEqual([
		400,
		"The body is nested too deeply. At most 500 levels are allowed.",
	]);
});

test("a dry run makes nothing, so it answers 200 without a location, but checks the key that it doesn't use", async () => {
	const tried = (key: string) =>
		api.inject({
			method: "POST",
			path: "/v1/destinations?dryRun=true",
			headers: { authorization: "Bearer valid", "idempotency-key": key },
			payload: { name: "dry", type: "DuckDB", duckDB: { path: "a.duckdb" } },
		});
	const answer = await tried("one");
	expect([answer.statusCode, answer.json().name]).toEqual([200, "dry"]);
	expect(answer.headers.location).toBeUndefined();
	expect((await tried("x".repeat(256))).json().details).toMatchObject([
		{ path: "Idempotency-Key" },
	]);
});

test.each([
	["/v1/runs?state=Failed", 400, "is not a known query parameter"],
	["/v1/runs?limit=1&limit=2", 400, "must not be repeated"],
	["/v1/runs/..%2fsecrets", 404, "is not a valid name"],
])(
	"GET %s is refused before it reaches the apiserver",
	async (path, status, words) => {
		const answer = await get("valid", path);
		expect(answer.statusCode).toBe(status);
		expect(answer.body).toContain(words);
		expect(answer.headers["content-type"]).toContain(
			"application/problem+json",
		);
	},
);

test.each([
	["null", 400],
	["[]", 400],
	['"text"', 400],
	["{}", 202],
	["", 202],
])(
	"the body %s of a run that is started is answered %i",
	async (payload, status) => {
		const { statusCode } = await api.inject({
			method: "POST",
			path: "/v1/pipelines/orders/run",
			headers: {
				authorization: "Bearer valid",
				"content-type": "application/json",
			},
			payload,
		});
		expect(statusCode).toBe(status);
	},
);

test("a wait for a run survives a broken watch", async () => {
	const answer = await get("valid", "/v1/runs/orders-1?wait=60s");
	expect(answer.json()).toMatchObject({ status: "Succeeded" });
	expect(watches).toBe(2);
});

test("the API has a deadline for each phase of a connection", async () => {
	const { requestTimeout, headersTimeout, keepAliveTimeout } = api.server;
	expect([requestTimeout, headersTimeout, keepAliveTimeout]).toEqual([
		usualLimits.requestMs,
		usualLimits.headMs,
		usualLimits.keepAliveMs,
	]);
});

test.each(Object.keys(behaviours) as BehaviourName[])(
	"strangers with more connections than the API may have, each with %s, keep nobody with a token out",
	async (behaviour) => {
		await api.listen({ host: "127.0.0.1", port: 0 });
		const { port } = api.server.address() as AddressInfo;
		await besiege(port, behaviour, {
			options: {
				path: "/v1/runs/orders-1",
				headers: { authorization: "Bearer valid" },
			},
		});
	},
);

test.each([
	[
		"logs that are followed",
		"GET /v1/runs/orders-1/logs?follow=true HTTP/1.1\r\n",
		"\r\n",
	],
	[
		"bodies that don't end",
		"POST /v1/pipelines HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 9\r\n",
		"\r\n{",
	],
])(
	"%s, with a valid token from several networks, take half of the connections, and other accounts have theirs",
	async (_, head, rest) => {
		await api.listen({ host: "127.0.0.1", port: 0 });
		const { port } = api.server.address() as AddressInfo;
		const sockets: Socket[] = [];
		let refused = 0;
		const open = (index: number) => {
			const localAddress = `127.0.${1 + (index % 6)}.1`;
			const socket = connect({ port, host: "127.0.0.1", localAddress });
			sockets.push(socket);
			socket.on("data", (bytes) => {
				if (bytes.toString().startsWith("HTTP/1.1 429")) refused++;
			});
			const token = `Host: h\r\nAuthorization: Bearer valid-${index}\r\n`;
			socket.write(head + token + rest);
		};
		try {
			for (let index = 0; index < 40; index++) open(index);
			await vi.waitFor(() => expect(refused).toBe(40 - mostUnderSiege / 2), {
				timeout: 60_000,
			});
			const path = "/v1/runs/orders-1";
			const answer = await get("valid", path);
			expect([answer.statusCode, answer.headers["retry-after"]]).toEqual([
				429,
				"1",
			]);
			expect(answer.json().detail).toContain("30 requests are open");
			expect((await get("valid~bakery", path)).statusCode).toBe(200);
			sockets[0]!.destroy();
			await vi.waitFor(
				async () => expect((await get("valid", path)).statusCode).toBe(200),
				// Each try counts in the rate limit.
				{ timeout: 60_000, interval: 500 },
			);
		} finally {
			for (const socket of sockets) socket.destroy();
		}
	},
);

test("answers that nobody reads take half of the room for them; another account's are sent, and small ones, and all once they are gone", async () => {
	await api.listen({ host: "127.0.0.1", port: 0 });
	const { port } = api.server.address() as AddressInfo;
	const unread = connect({ port, host: "127.0.0.1" });
	try {
		unread.write(
			"GET /v1/sources HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer valid-large\r\n\r\n",
		);
		// Its beginning, which isn't taken.
		await once(unread, "readable");
		const status = async (token: string) => (await get(token)).statusCode;
		expect(await status("valid-large")).toBe(429);
		expect(await status("valid-large~bakery")).toBe(200);
		expect(await status("valid")).toBe(200);
		unread.destroy();
		await vi.waitFor(
			async () => expect(await status("valid-large")).toBe(200),
			{ timeout: 60_000, interval: 100 },
		);
	} finally {
		unread.destroy();
	}
});

test("a followed log may be silent for as long as it likes", async () => {
	await api.listen({ host: "127.0.0.1", port: 0 });
	const { port } = api.server.address() as AddressInfo;
	const accepted = once(api.server, "connection") as Promise<[Socket]>;
	const answering = fetch(
		`http://127.0.0.1:${port}/v1/runs/orders-1/logs?follow=true`,
		{ headers: { authorization: "Bearer valid" } },
	);
	const [socket] = await accepted;
	log.write("first\n");
	const answer = await answering;
	expect(socket.timeout).toBe(0);
	log.end("last\n");
	expect(await answer.text()).toBe("first\nlast\n");
});
