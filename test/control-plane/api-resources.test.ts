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
import { KubeClient } from "../../kube/client/client.ts";
import { loadKubeConfig } from "../../kube/client/kube-config.ts";
import { kinds } from "../../kube/kinds.ts";
import type { KubeObject, ResourceKind } from "../../kube/resource.ts";
import { uselessKey } from "../support/doubles/bigquery/service-account.ts";
import {
	type ApiClient,
	apiClient,
	newAccount,
	startApi,
	type TestApi,
} from "../support/fixtures/control-plane/api-fixture.ts";
import { kubectlDone } from "../support/servers/kubectl.ts";

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
	api = await startApi();
	patientApi = await startApi(undefined, { settleWithinMs: 120_000 });
	const made = await newAccount();
	account = made.account;
	editor = apiClient(api.url, made.tokens.editor);
	viewer = apiClient(api.url, made.tokens.viewer);
	patient = apiClient(patientApi.url, made.tokens.editor);
});

afterAll(async () => {
	await api.api.close();
	await patientApi.api.close();
});

describe.each([
	["destinations", duckDB, { duckDB: { path: "b.duckdb" } }],
	[
		"pipelines",
		{ sourceRef: { name: "s" }, destinationRef: { name: "d" } },
		{ schedule: { type: "Interval", interval: "15m" } },
	],
	[
		"operations",
		{
			type: "Draft",
			sourceRef: { name: "s" },
			eventType: { constant: "order" },
		},
		{ cancel: true },
	],
	[
		"tracking-plans",
		{
			eventType: { constant: "order" },
			common: { properties: { any: { $comment: "schema" } } },
		},
		{ onViolation: "Reject", common: { properties: { other: {} } } },
	],
] as const)("%s", (collection, fields, changes) => {
	const path = `/v1/${collection}`;

	test("are made, shown, changed and deleted", async () => {
		const created = await editor("POST", path, { name: "one", ...fields });
		expect(created.status).toBe(201);
		expect(created.headers.get("location")).toBe(`${path}/one`);
		expect(created.headers.get("etag")).toBe('"1"');
		expect(created.body).toMatchObject({ name: "one", ...fields });

		const shown = await viewer("GET", `${path}/one`);
		expect(shown.body).toEqual(created.body);
		expect((await viewer("GET", path)).body.items).toEqual([shown.body]);

		const changed = await editor("PATCH", `${path}/one`, changes);
		expect(changed.status).toBe(200);
		expect(changed.headers.get("etag")).toBe('"2"');
		expect(changed.body).toMatchObject(changes);

		const deleted = await editor("DELETE", `${path}/one`);
		expect(deleted.status).toBe(204);
		expect(deleted.body.text).toBe("");
		expect((await viewer("GET", `${path}/one`)).status).toBe(404);
		expect((await editor("DELETE", `${path}/one`)).status).toBe(404);
		expect((await editor("PATCH", `${path}/one`, {})).status).toBe(404);
	});

	test("are not for viewers to change", async () => {
		await editor("POST", path, { name: "two", ...fields });
		const answers = [
			await viewer("POST", path, { name: "three", ...fields }),
			await viewer("PATCH", `${path}/two`, changes),
			await viewer("DELETE", `${path}/two`),
		];
		expect(answers.map(({ status }) => status)).toEqual([403, 403, 403]);
	});

	test("get a name that people recognise", async () => {
		const body = { displayName: "Öffentlicher Name!", ...fields };
		const first = await editor("POST", path, body);
		expect(first.body.name).toBe("offentlicher-name");
		const second = await editor("POST", path, body);
		expect(second.body.name).toMatch(/^offentlicher-name-[0-9a-f]{6}$/);
		const third = await editor("POST", path, fields);
		expect(third.body.name).toBe(collection.slice(0, -1));
	});

	test("keep their name", async () => {
		const taken = await editor("POST", path, { name: "kept", ...fields });
		expect(taken.status).toBe(201);
		const again = await editor("POST", path, { name: "kept", ...fields });
		expect([again.status, again.body.code]).toEqual([409, "Conflict"]);
		const renamed = await editor("PATCH", `${path}/kept`, { name: "other" });
		expect(renamed.body.details).toEqual([
			{ path: "name", message: "can't be changed" },
		]);
	});
});

