import { beforeAll, expect, inject, onTestFinished, test, vi } from "vitest";
import {
	operationKind,
	type Pipeline,
	pipelineKind,
	type Run,
	runKind,
} from "../../../crds/generated/types.ts";
import { operatorLeaseLabels } from "../../../crds/installation-claims.ts";
import { newRun } from "../../../crds/run.ts";
import type { KubeClient } from "../../../packages/kube/client/client.ts";
import { loadCluster } from "../../../packages/kube/client/cluster.ts";
import { tokenClients } from "../../../packages/kube/client/token-clients.ts";
import { kinds } from "../../../packages/kube/kinds.ts";
import type {
	KubeObject,
	ResourceKind,
} from "../../../packages/kube/resource.ts";
import {
	administrator,
	newAccount,
	tokenOf,
} from "../../support/fixtures/control-plane/api-fixture.ts";
import { kubectlDone } from "../../support/servers/kubectl.ts";

/* What is the operator's is known by more than a name that others could choose, and who may change an object can't have it removed or kept. */

const clientOf = tokenClients(loadCluster(inject("kubeconfig")));
const admin = administrator();
const soon = { timeout: 60_000, interval: 50 };

let account: string;
let runner: KubeClient;
let editor: KubeClient;
let eraser: KubeClient;
let tokenAdmin: KubeClient;
let builtIn: KubeClient;

beforeAll(async () => {
	const made = await newAccount();
	account = made.account;
	runner = clientOf(made.tokens.runner);
	editor = clientOf(made.tokens.editor);
	const [erasing, handing, edit] = await Promise.all([
		tokenOf(account, "eraser", "tidemill-eraser"),
		tokenOf(account, "token-admin", "tidemill-admin"),
		tokenOf(account, "built-in", "edit"),
	]);
	eraser = clientOf(erasing);
	tokenAdmin = clientOf(handing);
	builtIn = clientOf(edit);
	// The apiserver decides by policies that it has in memory, where a new one comes a moment later.
	await vi.waitFor(async () => {
		const metadata = { name: "first", namespace: account, finalizers };
		const run = newRun("orders", metadata);
		const made = editor.create(runKind, run, { dryRun: true });
		await expect(made).rejects.toMatchObject({ status: 403 });
	}, soon);
});

const owner = {
	apiVersion: "v1",
	kind: "ConfigMap",
	name: "gone",
	uid: "6b1f1c1e-0000-4000-8000-000000000000",
};
const finalizers = ["example.com/never"];

const forged: [what: string, metadata: object, message: RegExp][] = [
	[
		"an owner that isn't there",
		{ ownerReferences: [owner] },
		/ownerReferences/,
	],
	["a finalizer that nobody removes", { finalizers }, /finalizers/],
	[
		"the trigger",
		{ annotations: { "tidemill.dev/trigger": "Schedule" } },
		/annotation tidemill.dev\/trigger/,
	],
	[
		"an annotation of ours",
		{ annotations: { "a.tidemill.dev/b": "c" } },
		/annotation a.tidemill.dev\/b/,
	],
	[
		"a label of ours",
		{ labels: { "tidemill.dev/pipeline": "orders" } },
		/label tidemill.dev\/pipeline/,
	],
	["17 KiB of text", { annotations: { note: "x".repeat(17_000) } }, /16384/],
];

/** Which of these somebody can't create an object with, and can't give to one that is there. */
async function isRefused<T extends KubeObject>(
	client: KubeClient,
	kind: ResourceKind<T>,
	{ metadata, ...rest }: KubeObject,
): Promise<void> {
	for (const [what, forgery, message] of forged) {
		const refused = { status: 403, message: expect.stringMatching(message) };
		const named = { ...metadata, name: "forged", ...forgery };
		const object = { ...rest, metadata: named } as never;
		const made = client.create(kind, object, { dryRun: true });
		await expect(made, what).rejects.toMatchObject(refused);
		await expect(
			client.patch(
				kind,
				metadata.name,
				account,
				{ metadata: forgery },
				"merge",
			),
			what,
		).rejects.toMatchObject(refused);
	}
	const free = {
		labels: { team: "data", "app.kubernetes.io/instance": "shop" },
		annotations: { "argocd.argoproj.io/tracking-id": "shop:x", note: "1" },
	};
	const changed = await client.patch(
		kind,
		metadata.name,
		account,
		{ metadata: free },
		"merge",
	);
	expect(changed.metadata).toMatchObject(free);
}

