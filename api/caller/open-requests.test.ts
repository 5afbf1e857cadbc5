import fastify, { type FastifyInstance } from "fastify";
import { afterEach, expect, test } from "vitest";
import type { RequestError } from "../http/errors.ts";
import { OpenRequests } from "./open-requests.ts";

const kibibyte = 1024;
let api: FastifyInstance;

/** An API whose callers name their account, and the length of the answer that they want. It answers when `go` is settled. */
function serve(
	room: number,
	go: () => Promise<void> = async () => {},
	maxConnections = 100,
) {
	api = fastify({ bodyLimit: 10_000 * kibibyte });
	const maxBodyBytes = 100 * kibibyte;
	const requests = new OpenRequests(
		{ maxConnections, maxLargeBytes: room },
		maxBodyBytes,
	);
	api.addHook("onRequest", async (request, reply) =>
		requests.open(request, reply, String(request.headers.account)),
	);
	requests.countAnswers(api);
	api.setErrorHandler<RequestError>(({ status = 500, message }, _, reply) =>
		reply.code(status).send(message),
	);
	api.addContentTypeParser("*", { parseAs: "string" }, async () => undefined);
	api.route<{ Querystring: { length: number } }>({
		method: ["GET", "POST"],
		url: "/",
		handler: async ({ query }) => {
			await go();
			return "x".repeat(query.length ?? 0);
		},
	});
	return (account: string, body: string | undefined, length = 0) =>
		api
			.inject({
				method: body === undefined ? "GET" : "POST",
				url: `/?length=${length}`,
				headers: { account, "content-type": "text/plain" },
				...(body !== undefined && { body }),
			})
			.then(({ statusCode }) => statusCode);
}

afterEach(() => api.close());

test("one account's large bodies take half of the room until they are answered, another account has its own, and small ones go on", async () => {
	const { promise, resolve } = Promise.withResolvers<void>();
	const send = serve(400 * kibibyte, () => promise);
	const large = "x".repeat(100 * kibibyte);
	const open = [send("shop", large), send("shop", large)];
	const beyond = send("shop", large);
	open.push(send("bakery", large), send("shop", "small"));
	resolve();
	expect(await beyond).toBe(429);
	expect(await Promise.all(open)).toEqual([200, 200, 200, 200]);
	expect(await send("shop", large)).toBe(200);
});

test("an answer beyond an account's share is refused, and keeps nothing", async () => {
	const send = serve(400 * kibibyte);
	expect(await send("shop", undefined, 201 * kibibyte)).toBe(429);
	for (let i = 0; i < 3; i++)
		expect(await send("shop", undefined, 200 * kibibyte)).toBe(200);
});

test("what a write did is told in any case", async () => {
	const send = serve(400 * kibibyte);
	expect(await send("shop", "small", 300 * kibibyte)).toBe(200);
	expect(await send("shop", undefined, 200 * kibibyte)).toBe(200);
});

test("who is refused is told whether other requests or this one alone is too much", async () => {
	const { promise, resolve } = Promise.withResolvers<void>();
	serve(400 * kibibyte, () => promise, 2);
	const ask = async (kibibytes: number) =>
		(
			await api.inject({
				url: `/?length=${kibibytes * kibibyte}`,
				headers: { account: "shop" },
			})
		).payload;
	const open = ask(201);
	expect(await ask(0)).toMatch(/^1 request is open; /);
	resolve();
	expect(await open).toMatch(
		/^This request's body or answer is larger than an account may have now\. Ask for less/,
	);
});
