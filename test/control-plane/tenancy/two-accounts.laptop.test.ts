import { randomBytes } from "node:crypto";
import { request } from "node:http";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import {
	pipelineKind,
	runKind,
	sourceKind,
} from "../../../crds/generated/types.ts";
import { KubeClient } from "../../../packages/kube/client/client.ts";
import { loadCluster } from "../../../packages/kube/client/cluster.ts";
import { loadKubeConfig } from "../../../packages/kube/client/kube-config.ts";
import { tokenClients } from "../../../packages/kube/client/token-clients.ts";
import { kinds } from "../../../packages/kube/kinds.ts";
import {
	apiClient,
	newAccount,
	startApi,
	type TestApi,
	tokenOf,
} from "../../support/fixtures/control-plane/api-fixture.ts";
import { applyYaml } from "../../support/fixtures/control-plane/apply-yaml.ts";

/* The people of one account, with the roles that we ship, try to see or change what belongs to another account. */

const kubeconfig = inject("kubeconfig");
const admin = KubeClient.fromConfig(loadKubeConfig(kubeconfig));
const clientOf = tokenClients(loadCluster(kubeconfig));
const victim = `victim-${randomBytes(4).toString("hex")}`;
/** Appears in all that the victim has, and in nothing of the attacker's. */
const marker = "the-victims-own";

let api: TestApi;
let tokens: Awaited<ReturnType<typeof newAccount>>["tokens"];
let victimsToken: string;

beforeAll(async () => {
	const made = await newAccount();
	tokens = made.tokens;
	api = await startApi();
	await admin.create(kinds.namespace, { metadata: { name: victim } });
	victimsToken = await tokenOf(victim, "editor", "tidemill-editor");
	await applyYaml(victim, theirs);
	await applyYaml(made.account, ours);
});

afterAll(() => api?.api.close());

const meta = (name: string) =>
	`metadata: { name: ${name}, annotations: { note: ${marker} } }`;
const theirs = `
apiVersion: tidemill.dev/v1alpha1
kind: Source
${meta("theirs")}
spec: { type: Webhook, displayName: ${marker} }
---
apiVersion: tidemill.dev/v1alpha1
kind: Source
${meta("theirs-too")}
spec: { type: Webhook, displayName: ${marker} }
---
apiVersion: tidemill.dev/v1alpha1
kind: Destination
${meta("theirs")}
spec: { type: DuckDB, displayName: ${marker}, duckDB: { path: ${marker}.duckdb, volumeClaimName: c } }
---
apiVersion: tidemill.dev/v1alpha1
kind: Pipeline
${meta("theirs")}
spec: { displayName: ${marker}, sourceRef: { name: theirs }, destinationRef: { name: theirs } }
---
apiVersion: tidemill.dev/v1alpha1
kind: Run
${meta("theirs")}
spec: { pipelineRef: { name: theirs } }
`;
const ours = ["one", "two"]
	.map(
		(name) => `---
apiVersion: tidemill.dev/v1alpha1
kind: Source
metadata: { name: ${name} }
spec: { type: Webhook }
`,
	)
	.join("");

/** Sends the path as it stands: fetch would resolve its dots. */
async function send(
	method: string,
	path: string,
	{ headers = {}, body }: { headers?: object; body?: unknown } = {},
): Promise<{ status: number; text: string }> {
	const asking = request(api.url, {
		method,
		path,
		headers: {
			authorization: `Bearer ${tokens.editor}`,
			...(body !== undefined && { "content-type": "application/json" }),
			...headers,
		},
	});
	asking.end(body === undefined ? undefined : JSON.stringify(body));
	return new Promise((resolve, reject) => {
		asking.on("error", reject);
		asking.on("response", async (response) =>
			resolve({ status: response.statusCode!, text: await text(response) }),
		);
	});
}

/** All that the victim has, as it is stored. */
async function versions(): Promise<unknown[]> {
	const lists = await Promise.all(
		[sourceKind, pipelineKind, runKind].map((kind) =>
			admin.list(kind as typeof runKind, { namespace: victim }),
		),
	);
	return lists.flatMap(({ items }) =>
		items.map(({ metadata: { name, uid, resourceVersion } }) => [
			...[name, uid, resourceVersion],
		]),
	);
}

const foreign = `%2e%2e%2f${victim}%2fsources%2ftheirs`;

