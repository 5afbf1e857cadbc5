import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import {
	type Pipeline,
	pipelineKind,
	type Run,
	runKind,
	type Source,
	sourceKind,
} from "../../crds/generated/types.ts";
import { KubeClient } from "../../packages/kube/client/client.ts";
import { loadCluster } from "../../packages/kube/client/cluster.ts";
import { loadKubeConfig } from "../../packages/kube/client/kube-config.ts";
import { kinds } from "../../packages/kube/kinds.ts";
import {
	ask,
	startApi,
	type TestApi,
	tokenOf,
} from "../support/fixtures/control-plane/api-fixture.ts";
import { kubectl } from "../support/servers/kubectl.ts";

const kubeConfig = loadKubeConfig(inject("kubeconfig"));
const admin = KubeClient.fromConfig(kubeConfig);
const suffix = randomBytes(4).toString("hex");
const shop = `api-shop-${suffix}`;
const bank = `api-bank-${suffix}`;
const tokens: Record<string, string> = {};

let api: TestApi;

beforeAll(async () => {
	await kubectl([
		"apply",
		`--filename=${join(import.meta.dirname, "../../charts/tidemill/files/rbac/roles.yaml")}`,
	]);
	for (const namespace of [shop, bank]) {
		await admin.create(kinds.namespace, { metadata: { name: namespace } });
		await admin.create<Source>(sourceKind, sourceOf(namespace));
		await admin.create<Pipeline>(pipelineKind, pipelineOf(namespace));
	}
	for (const role of ["viewer", "editor", "runner"])
		tokens[role] = await tokenOf(shop, role, `tidemill-${role}`);
	tokens.nobody = await tokenOf(shop, "nobody");
	api = await startApi();
});

afterAll(() => api.api.close());

describe("authentication", () => {
	test("without a token the answer is 401 and says how to get one", async () => {
		const response = await fetch(`${api.url}/v1/sources`);
		expect(response.status).toBe(401);
		expect(response.headers.get("www-authenticate")).toBe(
			'Bearer realm="tidemill"',
		);
		expect(await response.json()).toEqual({
			type: "/docs#Unauthorized",
			title: "The token is missing or invalid",
			status: 401,
			detail: expect.stringContaining("kubectl create token"),
			instance: `urn:uuid:${response.headers.get("x-request-id")}`,
			code: "Unauthorized",
			details: [],
		});
		expect(response.headers.get("content-type")).toMatch(
			/^application\/problem\+json/,
		);
	});

	test.each([
		["of nobody", "Bearer wrong"],
		["cut short", () => `Bearer ${tokens.viewer!.slice(0, -3)}`],
		["in another scheme", () => `Basic ${tokens.viewer}`],
		["that is two", () => `Bearer ${tokens.viewer} ${tokens.editor}`],
	])("a token %s is 401", async (_, header) => {
		const response = await fetch(`${api.url}/v1/sources`, {
			headers: {
				authorization: typeof header === "string" ? header : header(),
			},
		});
		expect(response.status).toBe(401);
		expect(response.headers.get("www-authenticate")).toContain(
			'error="invalid_token"',
		);
	});

	test("a token without a role is 403, which names the right and a role that has it", async () => {
		const { status, body } = await get("/v1/sources", "nobody");
		expect(status).toBe(403);
		expect(body.detail).toBe(
			`Your token lacks the right "list" on sources in account "${shop}". Ask an administrator to bind a role that has it, such as tidemill-viewer.`,
		);
	});

	test("impersonation headers are not passed on", async () => {
		const { status } = await get("/v1/sources", "nobody", {
			"impersonate-user": "admin",
			"impersonate-group": "system:masters",
		});
		expect(status).toBe(403);
	});

	test("another account can't be reached by naming it", async () => {
		const { status, body } = await get("/v1/sources", "editor", {
			"tidemill-account": bank,
		});
		expect(status).toBe(403);
		expect(JSON.stringify(body)).not.toContain("webhook");
	});

	test("another account can't be reached by a path", async () => {
		for (const name of [
			`..%2F..%2F${bank}%2Fruns%2Forders`,
			"..",
			"%2e%2e",
			"orders%00",
		])
			expect((await get(`/v1/runs/${name}`, "editor")).status).toBe(404);
	});
});