test("who may only start Runs sets names, labels, annotations and spec, and has none removed, kept or passed off as the schedule's", async () => {
	const annotations = { "tidemill.dev/request": "r", note: "1" };
	const metadata = { generateName: "orders-", namespace: account };
	const made = await runner.create<Run>(
		runKind,
		newRun("orders", { ...metadata, annotations } as never),
	);
	expect(made.metadata).toMatchObject({ annotations });
	await isRefused(runner, runKind, {
		...newRun("orders", { name: made.metadata.name, namespace: account }),
	});
	const patch = (change: object) =>
		runner.patch<Run>(runKind, made.metadata.name, account, change, "merge");
	for (const request of [null, "another"])
		await expect(
			patch({ metadata: { annotations: { "tidemill.dev/request": request } } }),
		).rejects.toMatchObject({ status: 403 });
	const changed = await patch({ spec: { cancel: true } });
	expect(changed.spec.cancel).toBe(true);
});

test("who may only erase has nobody's Erase removed while it runs, and keeps none for ever", async () => {
	const metadata = { name: "orders", namespace: account };
	const spec = {
		type: "Erase",
		sourceRef: { name: "shop" },
		filter: { eventIDs: ["01890a5d-ac96-774b-b1a1-c2d3e4f50617"] },
		erase: { mode: "RemoveRow", confirm: "shop" },
	};
	await admin.create(operationKind, { metadata, spec } as never);
	await isRefused(eraser, operationKind, { metadata, spec } as never);
	// The operator has to write its end, too.
	const many = Array.from({ length: 4_000 }, (_, n) => [`f:key-${n}`, {}]);
	const managedFields = [
		{
			manager: "x",
			operation: "Update",
			apiVersion: "tidemill.dev/v1alpha1",
			time: "2026-01-01T00:00:00Z",
			fieldsType: "FieldsV1",
			fieldsV1: { "f:metadata": { "f:annotations": Object.fromEntries(many) } },
		},
	];
	await expect(
		eraser.patch(
			operationKind,
			"orders",
			account,
			{ metadata: { managedFields } },
			"merge",
		),
	).rejects.toMatchObject({
		status: 403,
		message: expect.stringContaining("managedFields"),
	});
});

test("an editor sets no owners, finalizers and marks of Tidemill, and frees what a finalizer of others holds", async () => {
	const metadata = { name: "orders", namespace: account };
	const spec = {
		sourceRef: { name: "shop" },
		destinationRef: { name: "lake" },
	};
	const { metadata: real } = await admin.create(kinds.configMap, { metadata });
	const ownerReferences = [{ ...owner, name: "orders", uid: real.uid! }];
	await admin.create(pipelineKind, {
		metadata: { ...metadata, finalizers, ownerReferences },
		spec,
	} as never);
	// What is there already stays, and so does the Pipeline usable.
	const patch = (change: object) =>
		editor.patch<Pipeline>(pipelineKind, "orders", account, change, "merge");
	const changed = await patch({ spec: { suspend: true } });
	expect(changed.metadata).toMatchObject({ finalizers });
	await expect(
		patch({ metadata: { ownerReferences: null } }),
	).rejects.toMatchObject({ status: 403 });
	await expect(
		runner.patch(
			runKind,
			await heldRun(),
			account,
			{ metadata: { finalizers: null } },
			"merge",
		),
	).rejects.toMatchObject({ status: 403 });
	await patch({ metadata: { finalizers: null } });
	await admin.create(pipelineKind, {
		metadata: { ...metadata, name: "other" },
		spec,
	} as never);
	await isRefused(editor, pipelineKind, {
		metadata: { ...metadata, name: "other" },
		spec,
	} as never);
});

