// In make test: test/control-plane/api.laptop.test.ts
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import {
	afterAll,
	beforeAll,
	describe,
	expect,
	inject,
	onTestFinished,
	test,
	vi,
} from "vitest";
import {
	type Destination,
	destinationKind,
	type Source,
	sourceKind,
} from "../../crds/generated/types.ts";
import { KubeClient } from "../../packages/kube/client/client.ts";
import { loadKubeConfig } from "../../packages/kube/client/kube-config.ts";
import { kinds } from "../../packages/kube/kinds.ts";
import type { KubeObject, ResourceKind } from "../../packages/kube/resource.ts";
import { uselessKey } from "../support/doubles/bigquery/service-account.ts";
import {
	type ApiClient,
	apiClient,
	startAccountApi,
	startApi,
	type TestApi,
} from "../support/fixtures/control-plane/api-fixture.ts";

/* What an answer waits for: the operator's verdict, the result of a request, or nothing in a dry run. */

const admin = KubeClient.fromConfig(loadKubeConfig(inject("kubeconfig")));
const duckDB = { type: "DuckDB", duckDB: { path: "a.duckdb" } };

let api: TestApi;
let account: string;
let editor: ApiClient;
let viewer: ApiClient;
/** The editor, whose answers wait for the operator. */
let patient: ApiClient;
let patientApi: TestApi;

beforeAll(async () => {
	const made = await startAccountApi();
	({ api, account, editor, viewer } = made);
	patientApi = await startApi(undefined, { settleWithinMs: 120_000 });
	patient = apiClient(patientApi.url, made.tokens.editor);
});

afterAll(async () => {
	await api?.api.close();
	await patientApi?.api.close();
});

test("new and changed resources are answered with the status that the operator gives them", async () => {
	const name = "the-shop";
	const validate = async (generation: number, status: Source["status"]) => {
		await vi.waitFor(
			async () => {
				const seen = await admin.get<Source>(sourceKind, name, account);
				expect(seen?.metadata.generation).toBe(generation);
			},
			{ timeout: 120_000 },
		);
		await admin.applyStatus<Source>(
			sourceKind,
			{
				metadata: { name, namespace: account },
				status: { observedGeneration: generation, ...status },
			},
			{ fieldManager: "test" },
		);
	};
	const body = { displayName: "The shop", type: "Webhook" };
	const created = patient("POST", "/v1/sources", body);
	const webhookURL = "https://hooks.example/1/2";
	await validate(1, { phase: "Active", webhookURL });
	expect((await created).status).toBe(201);
	expect((await created).body).toMatchObject({
		...{ name, status: "Active", webhookURL },
		...{ generation: 1, observedGeneration: 1 },
	});

	const path = `/v1/sources/${name}`;
	const changed = patient("PATCH", path, { suspend: true });
	await validate(2, { phase: "Suspended", webhookURL });
	expect((await changed).body).toMatchObject({
		...{ status: "Suspended", suspend: true },
		...{ generation: 2, observedGeneration: 2 },
	});
	// Nobody validates the next change.
	const prefer = { prefer: "respond-async" };
	const asked = await patient("PATCH", path, { suspend: false }, prefer);
	expect(asked.body).toMatchObject({
		...{ status: "Suspended", suspend: false },
		...{ generation: 3, observedGeneration: 2 },
	});
});