test("sources are those of the token's account, spec and status on one level", async () => {
	await admin.applyStatus<Source>(
		sourceKind,
		{
			...sourceOf(shop),
			status: { phase: "Active", webhookURL: "https://hooks.example/1/2" },
		},
		{ fieldManager: "test" },
	);
	const { status, body } = await get("/v1/sources", "viewer");
	expect(status).toBe(200);
	expect(body).toEqual({
		items: [
			expect.objectContaining({
				name: `of-${shop}`,
				type: "Webhook",
				suspend: false,
				status: "Active",
				webhookURL: "https://hooks.example/1/2",
			}),
		],
		total: 1,
	});
});

test("sources come in pages", async () => {
	await admin.create<Source>(sourceKind, {
		...sourceOf(shop),
		metadata: { name: "zebra", namespace: shop },
	});
	const first = await get("/v1/sources?limit=1", "viewer");
	const second = await get(
		`/v1/sources?limit=1&cursor=${first.body.cursor}`,
		"viewer",
	);
	const names = [first, second].map(({ body }) => body.items[0]?.name);
	expect(names).toEqual([`of-${shop}`, "zebra"]);
	expect(second.body.cursor).toBeUndefined();
	for (const limit of ["0", "1001"])
		expect((await get(`/v1/sources?limit=${limit}`, "viewer")).status).toBe(
			400,
		);
	const foreign = await get("/v1/sources?cursor=x", "viewer");
	expect(foreign.status).toBe(400);
	expect(foreign.body.details).toEqual([
		{
			path: "cursor",
			message: 'must be the cursor of the previous page, not "x"',
		},
	]);
});

describe("starting a run", () => {
	test("makes a Run that kubectl sees, and says where it is", async () => {
		const { status, body, headers } = await post(
			"/v1/pipelines/orders/run",
			"runner",
			{ dates: { start: "2026-01-01", end: "2026-01-02" } },
		);
		expect(status).toBe(202);
		expect(headers.get("location")).toBe(`/v1/runs/${body.name}`);
		expect(body).toMatchObject({ pipeline: "orders", status: "Pending" });

		const run = await admin.get<Run>(runKind, body.name, shop);
		expect(run?.spec).toEqual({
			pipelineRef: { name: "orders" },
			dates: { start: "2026-01-01", end: "2026-01-02" },
		});
		expect(run?.metadata.annotations).toEqual({
			"tidemill.dev/request": headers.get("x-request-id"),
		});
		expect((await get(`/v1/runs/${body.name}`, "runner")).body).toEqual(body);
	});

	test("loads the whole window if it is asked to", async () => {
		const { body } = await post("/v1/pipelines/orders/run", "runner", {
			full: true,
		});
		const run = await admin.get<Run>(runKind, body.name, shop);
		expect(run?.spec).toEqual({ pipelineRef: { name: "orders" }, full: true });
	});

	test("needs no body, whatever content type is named", async () => {
		expect((await post("/v1/pipelines/orders/run", "editor")).status).toBe(202);
		const response = await fetch(`${api.url}/v1/pipelines/orders/run`, {
			method: "POST",
			headers: {
				...bearer("editor"),
				"content-type": "application/json",
			},
		});
		expect(response.status).toBe(202);
	});

	test("is 403 with read permission only", async () => {
		const { status, body } = await post("/v1/pipelines/orders/run", "viewer");
		expect(status).toBe(403);
		expect(body.detail).toContain('the right "create" on runs');
	});

	test("is 404 for a pipeline that is not there", async () => {
		const { status, body } = await post("/v1/pipelines/none/run", "editor");
		expect(status).toBe(404);
		expect(body.detail).toBe(
			`There is no pipeline "none" in account "${shop}".`,
		);
	});

	test("names every wrong field at once", async () => {
		const { status, body } = await post("/v1/pipelines/orders/run", "runner", {
			dates: { start: "2026-02-30" },
			pipeline: "other",
		});
		expect(status).toBe(400);
		expect(
			body.details.map(({ path }: { path: string }) => path).sort(),
		).toEqual(["dates.end", "dates.start", "pipeline"]);
	});

	test("passes on what only the apiserver validates", async () => {
		const { status, body } = await post("/v1/pipelines/orders/run", "runner", {
			dates: { start: "2026-01-02", end: "2026-01-01" },
		});
		expect(status).toBe(400);
		expect(body.details).toEqual([
			{
				path: "dates.start",
				message: expect.stringContaining("start must not be after end"),
			},
		]);
	});

	test.each([
		["text/plain", "{}", 415],
		["application/json", "{", 400],
		["application/json", "[]", 400],
		["application/json", `"${"x".repeat(1_100_000)}"`, 413],
	])(
		"refuses a body of %s like %.5s with its code",
		async (type, body, status) => {
			const response = await fetch(`${api.url}/v1/pipelines/orders/run`, {
				method: "POST",
				headers: {
					...bearer("runner"),
					"content-type": type,
				},
				body,
			});
			expect(response.status).toBe(status);
			expect(await response.json()).toMatchObject({
				status,
				code: expect.any(String),
			});
		},
	);
});