/** A Run with a finalizer, which a runner may cancel. */
async function heldRun(): Promise<string> {
	const name = "held";
	const metadata = { name, namespace: account, finalizers };
	await admin.create(runKind, newRun("orders", metadata));
	const change = { spec: { cancel: true } };
	await runner.patch(runKind, name, account, change, "merge");
	return name;
}

test("garbage collection goes on: an editor deletes a Pipeline after its Runs, or without them", async () => {
	for (const propagationPolicy of ["Foreground", "Orphan"] as const) {
		const name = propagationPolicy.toLowerCase();
		const metadata = { name, namespace: account };
		const { metadata: made } = await editor.create(pipelineKind, {
			metadata,
			spec: { sourceRef: { name: "shop" }, destinationRef: { name: "lake" } },
		} as never);
		const owned = {
			...{ apiVersion: "tidemill.dev/v1alpha1", kind: "Pipeline" },
			...{ name, uid: made.uid!, blockOwnerDeletion: true, controller: true },
		};
		await admin.create(
			runKind,
			newRun(name, { ...metadata, ownerReferences: [owned] } as never),
		);
		await editor.delete(pipelineKind, name, account, { propagationPolicy });
		await vi.waitFor(async () => {
			expect(await admin.get(pipelineKind, name, account)).toBeUndefined();
			const run = await admin.get<Run>(runKind, name, account);
			if (propagationPolicy === "Foreground") expect(run).toBeUndefined();
			else expect(run?.metadata.ownerReferences).toBeUndefined();
		}, soon);
	}
});

test("who hands out tokens gives a ServiceAccount no identity of a cloud, no Secrets, and nothing that removes or keeps it", async () => {
	const name = "tidemill-token-mine";
	const labels = { "tidemill.dev/token": "read" };
	const create = (change: object, metadata: object = {}) =>
		tokenAdmin.create(
			kinds.serviceAccount,
			{
				metadata: { name, namespace: account, labels, ...metadata },
				...change,
			} as never,
			{ dryRun: true },
		);
	const bound = { apiVersion: "v1", kind: "Secret", name, uid: owner.uid };
	await create({}, { ownerReferences: [bound] });
	for (const [change, metadata] of [
		[{ secrets: [{ name: "other" }] }],
		[{ imagePullSecrets: [{ name: "other" }] }],
		[{}, { ownerReferences: [owner] }],
		[{}, { ownerReferences: [{ ...bound, blockOwnerDeletion: true }] }],
		[{}, { finalizers }],
		[{}, { labels: { ...labels, "azure.workload.identity/use": "true" } }],
		[{}, { labels: { ...labels, "tidemill.dev/use": "true" } }],
		...[
			"eks.amazonaws.com/role-arn",
			"iam.gke.io/gcp-service-account",
			"azure.workload.identity/client-id",
			"example.com/identity",
		].map((key) => [{}, { annotations: { [key]: "x" } }]),
	] as [object, object?][])
		await expect(create(change, metadata)).rejects.toMatchObject({
			status: 403,
		});
});

const keys = {
	sourceKey: "a".repeat(32),
	urlKey: "b".repeat(32),
	shard: "9999",
};
const use = { "tidemill.dev/use": "true" };
const issued = { ...use, "tidemill.dev/issued-for": "coming" };

function secretOf(name: string, labels: Record<string, string>) {
	return {
		metadata: { name, namespace: account, labels },
		stringData: keys,
	};
}