describe("what the operator does on request", () => {
	const annotations = async (kind: ResourceKind<KubeObject>) =>
		(await admin.get(kind, "asked", account))?.metadata.annotations ?? {};

	test("another URL of a source, which the answer has, and not for readers", async () => {
		await editor("POST", "/v1/sources", { name: "asked", type: "Webhook" });
		const path = "/v1/sources/asked/rotate-url";
		expect((await viewer("POST", path)).status).toBe(403);
		const asked = patient("POST", path);
		const webhookURL = "https://hooks.example/1/new";
		await vi.waitFor(
			async () =>
				expect(await annotations(sourceKind)).toHaveProperty(
					"tidemill.dev/rotate-url",
				),
			{ timeout: 120_000 },
		);
		await admin.applyStatus<Source>(
			sourceKind,
			{
				metadata: { name: "asked", namespace: account },
				status: { phase: "Active", webhookURL },
			},
			{ fieldManager: "test" },
		);
		const { status, body } = await asked;
		expect([status, body.webhookURL]).toEqual([200, webhookURL]);
		const before = await annotations(sourceKind);
		expect((await editor("POST", path)).status).toBe(202);
		expect(await annotations(sourceKind)).not.toEqual(before);
	});

	test("a test event of a source without a credential, as its sender sends it, and not for readers", async () => {
		const received: string[] = [];
		let answer = { status: 200, body: '{"is_success":true,"event_id":"1-2"}' };
		const receive = createServer(async (request, response) => {
			received.push(`${request.method} ${request.url} ${await text(request)}`);
			response.writeHead(answer.status).end(answer.body);
		}).listen(0, "127.0.0.1");
		onTestFinished(() => void receive.close());
		await once(receive, "listening");
		const { port } = receive.address() as AddressInfo;
		const issue = (name: string) =>
			admin.applyStatus<Source>(
				sourceKind,
				{
					metadata: { name, namespace: account },
					status: {
						phase: "Active",
						webhookURL: `http://127.0.0.1:${port}/hooks/a/b`,
					},
				},
				{ fieldManager: "test" },
			);
		const path = "/v1/sources/open/test-event";
		await editor("POST", "/v1/sources", { name: "open", type: "Webhook" });
		expect((await editor("POST", path)).status).toBe(409);
		await issue("open");
		expect((await viewer("POST", path)).status).toBe(403);
		expect(received).toEqual([]);
		expect(await editor("POST", path, { order: 1 })).toMatchObject({
			status: 200,
			body: { name: "open", accepted: true, httpStatus: 200, eventId: "1-2" },
		});
		expect(received).toEqual(['POST /hooks/a/b {"order":1}']);
		const error = { code: "NotAsPlanned", message: "The event differs." };
		answer = {
			status: 400,
			body: JSON.stringify({ is_success: false, error }),
		};
		expect((await editor("POST", path)).body).toEqual({
			name: "open",
			accepted: false,
			httpStatus: 400,
			error,
		});
		const customToken = { token: "a-token-of-20-letters" };
		await editor("POST", "/v1/sources", {
			name: "closed",
			type: "Webhook",
			webhook: { authorization: { type: "CustomToken", customToken } },
		});
		await issue("closed");
		const refused = await editor("POST", "/v1/sources/closed/test-event");
		expect(refused).toMatchObject({ status: 409, body: { code: "Conflict" } });
		expect(refused.body.detail).toContain("Authorization: Bearer");
		expect(received).toHaveLength(2);
	});

	test("another check of a destination", async () => {
		await editor("POST", "/v1/destinations", { name: "asked", ...duckDB });
		const asked = patient("POST", "/v1/destinations/asked/check");
		const request = await vi.waitFor(
			async () => {
				const { "tidemill.dev/check": value } =
					await annotations(destinationKind);
				expect(value).toBeDefined();
				return value!;
			},
			{ timeout: 120_000 },
		);
		await admin.applyStatus<Destination>(
			destinationKind,
			{
				metadata: { name: "asked", namespace: account },
				status: { phase: "Ready", lastCheck: { request, failures: 0 } },
			},
			{ fieldManager: "test" },
		);
		const answer = await asked;
		expect([answer.status, answer.body.lastCheck]).toEqual([
			200,
			{ failures: 0 },
		]);
	});
});

describe("a dry run", () => {
	const dry = "dryRun=true";

	test("makes and changes nothing, and answers as if it did", async () => {
		const path = "/v1/destinations";
		const key = { "idempotency-key": "dry" };
		const body = {
			name: "dry",
			type: "BigQuery",
			bigQuery: {
				projectId: "project-1",
				dataset: "events",
				credentials: { key: uselessKey("dry") },
			},
		};
		const before = await admin.list(kinds.secret, { namespace: account });
		const tried = await patient("POST", `${path}?${dry}`, body, key);
		expect([tried.status, tried.body.name]).toEqual([200, "dry"]);
		const wrongKey = { "idempotency-key": "x".repeat(256) };
		const refused = await editor("POST", `${path}?${dry}`, body, wrongKey);
		expect(refused.body.details).toMatchObject([{ path: "Idempotency-Key" }]);
		expect((await viewer("GET", `${path}/dry`)).status).toBe(404);
		const after = await admin.list(kinds.secret, { namespace: account });
		expect(after.items).toHaveLength(before.items.length);

		await editor("POST", path, { name: "dry", ...duckDB });
		const change = { displayName: "Other" };
		for (const patch of [change, { ...change, duckDB: { path: "x.duckdb" } }]) {
			const changed = await patient("PATCH", `${path}/dry?${dry}`, patch);
			expect([changed.status, changed.body.displayName]).toEqual([
				200,
				"Other",
			]);
		}
		const { body: kept } = await viewer("GET", `${path}/dry`);
		expect(kept).toMatchObject(duckDB);
		expect(kept.displayName).toBeUndefined();
	});

	test("names what is wrong", async () => {
		const path = `/v1/destinations?${dry}`;
		const wrong = { name: "wrong", type: "BigQuery", ...duckDB.duckDB };
		expect((await editor("POST", path, wrong)).status).toBe(400);
		const { status } = await editor(
			"POST",
			path.replace("true", "yes"),
			duckDB,
		);
		expect(status).toBe(400);
	});
});
