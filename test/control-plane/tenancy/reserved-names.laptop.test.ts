import { beforeAll, expect, inject, test } from "vitest";
import { type Run, runKind } from "../../../crds/generated/types.ts";
import { newRun } from "../../../crds/run.ts";
import type { KubeClient } from "../../../packages/kube/client/client.ts";
import { loadCluster } from "../../../packages/kube/client/cluster.ts";
import { tokenClients } from "../../../packages/kube/client/token-clients.ts";
import { kinds } from "../../../packages/kube/kinds.ts";
import {
	administrator,
	newAccount,
	tokenOf,
} from "../../support/fixtures/control-plane/api-fixture.ts";

/* What is the operator's is known by more than a name that others could choose. */

const clientOf = tokenClients(loadCluster(inject("kubeconfig")));
const admin = administrator();

let account: string;
let runner: KubeClient;
let editor: KubeClient;
let builtIn: KubeClient;

beforeAll(async () => {
	const made = await newAccount();
	account = made.account;
	runner = clientOf(made.tokens.runner);
	editor = clientOf(made.tokens.editor);
	builtIn = clientOf(await tokenOf(account, "built-in", "edit"));
});

const owner = {
	apiVersion: "v1",
	kind: "ConfigMap",
	name: "gone",
	uid: "6b1f1c1e-0000-4000-8000-000000000000",
};

const forged: [string, object][] = [
	["an owner that isn't there", { ownerReferences: [owner] }],
	["a finalizer that nobody removes", { finalizers: ["example.com/never"] }],
	["the trigger", { annotations: { "tidemill.dev/trigger": "Schedule" } }],
	["an annotation of ours", { annotations: { "a.tidemill.dev/b": "c" } }],
	["a label of ours", { labels: { "tidemill.dev/pipeline": "orders" } }],
];

test.each(forged)(
	"who may only start Runs makes none with %s",
	async (_, metadata) => {
		const name = "forged";
		const run = newRun("orders", { name, namespace: account, ...metadata });
		const refused = { status: 403, message: expect.stringMatching(/Only who/) };
		await expect(runner.create(runKind, run)).rejects.toMatchObject(refused);
		// Who may change Pipelines could have it all anyway.
		await editor.create(runKind, run, { dryRun: true });
	},
);

test("who may only start Runs sets names, labels, annotations and spec of a new one, and cancels it", async () => {
	const labels = { team: "data" };
	const annotations = { "tidemill.dev/request": "r", note: "1" };
	const metadata = { generateName: "orders-", namespace: account };
	const made = await runner.create<Run>(
		runKind,
		newRun("orders", { ...metadata, labels, annotations } as never),
	);
	const { name } = made.metadata;
	expect(made.metadata).toMatchObject({ labels, annotations });
	const patch = (change: object) =>
		runner.patch<Run>(runKind, name, account, change, "merge");
	for (const [, metadata] of forged)
		await expect(patch({ metadata })).rejects.toMatchObject({ status: 403 });
	for (const metadata of [
		{ labels: { team: null } },
		{ annotations: { "tidemill.dev/request": null } },
		{ annotations: { "tidemill.dev/request": "another" } },
	])
		await expect(patch({ metadata })).rejects.toMatchObject({ status: 403 });
	const changed = await patch({
		metadata: { annotations: { note: "2" } },
		spec: { cancel: true },
	});
	expect(changed.spec.cancel).toBe(true);
	expect(changed.metadata.annotations?.note).toBe("2");
});

test("a Run that an owner reference and a finalizer were given by those who may keeps them while a runner cancels it", async () => {
	const name = "owned";
	const finalizers = ["example.com/workflow"];
	const metadata = { name, namespace: account, finalizers };
	await admin.create(runKind, newRun("orders", metadata));
	const change = { spec: { cancel: true } };
	await runner.patch(runKind, name, account, change, "merge");
	await expect(
		runner.patch(
			runKind,
			name,
			account,
			{ metadata: { finalizers: null } },
			"merge",
		),
	).rejects.toMatchObject({ status: 403 });
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
