import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, inject, test, vi } from "vitest";
import {
	type Destination,
	destinationKind,
} from "../../../crds/generated/types.ts";
import { KubeClient } from "../../../packages/kube/client/client.ts";
import { loadCluster } from "../../../packages/kube/client/cluster.ts";
import { loadKubeConfig } from "../../../packages/kube/client/kube-config.ts";
import { tokenClients } from "../../../packages/kube/client/token-clients.ts";
import { kinds, type Secret } from "../../../packages/kube/kinds.ts";
import type { ObjectDraft } from "../../../packages/kube/resource.ts";
import { uselessKey } from "../../support/doubles/bigquery/service-account.ts";
import {
	type ApiClient,
	apiClient,
	newAccount,
	startApi,
	type TestApi,
	tokenOf,
} from "../../support/fixtures/control-plane/api-fixture.ts";
import { OperatorWorld } from "../../support/fixtures/control-plane/operator-world.ts";
import { kubectlDone } from "../../support/servers/kubectl.ts";

/* An editor gives Tidemill secrets. It can't read a Secret of its namespace, or become another ServiceAccount. */

const kubeconfig = inject("kubeconfig");
const admin = KubeClient.fromConfig(loadKubeConfig(kubeconfig));
const clientOf = tokenClients(loadCluster(kubeconfig));
const forbidden = { status: 403 };
const soon = { timeout: 60_000, interval: 50 };

let account: string;
let editor: KubeClient;
let api: TestApi;
let rest: ApiClient;
let world: OperatorWorld;

beforeAll(async () => {
	const made = await newAccount();
	account = made.account;
	editor = clientOf(made.tokens.editor);
	api = await startApi();
	rest = apiClient(api.url, made.tokens.editor);
	world = await OperatorWorld.start();
	world.startOperator([account]);
	await admin.create(kinds.secret, {
		metadata: { name: "of-another-application", namespace: account },
		stringData: { password: "s3cret" },
	});
	await policyIsInForce();
});

afterAll(async () => {
	await world?.stop();
	await api?.api.close();
});

function secretLike(part: Partial<Secret> = {}, labelled = true) {
	return {
		...part,
		metadata: {
			name: `s-${randomBytes(4).toString("hex")}`,
			namespace: account,
			...(labelled && { labels: { "tidemill.dev/use": "true" } }),
			...part.metadata,
		},
	} as ObjectDraft<Secret>;
}

/** The apiserver decides by policies that it has in memory, where a new one comes a moment later. */
async function policyIsInForce(): Promise<void> {
	await vi.waitFor(
		() =>
			expect(
				editor.create(kinds.secret, secretLike({}, false), { dryRun: true }),
			).rejects.toMatchObject({ status: 403 }),
		soon,
	);
}

const path = () =>
	`/api/v1/namespaces/${account}/secrets/of-another-application`;

test.each(["Foreground", "Background", "Orphan"])(
	"an editor doesn't get a Secret in the answer to a delete (%s, dry run)",
	async (propagationPolicy) => {
		const body = { propagationPolicy, dryRun: ["All"] };
		await expect(editor.raw("DELETE", path(), { body })).rejects.toMatchObject(
			forbidden,
		);
	},
);

test("an editor doesn't get the Secrets of its namespace in the answer to a delete of all", async () => {
	await expect(
		editor.raw("DELETE", `/api/v1/namespaces/${account}/secrets`, {
			query: { dryRun: "All" },
		}),
	).rejects.toMatchObject(forbidden);
});

test("an editor doesn't get a Secret by reading, changing or applying it", async () => {
	const patch = { metadata: { labels: { "tidemill.dev/use": "true" } } };
	for (const [method, body] of [
		["GET", undefined],
		["PATCH", patch],
		["PUT", secretLike()],
	] as const)
		await expect(
			editor.raw(method, path(), {
				...(body && { body, contentType: "application/merge-patch+json" }),
			}),
		).rejects.toMatchObject({ status: expect.toBeOneOf([403, 415]) });
});

test("an editor doesn't get a token of another ServiceAccount by a Secret that asks for one", async () => {
	const victim = `victim-${randomBytes(4).toString("hex")}`;
	await tokenOf(account, victim);
	await expect(
		editor.create(
			kinds.secret,
			secretLike({
				type: "kubernetes.io/service-account-token",
				metadata: {
					name: "token-of-the-victim",
					annotations: { "kubernetes.io/service-account.name": victim },
					labels: { "tidemill.dev/use": "true" },
				},
			}),
		),
	).rejects.toMatchObject({ status: 403 });
});

test("an editor who may read Secrets by another role doesn't get a token of another ServiceAccount either", async () => {
	const name = `reader-${randomBytes(4).toString("hex")}`;
	const reader = clientOf(await tokenOf(account, name, "tidemill-editor"));
	const inAccount = `--namespace=${account}`;
	await kubectlDone([
		...["create", "role", name, "--verb=get", "--resource=secrets"],
		inAccount,
	]);
	await kubectlDone([
		...["create", "rolebinding", name, `--role=${name}`, inAccount],
		`--serviceaccount=${account}:${name}`,
	]);
	await vi.waitFor(async () => {
		const read = reader.get(kinds.secret, "of-another-application", account);
		expect(await read).toBeDefined();
	}, soon);
	await expect(
		reader.create(
			kinds.secret,
			secretLike({
				type: "kubernetes.io/service-account-token",
				metadata: {
					name: `token-by-${name}`,
					namespace: account,
					annotations: { "kubernetes.io/service-account.name": "viewer" },
					labels: { "tidemill.dev/use": "true" },
				},
			}),
		),
	).rejects.toMatchObject(forbidden);
});

