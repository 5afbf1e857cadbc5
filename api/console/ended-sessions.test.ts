import { randomBytes } from "node:crypto";
import { once } from "node:events";
import type { FastifyInstance } from "fastify";
import pino from "pino";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { KubeClient } from "../../packages/kube/client/client.ts";
import { SealKey } from "../../packages/service/seal-key.ts";
import {
	EndedHere,
	withoutArchive,
	withoutKeys,
	withoutReceive,
} from "../../test/support/fixtures/control-plane/without-nats.ts";
import { callersOnly } from "../http/callers-only.ts";
import { createApi } from "../server.ts";
import { LiveSessions } from "./ended-sessions.ts";

const host = "127.0.0.1";
const ownPage = {
	host,
	"tidemill-console": "1",
	"sec-fetch-site": "same-origin",
	origin: `http://${host}`,
	"tidemill-account": "shop",
};
/** An apiserver where everybody may do everything, and watches say nothing. */
const client = {
	raw: async (_: string, path: string) => ({
		status: path.includes("accessreviews")
			? { allowed: true }
			: path.includes("rulesreviews")
				? {
						resourceRules: [
							{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] },
						],
					}
				: { userInfo: { username: "ada", groups: [] } },
	}),
	rawText: async () => "ok",
	list: async () => ({ items: [], metadata: {} }),
	async *watch(...args: unknown[]) {
		const signal = args.find((arg) => arg instanceof AbortSignal);
		if (signal && !signal.aborted) await once(signal, "abort");
	},
} as unknown as KubeClient;

let ended: EndedHere;
let replicas: [FastifyInstance, FastifyInstance];

beforeEach(() => {
	ended = new EndedHere();
	const keys = new SealKey(randomBytes(32));
	const replica = () =>
		createApi({
			clientFor: () => client,
			rateLimit: { limit: 1_000, windowMs: 60_000, now: () => 0 },
			idempotency: withoutKeys,
			archive: withoutArchive,
			receive: withoutReceive,
			console: {
				directory: "/nowhere",
				...{ keys, ended, version: "1.2.3", reviewEveryMs: 10 },
				hosts: new Set([host]),
			},
			log: pino({ level: "silent" }),
			stopping: new AbortController().signal,
		});
	replicas = [replica(), replica()];
});

afterEach(() => Promise.all(replicas.map((api) => api.close())));

/** The headers of a browser that has signed in, of which a thief may have a copy. */
async function signedIn() {
	const answer = await replicas[0].inject({
		...{ method: "POST", url: "/console/session", headers: ownPage },
		payload: { token: "t" },
	});
	const [cookie] = answer.cookies.filter(({ value }) => value !== "");
	return { ...ownPage, cookie: `${cookie!.name}=${cookie!.value}` };
}

const signOut = (headers: object) =>
	replicas[0].inject({
		...{ method: "DELETE", url: "/console/session" },
		headers: headers as never,
	});

const statusesOf = (headers: object) =>
	Promise.all(
		replicas.flatMap((api) =>
			["/v1/sources", "/console/session"].map(async (url) => {
				const answer = await api.inject({ url, headers: headers as never });
				expect(answer.headers, url).toMatchObject(callersOnly);
				return answer.statusCode;
			}),
		),
	);

test("a copied cookie opens nothing at any replica once its visitor has signed out; another session goes on", async () => {
	const [visitor, other] = [await signedIn(), await signedIn()];
	expect(await statusesOf(visitor)).toEqual([200, 200, 200, 200]);
	const answer = await signOut(visitor);
	expect(answer.statusCode).toBe(204);
	expect(answer.headers).toMatchObject(callersOnly);
	expect(await statusesOf(visitor)).toEqual([401, 401, 401, 401]);
	expect(await statusesOf(other)).toEqual([200, 200, 200, 200]);
	// It ends nothing else, and again it is no mistake.
	expect((await signOut(visitor)).statusCode).toBe(204);
});

test("a stream that the copied cookie has opened is cut", async () => {
	const visitor = await signedIn();
	const answer = await replicas[1].inject({
		url: "/v1/changes",
		headers: visitor,
		payloadAsStream: true,
	});
	expect(answer.statusCode).toBe(200);
	const stream = answer.stream().resume();
	const over = new Promise((resolve) => {
		stream.once("close", resolve).once("error", resolve).once("end", resolve);
	});
	await signOut(visitor);
	await over;
});

test("while NATS is away, a session that was known a moment ago goes on, any other is 503, and a sign-out says until when a copy works", async () => {
	const [known, unknown] = [await signedIn(), await signedIn()];
	expect(await statusesOf(known)).toEqual([200, 200, 200, 200]);
	ended.isAway = true;
	expect(await statusesOf(known)).toEqual([200, 200, 200, 200]);
	expect(await statusesOf(unknown)).toEqual([503, 503, 503, 503]);
	// Programs don't need it.
	const program = { authorization: "Bearer t", "tidemill-account": "shop" };
	expect(await statusesOf(program)).toEqual([200, 200, 200, 200]);
	const answer = await signOut(known);
	expect(answer.statusCode).toBe(503);
	expect(answer.json().detail).toMatch(
		/copy of the session's cookie works until 2\d{3}-/,
	);
	expect(answer.cookies.map(({ value }) => value)).toEqual(["", "", "", ""]);
	// The replica that was told of it no longer trusts what it knew.
	expect((await statusesOf(known)).slice(0, 2)).toEqual([503, 503]);
});

test("what was known is trusted for a minute", async () => {
	let now = 0;
	const live = new LiveSessions(ended, () => now);
	expect(await live.has("a")).toBe(true);
	ended.isAway = true;
	now = 59_999;
	expect(await live.has("a")).toBe(true);
	now = 60_000;
	await expect(live.has("a")).rejects.toMatchObject({ code: "Unavailable" });
});

test("another page ends no session", async () => {
	const visitor = await signedIn();
	for (const forged of [
		{ "sec-fetch-site": "cross-site" },
		{ origin: "https://evil.example" },
		{ "tidemill-console": "" },
	])
		expect((await signOut({ ...visitor, ...forged })).statusCode).toBe(403);
	expect(await statusesOf(visitor)).toEqual([200, 200, 200, 200]);
});

test("a session of a token without an end is over after a working day", async () => {
	const { cookie, ...headers } = await signedIn();
	const answer = await replicas[0].inject({
		url: "/console/session",
		headers: { ...headers, cookie },
	});
	const leftMs = Date.parse(answer.json().expiresAt) - Date.now();
	expect(leftMs / 3_600_000).toBeCloseTo(12, 1);
});
