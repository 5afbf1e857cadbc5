import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import {
	afterEach,
	beforeEach,
	expect,
	onTestFinished,
	test,
	vi,
} from "vitest";
import type { KubeClient } from "../../packages/kube/client/client.ts";
import type { KubeObject } from "../../packages/kube/resource.ts";
import { createLog } from "../../packages/service/log.ts";
import { SealKey } from "../../packages/service/seal-key.ts";
import {
	EndedHere,
	withoutArchive,
	withoutKeys,
	withoutReceive,
} from "../../test/support/fixtures/control-plane/without-nats.ts";
import { EventStream } from "../http/event-stream.ts";
import { createApi } from "../server.ts";

const soon = { timeout: 60_000 };

let api: ReturnType<typeof createApi>;
let url: string;
let stopping: AbortController;
let objects: KubeObject[];
/** Of which there are none, once they have been listed. */
let runsListed: PromiseWithResolvers<void>;
/** Of the watch that runs: the next event, or none yet. */
let next: PromiseWithResolvers<KubeObject>;

/**
 * An apiserver where a token is the name of a service account, of the namespace `shop` unless another follows it after a dot. It may list
 * and watch everything.
 */
function clientOf(token: string): KubeClient {
	const [name, namespace = "shop"] = token.split(".");
	return {
		raw: async (_: string, path: string) =>
			path.endsWith("selfsubjectrulesreviews")
				? {
						status: {
							resourceRules: [
								{ verbs: ["*"], apiGroups: ["tidemill.dev"], resources: ["*"] },
							],
						},
					}
				: {
						status: {
							userInfo: {
								username: `system:serviceaccount:${namespace}:${name}`,
								groups: ["system:serviceaccounts"],
							},
						},
					},
		rawText: async () => "ok",
		list: async ({ plural }: { plural: string }) => {
			if (plural === "runs") await runsListed.promise;
			return {
				items: plural === "runs" ? [] : structuredClone(objects),
				metadata: { resourceVersion: "1" },
			};
		},
		async *watch(_: unknown, { signal }: { signal: AbortSignal }) {
			const gone = once(signal, "abort").then(() => undefined);
			for (;;) {
				const object = await Promise.race([next.promise, gone]);
				if (!object) return;
				next = Promise.withResolvers();
				yield { type: "MODIFIED", object };
			}
		},
	} as unknown as KubeClient;
}

beforeEach(async () => {
	objects = [];
	runsListed = Promise.withResolvers();
	next = Promise.withResolvers();
	await serve(3);
});

async function serve(limit: number): Promise<void> {
	stopping = new AbortController();
	const log = createLog("test");
	log.level = "silent";
	api = createApi({
		clientFor: clientOf,
		rateLimit: { limit, windowMs: 3_600_000 },
		idempotency: withoutKeys,
		archive: withoutArchive,
		receive: withoutReceive,
		console: {
			directory: "/nowhere",
			keys: new SealKey(randomBytes(32)),
			hosts: new Set(["127.0.0.1"]),
			ended: new EndedHere(),
			version: "1.2.3",
		},
		log,
		stopping: stopping.signal,
	});
	url = await api.listen({ host: "127.0.0.1", port: 0 });
}

afterEach(stop);

async function stop(): Promise<void> {
	stopping.abort();
	await api.close();
}

function source(name: string, displayName: string, version: number) {
	return {
		metadata: {
			name,
			namespace: "shop",
			uid: name,
			resourceVersion: String(version),
			creationTimestamp: "2026-03-01T12:00:00Z",
		},
		spec: { displayName },
	} as KubeObject;
}

async function open(
	token: string,
	kinds = "sources",
): Promise<IncomingMessage> {
	const request = get(`${url}/v1/changes?kinds=${kinds}`, {
		headers: { authorization: `Bearer ${token}` },
	});
	const [answer] = (await once(request, "response")) as [IncomingMessage];
	return answer;
}

async function readUntil(answer: IncomingMessage, until: string) {
	let text = "";
	answer.setEncoding("utf8");
	for await (const chunk of answer) {
		text += chunk;
		if (text.includes(until)) break;
	}
	return text;
}

