import { once } from "node:events";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import type { FastifyInstance } from "fastify";
import pino from "pino";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
	KubeApiError,
	type KubeClient,
} from "../../packages/kube/client/client.ts";
import {
	withoutArchive,
	withoutKeys,
	withoutReceive,
} from "../../test/support/fixtures/control-plane/without-nats.ts";
import { openApiDocument } from "../document/openapi.ts";
import { endpoints } from "../endpoints.ts";
import { createApi } from "../server.ts";
import { callersOnly } from "./callers-only.ts";
import { refuseUnreadable } from "./connections.ts";

const found = {
	metadata: { name: "orders", namespace: "shop", uid: "a", generation: 2 },
	spec: { type: "Webhook" },
	status: { sourceKey: "k", shard: 0 },
};
/** An apiserver that has one object, under any name, and whose users may do everything but one thing. */
const client = {
	raw: async (_: string, path: string) => ({
		status: path.includes("accessreviews")
			? { allowed: true }
			: path.includes("rulesreviews")
				? { resourceRules: [], nonResourceRules: [] }
				: { userInfo: { username: "ada", groups: [] } },
	}),
	rawText: async () => "ok",
	get: async () => structuredClone(found),
	list: async () => ({ items: [], metadata: {} }),
	create: async () => {
		throw new KubeApiError(403, { reason: "Forbidden", message: "no" });
	},
	patch: async () => structuredClone(found),
	delete: async () => structuredClone(found),
	watch: async function* () {},
} as unknown as KubeClient;

let api: FastifyInstance;
let limit: number;
const stopping = new AbortController();

beforeEach(() => {
	limit = 1_000;
	api = createApi({
		clientFor: (token) => {
			if (token === "expired") throw new KubeApiError(401, {});
			return client;
		},
		rateLimit: {
			get limit() {
				return limit;
			},
			windowMs: 60_000,
			now: () => 0,
		},
		idempotency: withoutKeys,
		archive: withoutArchive,
		receive: withoutReceive,
		settleWithinMs: 0,
		log: pino({ level: "silent" }),
		stopping: stopping.signal,
	});
});

afterEach(() => api.close());

const paths = Object.entries(openApiDocument(endpoints).paths).flatMap(
	([path, methods]) =>
		Object.keys(methods as object)
			.filter((name) => /^(get|put|post|patch|delete)$/.test(name))
			.map((method) => [
				method.toUpperCase(),
				`/v1${path.replace(/^\/v1/, "")}`,
			]),
) as ["GET", string][];

/** Its status, as soon as it has its head. */
async function expectForCallerAlone(
	method: "GET",
	url: string,
	headers: Record<string, string>,
	payload?: string,
): Promise<number> {
	const answer = await api.inject({
		...{ method, url, payloadAsStream: true },
		headers: { "tidemill-account": "shop", ...headers },
		...(payload !== undefined && { payload }),
	});
	answer.stream().destroy();
	expect(answer.headers, `${answer.statusCode} ${method} ${url}`).toMatchObject(
		callersOnly,
	);
	return answer.statusCode;
}

test("no cache may keep an answer of any path of the OpenAPI document, whatever it is answered", async () => {
	expect(paths.length).toBeGreaterThan(40);
	const statuses = new Set<number>();
	const token = { authorization: "Bearer t" };
	for (const [method, template] of paths) {
		const url = template.replaceAll(/\{\w+\}/g, "orders");
		for (const [headers, payload] of [
			[token],
			[{ ...token, "if-none-match": "*", "if-match": '"old"' }, "{}"],
			[{ ...token, accept: "image/png" }],
			[{ ...token, "content-type": "text/csv" }, "a,b"],
			[{ ...token, "content-type": "application/json" }, '{"a":'],
			[{ authorization: "Bearer expired" }],
			[{}],
		] as [Record<string, string>, string?][])
			statuses.add(await expectForCallerAlone(method, url, headers, payload));
		for (const other of ["OPTIONS", "TRACE"] as never[])
			statuses.add(await expectForCallerAlone(other, url, token));
	}
	limit = 0;
	for (const [method, url] of paths)
		statuses.add(await expectForCallerAlone(method, url, token));
	for (const status of [200, 202, 400, 401, 403, 405, 406, 415, 429, 503])
		expect([...statuses], String(status)).toContain(status);
});

test.each([
	["GET", "/v1/openapi.json", 200],
	["HEAD", "/v1/sources", 200],
	["GET", "/v1/none", 404],
	["GET", "/v1", 404],
	["GET", "/v1/sources/%zz", 400],
	["DELETE", "/console/session", 404],
] as ["GET", string, number][])(
	"nor that of %s %s",
	async (method, url, status) => {
		const headers = { authorization: "Bearer t" };
		expect(await expectForCallerAlone(method, url, headers)).toBe(status);
	},
);

test.each(["ERR_HTTP_REQUEST_TIMEOUT", "HPE_HEADER_OVERFLOW", "HPE_INVALID"])(
	"nor what a request is told that can't be read: %s",
	async (code) => {
		const socket = new PassThrough();
		refuseUnreadable(Object.assign(new Error(), { code }), socket);
		await once(socket, "finish");
		const [head = ""] = (await text(socket)).split("\r\n\r\n");
		for (const [name, value] of Object.entries(callersOnly))
			expect(head.split("\r\n")).toContain(`${name}: ${value}`);
	},
);

test.each([
	["accept-encoding", "accept-encoding, Cookie"],
	["Origin, cookie", "Origin, cookie"],
	["*", "*"],
])("what an answer varies by already stays: %s", async (before, after) => {
	api.get("/v1/other", async (_, reply) =>
		reply.header("vary", before).send("x"),
	);
	const answer = await api.inject({
		url: "/v1/other",
		headers: { authorization: "Bearer t" },
	});
	expect(answer.headers.vary).toBe(after);
});