describe("waiting for a run", () => {
	test("is answered when the run ends", async () => {
		const run = await newRun();
		const answer = get(`/v1/runs/${run}?wait=60s`, "runner");
		await setStatus(run, { phase: "Running" });
		await setStatus(run, {
			phase: "Succeeded",
			completionTime: "2026-01-01T00:00:00Z",
			rows: 329,
		});
		expect((await answer).body).toMatchObject({
			status: "Succeeded",
			rows: 329,
		});
	});

	test("is answered as it is when the time is over", async () => {
		const run = await newRun();
		const { status, body } = await get(`/v1/runs/${run}?wait=1s`, "runner");
		expect({ status, phase: body.status }).toEqual({
			status: 200,
			phase: "Pending",
		});
	});

	test("is 404 when the run is deleted meanwhile", async () => {
		const run = await newRun();
		const answer = get(`/v1/runs/${run}?wait=60s`, "runner");
		await admin.delete(runKind, run, shop);
		expect((await answer).status).toBe(404);
	});

	test.each(["61s", "1m", "-1", ""])("of %j is refused", async (wait) => {
		const answer = await get(`/v1/runs/any?wait=${wait}`, "runner");
		expect(answer.status).toBe(400);
	});

	test("is answered at once when the server stops, and no request fails", async () => {
		const other = await startApi();
		const run = await newRun();
		const answer = fetch(`${other.url}/v1/runs/${run}?wait=60s`, {
			headers: bearer("runner"),
		});
		await other.isWaited;
		other.stop.abort();
		expect(await (await answer).json()).toMatchObject({ status: "Pending" });
		await other.api.close();
	});
});

test("an unknown path is 404, another method 405 with those that are allowed", async () => {
	expect((await get("/v1/nothing", "viewer")).status).toBe(404);
	const { status, headers, body } = await post("/v1/runs", "viewer");
	expect(status).toBe(405);
	expect(headers.get("allow")).toBe("GET, HEAD");
	expect(body.code).toBe("MethodNotAllowed");
});

test("an apiserver that is away is 503, saying when to come back", async () => {
	const cluster = loadCluster(inject("kubeconfig"));
	const away = await startApi({ ...cluster, server: "https://127.0.0.1:1" });
	const response = await fetch(`${away.url}/v1/sources`, {
		headers: bearer("viewer"),
	});
	expect(response.status).toBe(503);
	expect(response.headers.get("retry-after")).toBe("2");
	await away.api.close();
});

function sourceOf(namespace: string) {
	return {
		apiVersion: "tidemill.dev/v1alpha1",
		kind: "Source",
		metadata: { name: `of-${namespace}`, namespace },
		spec: { type: "Webhook" },
	} as Source;
}

function pipelineOf(namespace: string) {
	return {
		apiVersion: "tidemill.dev/v1alpha1",
		kind: "Pipeline",
		metadata: { name: "orders", namespace },
		spec: { sourceRef: { name: "shop" }, destinationRef: { name: "duckdb" } },
	} as Pipeline;
}

async function newRun(): Promise<string> {
	return (await post("/v1/pipelines/orders/run", "runner")).body.name;
}

async function setStatus(name: string, status: Run["status"]): Promise<void> {
	await admin.applyStatus<Run>(
		runKind,
		{
			apiVersion: "tidemill.dev/v1alpha1",
			kind: "Run",
			metadata: { name, namespace: shop },
			status,
		},
		{ fieldManager: "test" },
	);
}

function get(path: string, role: string, headers: Record<string, string> = {}) {
	return ask(api.url + path, { headers: { ...bearer(role), ...headers } });
}

function post(path: string, role: string, body?: unknown) {
	return ask(api.url + path, {
		method: "POST",
		headers: {
			...bearer(role),
			...(body !== undefined && { "content-type": "application/json" }),
		},
		...(body !== undefined && { body: JSON.stringify(body) }),
	});
}

function bearer(role: string) {
	return { authorization: `Bearer ${tokens[role]}` };
}