test.each<[string, string, Parameters<typeof send>[2]?]>([
	["GET", "/v1/sources/theirs"],
	["PATCH", "/v1/sources/theirs", { body: { suspend: true } }],
	["DELETE", "/v1/sources/theirs"],
	["GET", "/v1/destinations/theirs"],
	["PATCH", "/v1/destinations/theirs", { body: { displayName: "x" } }],
	["GET", "/v1/pipelines/theirs"],
	["POST", "/v1/pipelines/theirs/run"],
	["GET", "/v1/runs/theirs"],
	["GET", "/v1/runs/theirs?wait=1s"],
	["GET", "/v1/runs/theirs/logs"],
	["GET", "/v1/runs/theirs/progress"],
	["POST", "/v1/runs/theirs/cancel"],
	["GET", "/v1/sources", { headers: { "tidemill-account": victim } }],
	["GET", "/v1/sources/theirs", { headers: { "tidemill-account": victim } }],
	[
		"GET",
		"/v1/sources",
		{ headers: { "tidemill-account": `x/../../${victim}` } },
	],
	["GET", `/v1/sources/${foreign}`],
	["GET", `/v1/sources/../../../namespaces/${victim}/sources/theirs`],
	["GET", `/v1/sources/..%2f..%2fnamespaces%2f${victim}%2fsources%2ftheirs`],
	["GET", `/v1/sources/..%5c${victim}`],
	["GET", `/v1/runs/${foreign}/logs`],
	["POST", `/v1/runs/${foreign}/cancel`],
	["GET", `/v1/sources/theirs%00`],
	["GET", `/v1/runs?pipeline=theirs,metadata.namespace%3D${victim}`],
	[
		"POST",
		"/v1/sources",
		{ body: { name: `../${victim}/planted`, type: "Webhook" } },
	],
	[
		"POST",
		"/v1/sources",
		{ body: { name: "planted", namespace: victim, type: "Webhook" } },
	],
	...[`${victim}/theirs`, `../${victim}/theirs`, ".."].map(
		(name): [string, string, { body: unknown }] => [
			"POST",
			"/v1/pipelines",
			{
				body: {
					name: "planted",
					sourceRef: { name },
					destinationRef: { name: "d" },
				},
			},
		],
	),
	[
		"GET",
		"/v1/sources/theirs",
		{
			headers: {
				"impersonate-user": `system:serviceaccount:${victim}:editor`,
				"x-remote-user": "admin",
				"x-remote-group": "system:masters",
			},
		},
	],
])("%s %s gets nothing of another account", async (method, path, more) => {
	const before = await versions();
	const answer = await send(method, path, more);
	expect(answer.status).toBeOneOf([400, 403, 404, 405, 422]);
	expect(answer.text).not.toContain(marker);
	expect(await versions()).toEqual(before);
});

test("a cursor of another account's list leads to nothing of that account", async () => {
	const { body } = await apiClient(api.url, victimsToken)(
		"GET",
		"/v1/sources?limit=1",
	);
	expect(JSON.stringify(body.items)).toContain(marker);
	const cursor = encodeURIComponent(body.cursor!);
	const { text } = await send("GET", `/v1/sources?limit=1&cursor=${cursor}`);
	expect(text).not.toContain(marker);
});

test("no role of one account reaches another account's resources at the apiserver", async () => {
	for (const token of Object.values(tokens))
		for (const [method, path] of [
			["GET", "/apis/tidemill.dev/v1alpha1/sources"],
			...["sources", "runs", "destinations"].map((plural) => [
				"GET",
				`/apis/tidemill.dev/v1alpha1/namespaces/${victim}/${plural}/theirs`,
			]),
			[
				"DELETE",
				`/apis/tidemill.dev/v1alpha1/namespaces/${victim}/sources/theirs`,
			],
			["POST", `/apis/tidemill.dev/v1alpha1/namespaces/${victim}/runs`],
			["GET", `/api/v1/namespaces/${victim}/secrets`],
			["GET", `/api/v1/namespaces/${victim}/pods`],
		] as [string, string][])
			await expect(
				clientOf(token).raw(
					method,
					path,
					method === "POST" ? { body: {} } : {},
				),
				`${method} ${path}`,
			).rejects.toMatchObject({ status: 403 });
});
