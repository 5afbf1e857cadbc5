// In make test: api/http/idempotency-key.test.ts
import { randomBytes } from "node:crypto";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import {
	afterAll,
	afterEach,
	beforeAll,
	beforeEach,
	describe,
	expect,
	inject,
	test,
} from "vitest";
import { NatsRateCounter } from "../../api/caller/rate-counter.ts";
import { NatsEndedSessions } from "../../api/console/ended-sessions.ts";
import { NatsIdempotencyStore } from "../../api/http/idempotency-store.ts";
import { runKind } from "../../crds/generated/types.ts";
import { KubeClient } from "../../packages/kube/client/client.ts";
import { loadKubeConfig } from "../../packages/kube/client/kube-config.ts";
import { kinds } from "../../packages/kube/kinds.ts";
import {
	type ApiClient,
	apiClient,
	newAccount,
	startApi,
	type TestApi,
	tokenOf,
} from "../support/fixtures/control-plane/api-fixture.ts";
import { startNats, type TestNats } from "../support/servers/servers.ts";

const admin = KubeClient.fromConfig(loadKubeConfig(inject("kubeconfig")));
const hourMs = 60 * 60_000;
/** The hours of the clock by which requests are counted begin with this file, which is over before the next one. */
const aheadMs = hourMs - (Date.now() % hourMs);
const duckDB = { type: "DuckDB", duckDB: { path: "a.duckdb" } };

let nats: TestNats;
let account: string;
let tokens: Awaited<ReturnType<typeof newAccount>>["tokens"];
const connections: NatsConnection[] = [];
const replicas: TestApi[] = [];
let limit = 1_000_000;

beforeAll(async () => {
	nats = await startNats();
	({ account, tokens } = await newAccount());
});

afterAll(() => nats.stop());

/** @param patient waits for the count however slow the machine is, instead of counting for itself. */
async function startReplica(patient = false): Promise<TestApi> {
	const url = new URL(nats.urlFor("api"));
	const connected = await connect({
		servers: url.host,
		user: url.username,
		pass: url.password,
		inboxPrefix: "_INBOX_api",
		maxReconnectAttempts: -1,
		reconnectTimeWait: 100,
	});
	connections.push(connected);
	const connection = () => connected;
	const replica = await startApi(undefined, {
		rateLimit: {
			limit,
			windowMs: hourMs,
			shared: new NatsRateCounter({
				connection,
				replicas: 1,
				...(patient && { timeoutMs: 60_000 }),
			}),
			now: () => Date.now() + aheadMs,
		},
		idempotency: new NatsIdempotencyStore({ connection, replicas: 1 }),
	});
	replicas.push(replica);
	return replica;
}

afterEach(async () => {
	for (const { api } of replicas.splice(0)) await api.close();
	for (const connection of connections.splice(0)) await connection.close();
});

describe("a request with an Idempotency-Key", () => {
	let one: ApiClient;
	let two: ApiClient;

	beforeEach(async () => {
		limit = 1_000_000;
		one = apiClient((await startReplica()).url, tokens.editor);
		two = apiClient((await startReplica()).url, tokens.editor);
	});

	test("is carried out once, whichever replicas it comes to", async () => {
		const headers = { "idempotency-key": "make-one" };
		const body = { displayName: "Made once", ...duckDB };
		const post = (ask: ApiClient) =>
			ask("POST", "/v1/destinations", body, headers);
		const answers = await Promise.all([
			...Array.from({ length: 5 }, () => post(one)),
			...Array.from({ length: 5 }, () => post(two)),
		]);
		answers.push(await post(two));
		for (const { status, body, headers } of answers) {
			expect({ status, body }).toEqual({ status: 201, body: answers[0]!.body });
			expect(headers.get("location")).toBe(`/v1/destinations/${body.name}`);
		}
		const { body: list } = await one("GET", "/v1/destinations");
		expect(list.items.map(({ name }) => name)).toEqual([answers[0]!.body.name]);
	});

	test("starts one run", async () => {
		await one("POST", "/v1/pipelines", {
			name: "orders",
			sourceRef: { name: "s" },
			destinationRef: { name: "d" },
		});
		const start = (ask: ApiClient) =>
			ask("POST", "/v1/pipelines/orders/run", undefined, {
				"idempotency-key": "monday",
			});
		const answers = [await start(one), await start(two), await start(one)];
		expect(answers.map(({ status }) => status)).toEqual([202, 202, 202]);
		const { items } = await admin.list(runKind, { namespace: account });
		expect(items).toHaveLength(1);
		const names = new Set(answers.map(({ body }) => body.name));
		expect(names).toEqual(new Set([items[0]!.metadata.name]));
	});

	test("is refused with another body, not at another path or of another user", async () => {
		const key = { "idempotency-key": "shared" };
		const make = (ask: ApiClient, path: string, name: string) =>
			ask("POST", path, { name, ...duckDB }, key);
		expect((await make(one, "/v1/destinations", "a")).status).toBe(201);
		const other = await make(two, "/v1/destinations", "b");
		expect([other.status, other.body.code]).toEqual([409, "Conflict"]);
		const plan = { name: "a", eventType: { constant: "x" } };
		expect((await two("POST", "/v1/tracking-plans", plan, key)).status).toBe(
			201,
		);
		const viewer = apiClient(replicas[0]!.url, tokens.viewer);
		expect((await make(viewer, "/v1/destinations", "c")).status).toBe(403);
	});

	test("is not answered with a resource that another request made under the same name", async () => {
		await one("POST", "/v1/destinations", { name: "taken", ...duckDB });
		const { status } = await one(
			"POST",
			"/v1/destinations",
			{ name: "taken", ...duckDB },
			{ "idempotency-key": "late" },
		);
		expect(status).toBe(409);
	});

	test("makes nothing a second time when that was deleted", async () => {
		const key = { "idempotency-key": "deleted" };
		const body = { name: "short-lived", ...duckDB };
		await one("POST", "/v1/destinations", body, key);
		await one("DELETE", "/v1/destinations/short-lived");
		expect((await two("POST", "/v1/destinations", body, key)).status).toBe(404);
	});

	test("is 503 while NATS is away, others are not", async () => {
		await nats.kill();
		const body = { name: "without-nats", ...duckDB };
		const keyed = await one("POST", "/v1/destinations", body, {
			"idempotency-key": "away",
		});
		expect([keyed.status, keyed.body.code]).toEqual([503, "Unavailable"]);
		expect(keyed.headers.get("retry-after")).toBe("2");
		expect((await one("POST", "/v1/destinations", body)).status).toBe(201);
		await nats.start();
	});

	test.each(["", "x".repeat(256), "é"])(
		"a key of %j is refused",
		async (key) => {
			const { status, body } = await one("POST", "/v1/destinations", duckDB, {
				"idempotency-key": key,
			});
			expect(status).toBe(400);
			expect(body.details).toMatchObject([{ path: "Idempotency-Key" }]);
		},
	);
});