test("nobody but the operator, and who restores a cluster, writes the keys of a Source's URL", async () => {
	const refused = { status: 403 };
	const own = secretOf("coming-webhook-url", issued);
	for (const client of [editor, builtIn])
		for (const secret of [own, secretOf("other", issued)])
			await expect(
				client.create(kinds.secret, secret, { dryRun: true }),
			).rejects.toMatchObject(refused);
	await expect(
		editor.create(kinds.secret, secretOf("coming-webhook-url", use)),
	).rejects.toMatchObject(refused);
	// Other applications have Secrets of such names, too.
	await builtIn.create(kinds.secret, secretOf("slack-webhook-url", {}));

	await admin.create(kinds.secret, own);
	const { name } = own.metadata;
	const change = (patch: object) =>
		builtIn.patch(kinds.secret, name, account, patch, "merge");
	for (const patch of [
		{ stringData: { shard: "0" } },
		{ metadata: { labels: { "tidemill.dev/issued-for": null } } },
	])
		await expect(change(patch)).rejects.toMatchObject(refused);
	await expect(
		builtIn.patch(
			kinds.secret,
			"slack-webhook-url",
			account,
			{ metadata: { labels: issued } },
			"merge",
		),
	).rejects.toMatchObject(refused);
	await change({ metadata: { annotations: { note: "kept" } } });
});

test("nobody but an operator claims namespaces for an installation, by a Lease that operators would believe", async () => {
	const refused = { status: 403, message: expect.stringMatching(/claim/) };
	const claims = { "tidemill.dev/claims": '{"*":"2020-01-01T00:00:00.000Z"}' };
	const lease = (name: string, metadata: object) => ({
		metadata: { name, namespace: account, ...metadata },
		spec: {},
	});
	const labels = operatorLeaseLabels;
	const forged = lease("forged", { labels, annotations: claims });
	await expect(builtIn.create(kinds.lease, forged)).rejects.toMatchObject(
		refused,
	);
	// Either part alone is nobody's claim, and gets no other part.
	await builtIn.create(kinds.lease, lease("labelled", { labels }));
	await builtIn.create(kinds.lease, lease("noted", { annotations: claims }));
	for (const [name, metadata] of [
		["labelled", { annotations: claims }],
		["noted", { labels }],
	] as const)
		await expect(
			builtIn.patch(kinds.lease, name, account, { metadata }, "merge"),
		).rejects.toMatchObject(refused);
	// Whoever may renew an operator's Lease goes on.
	await admin.create(kinds.lease, {
		...forged,
		metadata: { ...forged.metadata, name: "own" },
	});
	const renewal = { spec: { holderIdentity: "a" } };
	await builtIn.patch(kinds.lease, "own", account, renewal, "merge");
	await expect(
		builtIn.patch(
			kinds.lease,
			"own",
			account,
			{ metadata: { annotations: { "tidemill.dev/claims": "{}" } } },
			"merge",
		),
	).rejects.toMatchObject(refused);
	await admin.delete(kinds.lease, "own", account);
	await kubectlDone(["apply", "-f", "charts/tidemill/files/rbac/rbac.yaml"]);
	// An operator's rights in one namespace give it no others.
	const ofOne = await tokenOf(account, "of-one", "edit", "tidemill-operator");
	await expect(
		clientOf(ofOne).create(kinds.lease, forged),
	).rejects.toMatchObject(refused);
	// As an operator of an earlier version, after a rollback.
	const bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
	await admin.raw("POST", bindings, {
		body: {
			metadata: { name: account },
			roleRef: {
				apiGroup: "rbac.authorization.k8s.io",
				kind: "ClusterRole",
				name: "tidemill-operator",
			},
			subjects: [
				{ kind: "ServiceAccount", name: "built-in", namespace: account },
			],
		},
	});
	onTestFinished(async () => {
		await admin.raw("DELETE", `${bindings}/${account}`);
	});
	await vi.waitFor(() => builtIn.create(kinds.lease, forged), soon);
	const other = { annotations: { "tidemill.dev/claims": "{}" } };
	await builtIn.patch(
		kinds.lease,
		"forged",
		account,
		{ metadata: other },
		"merge",
	);
	await admin.delete(kinds.lease, "forged", account);
});
