import { afterAll, beforeAll, expect, inject, test, vi } from "vitest";
import { loadCluster } from "../../../packages/kube/client/cluster.ts";
import { tokenClients } from "../../../packages/kube/client/token-clients.ts";
import { kinds } from "../../../packages/kube/kinds.ts";
import { memoryIdempotencyStore } from "../../support/doubles/idempotency/memory-store.ts";
import {
	type ApiClient,
	administrator,
	apiClient,
	newAccount,
	startApi,
	type TestApi,
	tokenOf,
} from "../../support/fixtures/control-plane/api-fixture.ts";

/* Tokens are handed out with one scope for one account, and who hands them out gets no other right by it. */

const clientOf = tokenClients(loadCluster(inject("kubeconfig")));
const soon = { timeout: 60_000, interval: 50 };
const { store: idempotency, records } = memoryIdempotencyStore();

let api: TestApi;
let account: string;
let adminToken: string;
let admin: ApiClient;

beforeAll(async () => {
	api = await startApi(undefined, { idempotency, settleWithinMs: 5_000 });
	const made = await newAccount();
	account = made.account;
	const editor = apiClient(api.url, made.tokens.editor);
	const orders = {
		name: "orders",
		sourceRef: { name: "shop" },
		destinationRef: { name: "lake" },
	};
	const { status } = await editor("POST", "/v1/pipelines", orders, {
		prefer: "respond-async",
	});
	expect(status).toBe(201);
	adminToken = await tokenOf(account, "admin", "tidemill-admin");
	admin = apiClient(api.url, adminToken);
});

afterAll(() => api?.api.close());

async function make(scope: string, name = `${scope}-only`) {
	const { status, body } = await admin("POST", "/v1/tokens", { name, scope });
	expect({ status, body }).toMatchObject({ status: 201 });
	return { ...body, client: apiClient(api.url, String(body.token)) };
}

test("a token of each scope may do what its scope says, at once, and no more", async () => {
	const source = { name: "new", type: "Webhook" };
	for (const [scope, reads, starts, edits] of [
		["read", 200, 403, 403],
		["run", 403, 202, 403],
		["edit", 200, 202, 201],
	] as const) {
		const { client } = await make(scope);
		expect((await client("GET", "/v1/sources")).status).toBe(reads);
		expect((await client("POST", "/v1/pipelines/orders/run", {})).status).toBe(
			starts,
		);
		expect((await client("POST", "/v1/sources", source)).status).toBe(edits);
		for (const wanted of ["read", "run", "edit"])
			expect(
				(await client("POST", "/v1/tokens", { name: "more", scope: wanted }))
					.status,
			).toBe(403);
		expect((await client("GET", "/v1/tokens")).status).toBe(403);
		expect((await client("DELETE", "/v1/tokens/read-only")).status).toBe(403);
	}
});

test("a token is shown once, stands in no record, and is refused once it is revoked", async () => {
	const headers = { "idempotency-key": "once" };
	const body = { name: "ci", scope: "read", expiresInSeconds: 600 };
	const made = await admin("POST", "/v1/tokens", body, headers);
	expect(made.status).toBe(201);
	expect(made.headers.get("cache-control")).toBe("no-store");
	expect(made.headers.get("location")).toBe("/v1/tokens/ci");
	const { token, ...shown } = made.body;
	expect(shown).toMatchObject({ name: "ci", scope: "read", status: "Active" });
	const lifeMs =
		Date.parse(String(shown.expireTime)) - Date.parse(String(shown.createTime));
	expect(Math.abs(lifeMs - 600_000)).toBeLessThan(5_000);
	expect(JSON.stringify([...records])).not.toContain(String(token));
	const again = await admin("POST", "/v1/tokens", body, headers);
	expect(again).toMatchObject({ status: 201, body: shown });
	expect(again.body).not.toHaveProperty("token");
	const other = await admin("POST", "/v1/tokens", body);
	expect(other).toMatchObject({ status: 409, body: { code: "Conflict" } });
	expect((await admin("GET", "/v1/tokens/ci")).body).toEqual(shown);
	const { items } = (await admin("GET", "/v1/tokens")).body;
	expect(items).toContainEqual(shown);
	expect(JSON.stringify(items)).not.toContain(String(token));

	const holder = apiClient(api.url, String(token));
	expect((await holder("GET", "/v1/sources")).status).toBe(200);
	expect((await admin("DELETE", "/v1/tokens/ci")).status).toBe(204);
	// The apiserver remembers for seconds that a token was valid, and so it says at first that a right is missing.
	await vi.waitFor(
		async () =>
			expect([401, 403]).toContain((await holder("GET", "/v1/sources")).status),
		soon,
	);
	expect((await admin("GET", "/v1/tokens/ci")).status).toBe(404);
	expect((await admin("DELETE", "/v1/tokens/ci")).status).toBe(404);
	expect((await make("read", "ci")).status).toBe("Active");
});

test("each wrong field of a token is named", async () => {
	const { status, body } = await admin("POST", "/v1/tokens", {
		name: "Big",
		scope: "admin",
		expiresInSeconds: 60,
		account: "other",
	});
	expect(status).toBe(400);
	expect(body.details.map(({ path }) => path)).toEqual([
		"account",
		"name",
		"scope",
		"expiresInSeconds",
	]);
});