test.each([
	["without the label", secretLike({}, false)],
	[
		"with another value of the label",
		secretLike({
			metadata: { name: "other-value", labels: { "tidemill.dev/use": "yes" } },
		}),
	],
	[
		"of type Basic",
		secretLike({
			type: "kubernetes.io/basic-auth",
			stringData: { username: "planted" },
		}),
	],
	[
		"of type bootstrap token",
		secretLike({ type: "bootstrap.kubernetes.io/token" }),
	],
])("an editor doesn't plant a Secret %s", async (_, secret) => {
	secret.metadata.namespace = account;
	await expect(editor.create(kinds.secret, secret)).rejects.toMatchObject({
		status: 403,
		message: expect.stringContaining("tidemill.dev/use"),
	});
});

test("an editor creates a Secret for Tidemill", async () => {
	await editor.create(kinds.secret, secretLike({ type: "Opaque" }));
	await editor.create(kinds.secret, secretLike());
});

test("the Secrets of other applications are not validated", async () => {
	const creator = `creator-${randomBytes(4).toString("hex")}`;
	await kubectlDone([
		...["create", "role", creator, "--verb=create", "--resource=secrets"],
		`--namespace=${account}`,
	]);
	const application = clientOf(await tokenOf(account, creator));
	await kubectlDone([
		...["create", "rolebinding", `${creator}-creates`, `--role=${creator}`],
		`--serviceaccount=${account}:${creator}`,
		`--namespace=${account}`,
	]);
	const both = clientOf(
		await tokenOf(account, `${creator}-edits`, "tidemill-editor"),
	);
	await kubectlDone([
		...["create", "rolebinding", `${creator}-edits-too`, "--clusterrole=edit"],
		`--serviceaccount=${account}:${creator}-edits`,
		`--namespace=${account}`,
	]);
	for (const client of [application, both])
		await vi.waitFor(
			() => client.create(kinds.secret, secretLike({}, false)),
			soon,
		);
});

test("the built-in role view shows no webhook URL", async () => {
	await expect(
		kubectlDone([
			...["auth", "can-i", "get", "sources.tidemill.dev"],
			`--as=system:serviceaccount:${account}:built-in`,
		]),
	).rejects.toThrow();
	const viewer = clientOf(await tokenOf(account, "built-in"));
	await kubectlDone([
		...["create", "rolebinding", "built-in", "--clusterrole=view"],
		`--serviceaccount=${account}:built-in`,
		`--namespace=${account}`,
	]);
	await vi.waitFor(
		() => viewer.list(kinds.configMap, { namespace: account }),
		soon,
	);
	await expect(
		viewer.raw(
			"GET",
			`/apis/tidemill.dev/v1alpha1/namespaces/${account}/sources`,
		),
	).rejects.toMatchObject(forbidden);
});

const withKey = (name: string, key: string) => ({
	name,
	type: "BigQuery",
	bigQuery: {
		projectId: "project-1",
		dataset: "events",
		credentials: { key: uselessKey(key) },
	},
});

function secretOf(body: unknown): string {
	return (body as Destination["spec"]).bigQuery!.credentials!.secretRef.name;
}

test("a Secret that REST makes is owned by its resource, and goes with it", async () => {
	const { body } = await rest(
		"POST",
		"/v1/destinations",
		withKey("owner", "one"),
	);
	const name = secretOf(body);
	const owner = await admin.get(destinationKind, "owner", account);
	await vi.waitFor(async () => {
		const secret = await admin.get(kinds.secret, name, account);
		expect(secret?.metadata.ownerReferences).toEqual([
			{
				apiVersion: "tidemill.dev/v1alpha1",
				kind: "Destination",
				name: "owner",
				uid: owner!.metadata.uid,
			},
		]);
	}, soon);
	await rest("DELETE", "/v1/destinations/owner");
	await isGone(name);
});

test("a rotated Secret of REST is removed; the new one stays", async () => {
	const created = await rest(
		"POST",
		"/v1/destinations",
		withKey("rotated", "one"),
	);
	const before = secretOf(created.body);
	await vi.waitFor(async () => {
		const secret = await admin.get(kinds.secret, before, account);
		expect(secret?.metadata.ownerReferences).toHaveLength(1);
	}, soon);
	const { body } = await rest("PATCH", "/v1/destinations/rotated", {
		bigQuery: { credentials: { key: uselessKey("two") } },
	});
	await isGone(before);
	expect(await admin.get(kinds.secret, secretOf(body), account)).toBeDefined();
});

test("a Secret that only Tidemill's resources refer to is not removed with them if a person made it", async () => {
	await editor.create(
		kinds.secret,
		secretLike({
			metadata: { name: "by-hand", labels: { "tidemill.dev/use": "true" } },
		}),
	);
	const credentials = { secretRef: { name: "by-hand", key: "key" } };
	const spec = { ...withKey("borrower", "") };
	await rest("POST", "/v1/destinations", {
		...spec,
		bigQuery: { ...spec.bigQuery, credentials },
	});
	await rest("DELETE", "/v1/destinations/borrower");
	const made = await rest(
		"POST",
		"/v1/destinations",
		withKey("after-borrower", "one"),
	);
	await vi.waitFor(async () => {
		const secret = await admin.get(kinds.secret, secretOf(made.body), account);
		expect(secret?.metadata.ownerReferences).toHaveLength(1);
	}, soon);
	const secret = await admin.get(kinds.secret, "by-hand", account);
	expect(secret?.metadata.ownerReferences).toBeUndefined();
});

async function isGone(name: string): Promise<void> {
	await vi.waitFor(
		async () =>
			expect(await admin.get(kinds.secret, name, account)).toBeUndefined(),
		soon,
	);
}