test("a reader that takes nothing for a while is told of each object once, as it is then", async () => {
	const large = "x".repeat(100_000);
	objects = Array.from({ length: 100 }, (_, n) => source(`s-${n}`, large, 1));
	const slow = await open("slow");
	slow.pause();
	const quick = await open("quick");
	quick.setEncoding("utf8");
	let seen = "";
	quick.on("data", (chunk) => {
		seen = (seen + chunk).slice(-2_000_000);
	});
	await expect.poll(() => seen.includes("event: ready"), soon).toBe(true);
	for (let version = 2; version <= 60; version++) {
		next.resolve(source("s-0", `${version}-${large}`, version));
		await expect
			.poll(() => seen.includes(`"displayName":"${version}-x`), soon)
			.toBe(true);
	}
	const text = await readUntil(slow, '"displayName":"60-x');
	expect(text).not.toContain("event: end");
	expect(text.match(/"name":"s-0"/g)!.length).toBeLessThan(60);
	quick.destroy();
});

test("an object of more than 64 KiB goes to eight readers of an account at a time, and another account waits for none of them", async () => {
	await stop();
	await serve(100);
	const taken = Promise.withResolvers<void>();
	let sent = 0;
	const whenRead = vi
		.spyOn(EventStream.prototype, "whenRead")
		.mockImplementation(async (withinMs) => {
			if (withinMs === undefined) return;
			sent++;
			await taken.promise;
		});
	onTestFinished(() => whenRead.mockRestore());
	objects = [source("large", "x".repeat(70_000), 1)];
	const readers = await Promise.all(
		Array.from({ length: 12 }, (_, n) => open(`r-${n}`)),
	);
	await expect.poll(() => sent, soon).toBe(8);
	const stranger = await open("one.billing");
	await expect.poll(() => sent, soon).toBe(9);
	taken.resolve();
	for (const reader of [...readers, stranger])
		expect(await readUntil(reader, "event: ready")).toContain('"large"');
	expect(sent).toBe(13);
});

test("a kind of thousands, which takes long to list, holds up no other", async () => {
	objects = [source("one", "One", 1)];
	const answer = await open("one", "runs,sources");
	let text = "";
	answer.setEncoding("utf8");
	answer.on("data", (chunk) => {
		text += chunk;
	});
	const said = () =>
		[...text.matchAll(/^event: (.*)\ndata: (.*)$/gm)].map(
			([, event, data]) => `${event} ${JSON.parse(data!).kind ?? ""}`,
		);
	const sources = ["object sources", "listed sources"];
	await expect.poll(said, soon).toEqual(sources);
	next.resolve(source("one", "Another", 2));
	runsListed.resolve();
	await expect
		.poll(said, soon)
		.toEqual([...sources, "object sources", "listed runs", "ready "]);
	answer.destroy();
});

test("streams of changes spend none of the account's rate limit, and have one of their own", async () => {
	const list = () =>
		fetch(`${url}/v1/sources`, { headers: { authorization: "Bearer one" } });
	const answers = [];
	for (let i = 0; i < 4; i++) answers.push(await open("one"));
	expect(answers.map(({ statusCode }) => statusCode)).toEqual([
		200, 200, 200, 429,
	]);
	for (const answer of answers) answer.destroy();
	const { status, headers } = await list();
	expect(status).toBe(200);
	expect(headers.get("x-ratelimit-remaining")).toBe("2");
});

test("what the console's pages ask spends none of the account's rate limit", async () => {
	const page = {
		"tidemill-console": "1",
		"sec-fetch-site": "same-origin",
		origin: url,
	};
	const signedIn = await fetch(`${url}/console/session`, {
		method: "POST",
		headers: { ...page, "content-type": "application/json" },
		body: JSON.stringify({ token: "one" }),
	});
	expect(signedIn.status).toBe(200);
	// Others remove what a longer session would have left.
	const cookie = signedIn.headers
		.getSetCookie()
		.find((one) => one.startsWith("tidemill-console="))!
		.split(";")[0]!;
	const ask = async (headers: Record<string, string>) => {
		const answer = await fetch(`${url}/v1/sources`, { headers });
		return [answer.status, answer.headers.get("x-ratelimit-remaining")];
	};
	const token = { authorization: "Bearer one" };
	const before = await ask(token);
	const asked = [];
	for (let i = 0; i < 4; i++) asked.push(await ask({ ...page, cookie }));
	// Of 20 times the limit.
	expect(asked).toEqual([
		[200, "59"],
		[200, "58"],
		[200, "57"],
		[200, "56"],
	]);
	expect([before, await ask(token)]).toEqual([
		[200, "1"],
		[200, "0"],
	]);
});

test("when the API stops, the stream says so and ends", async () => {
	const answer = await open("one");
	stopping.abort();
	expect(await readUntil(answer, "event: end")).toContain("event: end");
});