describe("the rate limit", () => {
	test("holds across replicas within 10 %, and every answer says where one is", async () => {
		limit = 50;
		const token = await tokenOfNewAccount("tidemill-runner");
		const both = [await startReplica(true), await startReplica(true)];
		const clients = both.map(({ url }) => apiClient(url, token));
		const answers = await Promise.all(
			Array.from({ length: 80 }, (_, index) =>
				clients[index % 2]!("GET", "/v1/runs"),
			),
		);
		const passed = answers.filter(({ status }) => status === 200).length;
		expect(passed).toBeGreaterThanOrEqual(45);
		expect(passed).toBeLessThanOrEqual(55);
		for (const { status, headers, body } of answers) {
			expect(headers.get("x-ratelimit-limit")).toBe("50");
			expect(Number(headers.get("x-ratelimit-remaining"))).toBeLessThan(50);
			const reset = Number(headers.get("x-ratelimit-reset"));
			expect(reset).toBeGreaterThan(0);
			expect(reset).toBeLessThanOrEqual(3600);
			if (status === 200) continue;
			expect([status, body.code]).toEqual([429, "RateLimited"]);
			expect(Number(headers.get("retry-after"))).toBe(reset);
		}
	});

	test("counts callers without a token by address, apart from callers with one", async () => {
		limit = 3;
		const { url } = await startReplica(true);
		const viewer = apiClient(url, await tokenOfNewAccount("tidemill-viewer"));
		expect((await viewer("GET", "/v1/none")).status).toBe(404);
		const remaining: (string | null)[] = [];
		for (const token of ["wrong", "wrong too", "", "more"]) {
			const { status, headers } = await apiClient(url, token)(
				"GET",
				"/v1/runs",
			);
			remaining.push(`${status} ${headers.get("x-ratelimit-remaining")}`);
		}
		expect(remaining).toEqual(["401 2", "401 1", "401 0", "429 0"]);
		const known = await viewer("GET", "/v1/runs");
		const left = known.headers.get("x-ratelimit-remaining");
		expect([known.status, left]).toEqual([200, "1"]);
		// A valid token is accepted, also one that the replica sees for the first time.
		const newcomer = apiClient(url, await tokenOfNewAccount());
		const { status, body } = await newcomer("GET", "/v1/runs");
		expect([status, body.code]).toEqual([403, "Forbidden"]);
	});

	test("is the account's: more service accounts and tokens are no more requests", async () => {
		limit = 3;
		const made = await newAccount();
		const { url } = await startReplica(true);
		const remaining: (string | null)[] = [];
		for (const role of ["viewer", "editor", "runner", "nobody"] as const) {
			const ask = apiClient(url, made.tokens[role]);
			const { status, headers } = await ask("GET", "/v1/none");
			remaining.push(`${status} ${headers.get("x-ratelimit-remaining")}`);
		}
		expect(remaining).toEqual(["404 2", "404 1", "404 0", "429 0"]);
		const other = apiClient(url, await tokenOfNewAccount());
		expect((await other("GET", "/v1/none")).status).toBe(404);
	});

	test("holds in each replica while NATS is away", async () => {
		limit = 5;
		const ask = apiClient(
			(await startReplica()).url,
			await tokenOfNewAccount(),
		);
		expect((await ask("GET", "/v1/runs")).status).toBe(403);
		await nats.kill();
		const statuses = [];
		for (let index = 0; index < 5; index++)
			statuses.push((await ask("GET", "/v1/runs")).status);
		expect(statuses).toEqual([403, 403, 403, 403, 429]);
		await nats.start();
	});
});

/** Of an account that nothing was counted for. */
async function tokenOfNewAccount(...roles: string[]): Promise<string> {
	const name = `rated-${randomBytes(4).toString("hex")}`;
	await admin.create(kinds.namespace, { metadata: { name } });
	return tokenOf(name, "caller", ...roles);
}

test("a session that one replica has ended, as the NATS user api, is over at another", async () => {
	await Promise.all([startReplica(), startReplica()]);
	const [here, there] = connections
		.slice(-2)
		.map(
			(one) => new NatsEndedSessions({ connection: () => one, replicas: 1 }),
		);
	expect(await there!.has("a")).toBe(false);
	await here!.add("a");
	expect(await there!.has("a")).toBe(true);
	expect(await there!.has("b")).toBe(false);
});