test("new and changed resources are answered with the status that the operator gives them", async () => {
	const name = "the-shop";
	const judge = async (generation: number, status: Source["status"]) => {
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
	await judge(1, { phase: "Active", webhookURL });
	expect((await created).status).toBe(201);
	expect((await created).body).toMatchObject({
		...{ name, status: "Active", webhookURL },
		...{ generation: 1, observedGeneration: 1 },
	});

	const path = `/v1/sources/${name}`;
	const changed = patient("PATCH", path, { suspend: true });
	await judge(2, { phase: "Suspended", webhookURL });
	expect((await changed).body).toMatchObject({
		...{ status: "Suspended", suspend: true },
		...{ generation: 2, observedGeneration: 2 },
	});
	// Nobody judges the next change.
	const prefer = { prefer: "respond-async" };
	const asked = await patient("PATCH", path, { suspend: false }, prefer);
	expect(asked.body).toMatchObject({
		...{ status: "Suspended", suspend: false },
		...{ generation: 3, observedGeneration: 2 },
	});
});

test("labels are set, changed, removed and selected by", async () => {
	const path = "/v1/destinations/labelled";
	const made = await editor("POST", "/v1/destinations", {
		name: "labelled",
		labels: { team: "shop", stage: "test" },
		...duckDB,
	});
	expect(made.body.labels).toEqual({ team: "shop", stage: "test" });
	const listed = await editor(
		"GET",
		"/v1/destinations?labelSelector=team=shop",
	);
	expect(listed.body.items.map(({ name }) => name)).toEqual(["labelled"]);
	const patched = await editor("PATCH", path, {
		labels: { stage: null, tier: "1" },
	});
	expect(patched.body.labels).toEqual({ team: "shop", tier: "1" });
	const headers = { "if-match": String(patched.headers.get("etag")) };
	const matched = await editor(
		"PATCH",
		path,
		{ labels: { tier: "2" } },
		headers,
	);
	expect(matched.body.labels).toEqual({ team: "shop", tier: "2" });
	const kept = await editor("PUT", path, duckDB);
	expect(kept.body.labels).toEqual({ team: "shop", tier: "2" });
	const replaced = await editor("PUT", path, { ...duckDB, labels: { a: "b" } });
	expect(replaced.body.labels).toEqual({ a: "b" });
	for (const [labels, field] of [
		[{ a: 1 }, 'labels["a"]'],
		["a", "labels"],
		[{ a: "no spaces" }, "labels"],
	] as const) {
		const refused = await editor("PATCH", path, { labels });
		expect(refused.status).toBe(400);
		expect(refused.body.details[0]!.path).toBe(field);
	}
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
		const customToken = { token: "a-long-token" };
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

test("lists are limited to a type, a status, what is referred to, and labels", async () => {
	const names = async (path: string) => {
		const { status, body } = await viewer("GET", path);
		return status === 200 ? body.items.map(({ name }) => name) : body.details;
	};
	await editor("POST", "/v1/destinations", { name: "filtered", ...duckDB });
	await admin.applyStatus<Destination>(
		destinationKind,
		{
			metadata: { name: "filtered", namespace: account },
			status: { phase: "Error" },
		},
		{ fieldManager: "test" },
	);
	await kubectlDone([
		...["label", "destination", "filtered", "team=filters"],
		`--namespace=${account}`,
	]);
	const refs = {
		sourceRef: { name: "filters" },
		destinationRef: { name: "filtered" },
	};
	await editor("POST", "/v1/pipelines", { name: "filtered", ...refs });
	expect(await names("/v1/destinations?status=Error")).toEqual(["filtered"]);
	expect(await names("/v1/destinations?status=Error&type=BigQuery")).toEqual(
		[],
	);
	expect(await names("/v1/destinations?labelSelector=team%3Dfilters")).toEqual([
		"filtered",
	]);
	expect(await names("/v1/destinations?labelSelector=a%20b")).toMatchObject([
		{ path: "labelSelector" },
	]);
	expect(await names("/v1/pipelines?source=filters")).toEqual(["filtered"]);
	expect(await names("/v1/pipelines?destination=filtered")).toEqual([
		"filtered",
	]);
	expect(await names("/v1/sources?type=Kafka")).toMatchObject([
		{ path: "type", message: 'must be one of Webhook, not "Kafka"' },
	]);
});

test("a resource that others use is deleted only by force", async () => {
	await editor("POST", "/v1/destinations", { name: "used", ...duckDB });
	for (const name of ["user-a", "user-b"])
		await editor("POST", "/v1/pipelines", {
			name,
			sourceRef: { name: "any" },
			destinationRef: { name: "used" },
		});
	const refused = await editor("DELETE", "/v1/destinations/used");
	expect([refused.status, refused.body.code]).toEqual([409, "InUse"]);
	expect(refused.body.detail).toContain(
		'The destination "used" is used by the pipelines "user-a", "user-b".',
	);
	const forced = await editor("DELETE", "/v1/destinations/used?force=true");
	expect(forced.status).toBe(204);

	const webhook = { trackingPlanRef: { name: "used" } };
	await editor("POST", "/v1/tracking-plans", {
		name: "used",
		eventType: { constant: "x" },
	});
	await editor("POST", "/v1/sources", {
		name: "user",
		type: "Webhook",
		webhook,
	});
	const plan = await editor("DELETE", "/v1/tracking-plans/used");
	expect(plan.body.detail).toContain('is used by the sources "user"');
});

test.each([
	["sources", { type: "Webhook", webhook: { maxBodyBytes: 2048 } }],
	["destinations", { ...duckDB, displayName: "Dateien" }],
	[
		"pipelines",
		{
			displayName: "Täglich",
			sourceRef: { name: "s" },
			destinationRef: { name: "d" },
			schedule: { type: "Daily", updateTime: "06:30" },
		},
	],
	[
		"tracking-plans",
		{ eventType: { constant: "order" }, common: { properties: { a: true } } },
	],
])(
	"of %s, what was made by REST, exported, deleted and applied again is shown the same",
	async (collection, fields) => {
		const path = `/v1/${collection}`;
		const created = await editor("POST", path, { name: "exported", ...fields });
		expect(created.status).toBe(201);
		const object = [collection.replace("-", ""), "exported"];
		const inAccount = `--namespace=${account}`;
		const yaml = await kubectlDone(["get", ...object, inAccount, "-o=yaml"]);
		await kubectlDone(["delete", ...object, inAccount]);
		await kubectlDone(["apply", "--filename=-"], yaml);
		const { body } = await viewer("GET", `${path}/exported`);
		const another = { id: "", createTime: "", updateTime: "" };
		expect({ ...body, ...another }).toEqual({ ...created.body, ...another });
		expect(body.id).not.toBe(created.body.id);
	},
);

test("the tool that keeps a resource in step with a repository is named", async () => {
	await kubectlDone(
		["apply", "--filename=-"],
		JSON.stringify({
			apiVersion: "tidemill.dev/v1alpha1",
			kind: "Destination",
			metadata: {
				name: "by-argo",
				namespace: account,
				annotations: { "argocd.argoproj.io/tracking-id": "x" },
			},
			spec: duckDB,
		}),
	);
	const { body } = await viewer("GET", "/v1/destinations/by-argo");
	expect(body.managedBy).toBe("ArgoCD");
});

test("a deletion that the operator holds up is 202 and shows what is left", async () => {
	await editor("POST", "/v1/destinations", { name: "held", ...duckDB });
	const path = "/v1/destinations/held";
	await finalizers(["tidemill.dev/cleanup"]);
	expect((await editor("DELETE", path)).status).toBe(202);
	await finalizers([]);
	expect((await editor("GET", path)).status).toBe(404);

	function finalizers(list: string[]) {
		const metadata = { finalizers: list };
		return admin.patch(destinationKind, "held", account, { metadata }, "merge");
	}
});