test("a token and who hands it out do nothing in another account", async () => {
	const other = await newAccount();
	const { client } = await make("edit", "stranger");
	const header = { "tidemill-account": other.account };
	for (const each of [client, admin]) {
		expect((await each("GET", "/v1/sources", undefined, header)).status).toBe(
			403,
		);
		const wanted = { name: "x", scope: "read" };
		expect((await each("POST", "/v1/tokens", wanted, header)).status).toBe(403);
	}
	const kube = clientOf(adminToken);
	await expect(
		kube.create(kinds.serviceAccount, {
			metadata: { name: "tidemill-token-x", namespace: other.account },
		}),
	).rejects.toMatchObject({ status: 403 });
});

test("who hands out tokens gets none of another ServiceAccount, removes none, and binds nobody else", async () => {
	const kube = clientOf(adminToken);
	const path = (name: string) =>
		`/api/v1/namespaces/${account}/serviceaccounts/${name}/token`;
	const body = {
		apiVersion: "authentication.k8s.io/v1",
		kind: "TokenRequest",
		spec: {},
	};
	const subject = { kind: "ServiceAccount", name: "admin", namespace: account };
	const labels = { "tidemill.dev/token": "read" };
	const binding = (name: string, role: string, subjects: object[]) => ({
		metadata: { name, namespace: account, labels },
		roleRef: {
			apiGroup: "rbac.authorization.k8s.io",
			kind: "ClusterRole",
			name: role,
		},
		subjects,
	});
	const own = "tidemill-token-own";
	const attempts: [string, () => Promise<unknown>][] = [
		["a token of another", () => kube.raw("POST", path("editor"), { body })],
		[
			"another ServiceAccount",
			() =>
				kube.create(kinds.serviceAccount, {
					metadata: { name: "mine", namespace: account, labels },
				}),
		],
		[
			"a ServiceAccount that no list shows",
			() =>
				kube.create(kinds.serviceAccount, {
					metadata: { name: own, namespace: account },
				}),
		],
		[
			"a binding that no list shows",
			() => {
				const unlisted = binding(own, "tidemill-editor", [
					{ ...subject, name: own },
				]);
				return kube.create(kinds.roleBinding, {
					...unlisted,
					metadata: { name: own, namespace: account },
				} as never);
			},
		],
		[
			"the end of another",
			() => kube.delete(kinds.serviceAccount, "viewer", account, {}),
		],
		[
			"the end of another's binding",
			() =>
				kube.delete(kinds.roleBinding, "viewer-tidemill-viewer", account, {}),
		],
		[
			"a role for itself",
			() =>
				kube.create(
					kinds.roleBinding,
					binding(own, "tidemill-editor", [subject]) as never,
				),
		],
		[
			"a role under another name",
			() =>
				kube.create(
					kinds.roleBinding,
					binding("own", "tidemill-editor", [
						{ ...subject, name: "own" },
					]) as never,
				),
		],
		[
			"another role",
			() =>
				kube.create(
					kinds.roleBinding,
					binding(own, "cluster-admin", [{ ...subject, name: own }]) as never,
				),
		],
	];
	for (const [what, attempt] of attempts)
		await vi.waitFor(
			async () =>
				expect(await attempt().catch((error) => error), what).toMatchObject({
					status: 403,
				}),
			soon,
		);
});

test("reading Secrets gives who hands out tokens no token of another ServiceAccount, and the built-in role edit does", async () => {
	const path = `/api/v1/namespaces/${account}/serviceaccounts/editor/token`;
	const body = {
		apiVersion: "authentication.k8s.io/v1",
		kind: "TokenRequest",
		spec: {},
	};
	const cluster = administrator();
	const rules = [{ apiGroups: [""], resources: ["secrets"], verbs: ["get"] }];
	const role = `${account}-secret-reader`;
	const rbac = "/apis/rbac.authorization.k8s.io/v1";
	await cluster.raw("POST", `${rbac}/clusterroles`, {
		body: { metadata: { name: role }, rules },
	});
	const token = await tokenOf(account, "reader", "tidemill-admin");
	await cluster.raw("POST", `${rbac}/namespaces/${account}/rolebindings`, {
		body: {
			metadata: { name: role },
			roleRef: {
				apiGroup: "rbac.authorization.k8s.io",
				kind: "ClusterRole",
				name: role,
			},
			subjects: [
				{ kind: "ServiceAccount", name: "reader", namespace: account },
			],
		},
	});
	const reader = clientOf(token);
	await vi.waitFor(async () => {
		const read = reader.get(kinds.secret, "any", account);
		await expect(read).resolves.toBeUndefined();
	}, soon);
	await expect(reader.raw("POST", path, { body })).rejects.toMatchObject({
		status: 403,
	});
	const everything = await tokenOf(
		account,
		"everything",
		"edit",
		"tidemill-admin",
	);
	await expect(
		clientOf(everything).raw("POST", path, { body }),
	).resolves.toMatchObject({ kind: "TokenRequest" });
});
