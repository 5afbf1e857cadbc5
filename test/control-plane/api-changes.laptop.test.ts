import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import {
	type Destination,
	destinationKind,
} from "../../crds/generated/types.ts";
import { KubeClient } from "../../packages/kube/client/client.ts";
import { loadKubeConfig } from "../../packages/kube/client/kube-config.ts";
import { kinds } from "../../packages/kube/kinds.ts";
import { uselessKey } from "../support/doubles/bigquery/service-account.ts";
import {
	type ApiClient,
	startAccountApi,
	type TestApi,
} from "../support/fixtures/control-plane/api-fixture.ts";
import { kubectl, kubectlDone } from "../support/servers/kubectl.ts";

const admin = KubeClient.fromConfig(loadKubeConfig(inject("kubeconfig")));
const duckDB = { type: "DuckDB", duckDB: { path: "a.duckdb" } };

let api: TestApi;
let account: string;
let editor: ApiClient;
let viewer: ApiClient;

beforeAll(async () => {
	({ api, account, editor, viewer } = await startAccountApi());
});

afterAll(() => api?.api.close());

test("what a GET answered can be edited and sent back, and a changed read-only field is refused", async () => {
	const path = "/v1/destinations/edited";
	await editor("POST", "/v1/destinations", { name: "edited", ...duckDB });
	await admin.applyStatus<Destination>(
		destinationKind,
		{
			metadata: { name: "edited", namespace: account },
			status: { phase: "Checking", lastCheck: { failures: 1 } },
		},
		{ fieldManager: "test" },
	);
	const { body, headers } = await viewer("GET", path);
	expect(body).toMatchObject({ status: "Checking" });
	const edited = { ...body, displayName: "Edited" };
	const ifMatch = { "if-match": headers.get("etag")! };
	const changed = await editor("PATCH", path, edited, ifMatch);
	expect([changed.status, changed.body.displayName]).toEqual([200, "Edited"]);
	expect((await editor("PATCH", path, edited)).status).toBe(200);
	const forged = await editor("PATCH", path, {
		status: "Ready",
		webhookURL: "x",
	});
	expect(forged.status).toBe(400);
	expect(forged.body.details).toEqual(
		expect.arrayContaining([
			{
				path: "status",
				message: "is read-only: omit it, or send it as GET answers it",
			},
			{ path: "webhookURL", message: "is not a known field" },
		]),
	);
});

test("PUT replaces all that people set", async () => {
	const path = "/v1/destinations/replaced";
	const body = { name: "replaced", displayName: "Old", ...duckDB };
	await editor("POST", "/v1/destinations", body);
	const { body: before, headers } = await viewer("GET", path);
	const duckDBAfter = { path: "b.duckdb" };
	const { displayName: _, ...rest } = before;
	const wanted = { ...rest, duckDB: duckDBAfter };
	const ifMatch = { "if-match": headers.get("etag")! };
	const replaced = await editor("PUT", path, wanted, ifMatch);
	expect(replaced.status).toBe(200);
	const { body: after } = await viewer("GET", path);
	expect(after).toMatchObject({ type: "DuckDB", duckDB: duckDBAfter });
	expect(after.displayName).toBeUndefined();
	expect((await editor("PUT", path, wanted, ifMatch)).status).toBe(412);
	// A rule that only the apiserver validates is named before the precondition.
	const wrong = { ...wanted, type: "BigQuery" };
	expect((await editor("PUT", path, wrong, ifMatch)).status).toBe(400);
	const incomplete = await editor("PUT", path, { displayName: "New" });
	expect(incomplete.body.details).toMatchObject([{ path: "type" }]);
	const absent = await editor("PUT", "/v1/destinations/absent", duckDB);
	expect(absent.status).toBe(404);
	expect((await viewer("PUT", path, duckDB)).status).toBe(403);
});

