import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import {
	type Destination,
	destinationKind,
	trackingPlanKind,
} from "../../crds/generated/types.ts";
import { inUseFinalizer } from "../../crds/labels.ts";
import { parseExact } from "../../packages/json/json-reader.ts";
import { KubeClient } from "../../packages/kube/client/client.ts";
import { loadKubeConfig } from "../../packages/kube/client/kube-config.ts";
import {
	type ApiClient,
	startAccountApi,
	type TestApi,
} from "../support/fixtures/control-plane/api-fixture.ts";
import { kubectlDone } from "../support/servers/kubectl.ts";

const admin = KubeClient.fromConfig(loadKubeConfig(inject("kubeconfig")));
const duckDB = { type: "DuckDB", duckDB: { path: "a.duckdb" } };

let api: TestApi;
let account: string;
let editor: ApiClient;
let viewer: ApiClient;
let tokens: Awaited<ReturnType<typeof startAccountApi>>["tokens"];

beforeAll(async () => {
	({ api, account, editor, viewer, tokens } = await startAccountApi());
});

afterAll(() => api?.api.close());

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
		expect(created.headers.get("etag")).toMatch(/^"1-[0-9a-f]{16}"$/);
		expect(created.body).toMatchObject({ name: "one", ...fields });

		const shown = await viewer("GET", `${path}/one`);
		expect(shown.body).toEqual(created.body);
		expect((await viewer("GET", path)).body.items).toEqual([shown.body]);

		const changed = await editor("PATCH", `${path}/one`, changes);
		expect(changed.status).toBe(200);
		expect(changed.headers.get("etag")).toMatch(/^"2-[0-9a-f]{16}"$/);
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
	// As the operator does while a Source names the plan.
	const held = { metadata: { finalizers: [inUseFinalizer] } };
	await admin.patch(trackingPlanKind, "used", account, held, "merge", {
		fieldManager: "test",
	});
	const gone = await editor("DELETE", "/v1/tracking-plans/used?force=true");
	expect(gone.status).toBe(204);
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

test("integers of a plan's schemas go through REST and kubectl as they are written", async () => {
	const common = '{"properties":{"id":{"maximum":9007199254740993}}}';
	const plan = { name: "exact", eventType: { constant: "x" } };
	const body = { ...plan, common: parseExact(common) };
	await editor("POST", "/v1/tracking-plans", body);
	const path = "/v1/tracking-plans/exact";
	const shown = async () => {
		const url = `${api.url}${path}`;
		const headers = { authorization: `Bearer ${tokens.viewer}` };
		return (await fetch(url, { headers })).text();
	};
	expect(await shown()).toContain(`"common":${common}`);
	// What GET has answered is sent back.
	const changed = parseExact(await shown()) as Record<string, unknown>;
	const put = { ...changed, onViolation: "Reject" };
	expect((await editor("PUT", path, put)).status).toBe(200);
	expect(await shown()).toContain(`"common":${common}`);
	const object = ["get", "trackingplan", "exact", `--namespace=${account}`];
	expect(await kubectlDone([...object, "-o=json"])).toContain(
		"9007199254740993",
	);
});

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
