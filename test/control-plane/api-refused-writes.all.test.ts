// In make test: test/control-plane/api.laptop.test.ts
import { afterAll, beforeAll, expect, inject, test, vi } from "vitest";
import { endpoints } from "../../api/endpoints.ts";
import {
	type ApiClient,
	administrator,
	apiClient,
	newAccount,
	startApi,
	type TestApi,
	tokenOf,
} from "../support/fixtures/control-plane/api-fixture.ts";
import { applyYaml } from "../support/fixtures/control-plane/apply-yaml.ts";
import {
	type AdmissionWebhook,
	startAdmissionWebhook,
} from "../support/servers/admission-webhook.ts";

/* An admission webhook that fails, or denies what is written: each endpoint that writes answers in the cluster's words. */

const operations = ["CREATE", "UPDATE", "DELETE"];
const source = { type: "Webhook" };
const destination = { type: "DuckDB", duckDB: { path: "a.duckdb" } };
const pipeline = {
	sourceRef: { name: "there" },
	destinationRef: { name: "there" },
};
const plan = {
	eventType: { constant: "order" },
	common: { type: "object" },
};
const operation = { type: "Inspect", sourceRef: { name: "there" } };

let api: TestApi;
let admin: ApiClient;
let webhook: AdmissionWebhook;

beforeAll(async () => {
	api = await startApi();
	const { account } = await newAccount();
	const token = await tokenOf(
		account,
		"all",
		"tidemill-editor",
		"tidemill-admin",
	);
	admin = apiClient(api.url, token);
	await applyYaml(
		account,
		`apiVersion: tidemill.dev/v1alpha1
kind: Source
metadata: { name: there }
spec: { type: Webhook }
---
apiVersion: tidemill.dev/v1alpha1
kind: Destination
metadata: { name: there }
spec: { type: DuckDB, duckDB: { path: a.duckdb } }
---
apiVersion: tidemill.dev/v1alpha1
kind: Source
metadata: { name: unused }
spec: { type: Webhook }
---
apiVersion: tidemill.dev/v1alpha1
kind: Destination
metadata: { name: unused }
spec: { type: DuckDB, duckDB: { path: b.duckdb } }
---
apiVersion: tidemill.dev/v1alpha1
kind: Pipeline
metadata: { name: there }
spec: { sourceRef: { name: there }, destinationRef: { name: there } }
---
apiVersion: tidemill.dev/v1alpha1
kind: TrackingPlan
metadata: { name: there }
spec: { eventType: { constant: order }, common: { type: object } }
---
apiVersion: tidemill.dev/v1alpha1
kind: Operation
metadata: { name: there }
spec: { type: Inspect, sourceRef: { name: there } }
---
apiVersion: tidemill.dev/v1alpha1
kind: Run
metadata: { name: there }
spec: { pipelineRef: { name: there } }`,
	);
	const made = await admin("POST", "/v1/tokens", {
		name: "there",
		scope: "read",
	});
	expect(made.status, JSON.stringify(made.body)).toBe(201);
	webhook = await startAdmissionWebhook(
		administrator(),
		inject("pki").ca,
		account,
		[
			{ apiGroups: ["tidemill.dev"], resources: ["*"], operations },
			{
				apiGroups: [""],
				resources: ["serviceaccounts", "secrets"],
				operations,
			},
			{
				apiGroups: ["rbac.authorization.k8s.io"],
				resources: ["rolebindings"],
				operations,
			},
		],
	);
	// Kubernetes asks a new webhook only after a while.
	await vi.waitFor(
		async () => {
			const answer = await admin("POST", "/v1/sources?dryRun=true", source);
			expect(answer.status).toBe(503);
		},
		{ timeout: 120_000, interval: 50 },
	);
});

afterAll(async () => {
	await webhook?.stop();
	await api?.api.close();
});

/** Of those that nothing uses. */
const unused: Partial<Record<string, string>> = {
	Source: "unused",
	Destination: "unused",
};
const requests: [id: string, path: string, body?: object][] = [
	...(
		[
			["Source", "sources", source],
			["Destination", "destinations", destination],
			["Pipeline", "pipelines", pipeline],
			["TrackingPlan", "tracking-plans", plan],
			["Operation", "operations", operation],
		] as const
	).flatMap(([kind, collection, body]): typeof requests => [
		[`create${kind}`, `/v1/${collection}`, { name: "new", ...body }],
		[
			`replace${kind}`,
			`/v1/${collection}/there`,
			{ ...body, displayName: "changed" },
		],
		[`update${kind}`, `/v1/${collection}/there`, { labels: { a: "b" } }],
		[`delete${kind}`, `/v1/${collection}/${unused[kind] ?? "there"}`],
	]),
	["createToken", "/v1/tokens", { name: "new", scope: "read" }],
	["revokeToken", "/v1/tokens/there"],
	["rotateSourceURL", "/v1/sources/there/rotate-url"],
	["checkDestination", "/v1/destinations/there/check"],
	["startRun", "/v1/pipelines/there/run?queue=true"],
	["cancelRun", "/v1/runs/there/cancel"],
];
/** They write nothing in Kubernetes. */
const others = ["createUploads", "sendEventAgain", "sendTestEvent"];

test("the list below has each endpoint that writes", () => {
	const writing = endpoints
		.filter(({ method }) => method !== "GET")
		.map(({ id }) => id);
	expect(
		requests
			.map(([id]) => id)
			.concat(others)
			.sort(),
	).toEqual(writing.sort());
});

test.each(requests)(
	"%s answers a webhook's failure by 503, and its refusal by 403, with the cluster's words",
	async (id, path, body) => {
		const { method } = endpoints.find((endpoint) => endpoint.id === id)!;
		webhook.answer = "fails";
		const failed = await admin(method, path, body);
		expect(failed, JSON.stringify(failed.body)).toMatchObject({
			status: 503,
			body: {
				code: "Unavailable",
				detail: expect.stringContaining(
					'failed calling webhook "policy.example.com"',
				),
			},
		});
		expect(failed.body.detail).not.toContain(webhook.address);
		webhook.answer = { denies: "no changes on Fridays" };
		const denied = await admin(method, path, body);
		expect(denied, JSON.stringify(denied.body)).toMatchObject({
			status: 403,
			body: {
				code: "Forbidden",
				detail: expect.stringContaining("no changes on Fridays"),
			},
		});
	},
);