describe("changes at the same time", () => {
	test("are refused when If-Match names another state", async () => {
		const wanted = { name: "etag", ...duckDB };
		const made = await editor("POST", "/v1/destinations", wanted);
		const first = made.headers.get("etag")!;
		const path = "/v1/destinations/etag";
		const patch = (etag: string) =>
			editor("PATCH", path, { displayName: etag }, { "if-match": etag });
		const changed = await patch(first);
		expect(changed.status).toBe(200);
		const late = await patch(first);
		expect([late.status, late.body.code]).toEqual([412, "PreconditionFailed"]);
		const remove = (etag: string) =>
			editor("DELETE", path, undefined, { "if-match": etag });
		const second = changed.headers.get("etag")!;
		expect((await remove(first)).status).toBe(412);
		expect((await remove(second)).status).toBe(204);
		await editor("POST", "/v1/destinations", wanted);
		expect((await remove(first)).status).toBe(412);
	});

	test("of a status are none", async () => {
		const wanted = { name: "quiet", ...duckDB };
		const made = await editor("POST", "/v1/destinations", wanted);
		await admin.applyStatus<Destination>(
			destinationKind,
			{
				metadata: { name: "quiet", namespace: account },
				status: { phase: "Ready" },
			},
			{ fieldManager: "test" },
		);
		const { headers, body } = await viewer("GET", "/v1/destinations/quiet");
		expect(headers.get("etag")).toBe(made.headers.get("etag"));
		expect(body.status).toBe("Ready");
	});

	test("by REST and kubectl lose nothing", async () => {
		await editor("POST", "/v1/tracking-plans", {
			name: "shared",
			eventType: { constant: "x" },
			common: {},
		});
		const byRest = async (index: number) => {
			const { status } = await editor("PATCH", "/v1/tracking-plans/shared", {
				common: { [`rest${index}`]: true },
			});
			return status === 200 ? `rest${index}` : undefined;
		};
		const byKubectl = async (index: number) => {
			const { exitCode } = await kubectl([
				"patch",
				"trackingplan",
				"shared",
				"--type=merge",
				`--namespace=${account}`,
				`--patch={"spec":{"common":{"kubectl${index}":true}}}`,
			]);
			return exitCode === 0 ? `kubectl${index}` : undefined;
		};
		const indexes = Array.from({ length: 8 }, (_, index) => index);
		const done = await Promise.all([
			...indexes.map(byRest),
			...indexes.map(byKubectl),
		]);
		const answered = done.filter((name) => name !== undefined);
		expect(answered.length).toBeGreaterThan(8);
		const { body } = await viewer("GET", "/v1/tracking-plans/shared");
		expect(Object.keys(body.common as object).sort()).toEqual(answered.sort());
	});
});

describe("secrets", () => {
	const token = "s3cret-token";

	test("go into a labelled Secret, never come back, and are rotated", async () => {
		const created = await editor("POST", "/v1/destinations", {
			name: "with-key",
			type: "BigQuery",
			bigQuery: {
				projectId: "project-1",
				dataset: "events",
				credentials: { key: uselessKey(token) },
			},
		});
		expect(created.status).toBe(201);
		const { name, key } = refOf(created.body);
		const secret = await admin.get(kinds.secret, name, account);
		expect(secret?.metadata.labels).toEqual({
			"app.kubernetes.io/managed-by": "tidemill-api",
			"tidemill.dev/use": "true",
		});
		expect(atob(secret!.data![key]!)).toBe(uselessKey(token));
		for (const answer of [
			created,
			await viewer("GET", "/v1/destinations/with-key"),
			await viewer("GET", "/v1/destinations"),
		])
			expect(JSON.stringify(answer.body)).not.toContain(token);

		const changed = await editor("PATCH", "/v1/destinations/with-key", {
			bigQuery: { credentials: { key: uselessKey("other") } },
		});
		const next = refOf(changed.body);
		expect(next.name).not.toBe(name);
		const rotated = await admin.get(kinds.secret, next.name, account);
		expect(atob(rotated!.data![next.key]!)).toBe(uselessKey("other"));
	});

	test("are not left behind by a request that is refused", async () => {
		const before = await secretsOfUse();
		const { status } = await editor("POST", "/v1/destinations", {
			name: "refused",
			...duckDB,
			bigQuery: {
				projectId: "project-1",
				dataset: "events",
				credentials: { key: uselessKey(token) },
			},
		});
		expect(status).toBe(400);
		expect(await secretsOfUse()).toEqual(before);
	});

	test("of others are not removed", async () => {
		await kubectlDone([
			"create",
			"secret",
			"generic",
			"mine",
			"--from-literal=key=x",
			`--namespace=${account}`,
		]);
		await editor("POST", "/v1/destinations", {
			name: "borrower",
			type: "BigQuery",
			bigQuery: {
				projectId: "project-1",
				dataset: "events",
				credentials: { secretRef: { name: "mine", key: "key" } },
			},
		});
		await editor("DELETE", "/v1/destinations/borrower");
		expect(await admin.get(kinds.secret, "mine", account)).toBeDefined();
	});

	function refOf(body: Record<string, unknown>): { name: string; key: string } {
		const { spec } = { spec: body } as unknown as Destination;
		return spec.bigQuery!.credentials!.secretRef;
	}

	async function secretsOfUse(): Promise<string[]> {
		const { items } = await admin.list(kinds.secret, {
			namespace: account,
			labelSelector: "tidemill.dev/use",
		});
		return items.map(({ metadata }) => metadata.name);
	}
});
