import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { KubeConfig } from "@kubernetes/client-node";
import type { NatsConnection } from "@nats-io/transport-node";
import { afterAll, beforeAll, expect, inject, test, vi } from "vitest";
import {
	type Run,
	runKind,
	type Source,
	sourceKind,
} from "../../../crds/generated/types.ts";
import { finalizer } from "../../../crds/labels.ts";
import type { DeletionAnswer } from "../../../packages/contracts/archive.ts";
import { deletionSubject } from "../../../packages/contracts/nats.ts";
import { KubeClient } from "../../../packages/kube/client/client.ts";
import { loadKubeConfig } from "../../../packages/kube/client/kube-config.ts";
import { findCondition } from "../../../packages/kube/conditions.ts";
import { kinds } from "../../../packages/kube/kinds.ts";
import { createLog } from "../../../packages/service/log.ts";
import { connectNats } from "../../../packages/service/nats/connection.ts";
import { Settings } from "../../../packages/service/settings.ts";
import { tokenOf } from "../../support/fixtures/control-plane/api-fixture.ts";
import {
	eventReasons,
	routesIn,
} from "../../support/fixtures/control-plane/cluster-state.ts";
import {
	dailyLoad,
	OperatorWorld,
} from "../../support/fixtures/control-plane/operator-world.ts";
import { kubectlDone } from "../../support/servers/kubectl.ts";
import { temporaryDirectory } from "../../support/servers/test-server.ts";
import type { TidemillProcess } from "../../support/servers/tidemill-process.ts";

/* The operator does its work with the bindings of the chart's files/rbac/rbac.yaml, and reaches no namespace that has none. */

const soon = { timeout: 120_000, interval: 50 };
const forbidden = { status: 403 };
let world: OperatorWorld;
let system: string;
let account: string;
let stranger: string;
let user: string;
let kubeconfig: string;
let client: KubeClient;
let admin: NatsConnection;
let operator: TidemillProcess;

beforeAll(async () => {
	world = await OperatorWorld.start();
	[system = "", account = "", stranger = ""] = await world.namespaces(3);
	// With the policy for people's roles, which judges it, too.
	for (const name of ["rbac", "roles"]) {
		const file = `../../../charts/tidemill/files/rbac/${name}.yaml`;
		await kubectlDone([
			"apply",
			`--filename=${join(import.meta.dirname, file)}`,
		]);
	}
	const token = await tokenOf(system, "tidemill-operator");
	user = `--serviceaccount=${system}:tidemill-operator`;
	await kubectlDone([
		...["create", "clusterrolebinding", system, user],
		"--clusterrole=tidemill-operator",
	]);
	await bind(system, "tidemill-operator-lease");
	await bind(account, "tidemill-operator-in-namespace");
	const { clusters, currentContext } = loadKubeConfig(inject("kubeconfig"));
	const name = currentContext;
	const restricted = new KubeConfig();
	restricted.loadFromOptions({
		clusters,
		users: [{ name: "operator", token }],
		contexts: [{ name, cluster: clusters[0]!.name, user: "operator" }],
		currentContext,
	});
	client = KubeClient.fromConfig(restricted);
	kubeconfig = join(await temporaryDirectory("bindings"), "kubeconfig");
	await writeFile(kubeconfig, restricted.exportConfig(), { mode: 0o600 });
	const deleted: DeletionAnswer = { ok: true, isDone: true, objects: 0 };
	world.archive.subscribe(deletionSubject(0), {
		callback: (_, message) => {
			message.respond(JSON.stringify(deleted));
		},
	});
	admin = await connectNats(
		new Settings({ NATS_URL: world.nats.url }),
		"admin",
		createLog("test"),
	);
	operator = startOperator();
});

afterAll(async () => {
	await admin?.close();
	await world?.stop();
	await kubectlDone(["delete", "clusterrolebinding", system]);
});

function startOperator() {
	const env = { KUBECONFIG: kubeconfig, LEASE_NAMESPACE: system };
	return world.startOperator([account, stranger], { env });
}

function bind(namespace: string, role: string): Promise<unknown> {
	return kubectlDone([
		...["create", "rolebinding", role, `--clusterrole=${role}`, user],
		`--namespace=${namespace}`,
	]);
}

function sourceIn(namespace: string, name: string) {
	return world.client.get<Source>(sourceKind, name, namespace);
}

async function isActive(namespace: string, name: string): Promise<Source> {
	return vi.waitFor(async () => {
		const source = await sourceIn(namespace, name);
		const ready = findCondition(source?.status?.conditions, "Ready");
		expect(ready?.reason).toBe("Active");
		return source!;
	}, soon);
}

test("with a binding in its namespace, a Source gets its URL and a Run its Job, beside a namespace that has none", async () => {
	await world.apply(account, dailyLoad);
	await isActive(account, "orders");
	await world.apply(
		account,
		`apiVersion: tidemill.dev/v1alpha1
kind: Run
metadata: { name: by-hand }
spec: { pipelineRef: { name: load } }`,
	);
	await vi.waitFor(async () => {
		const run = await world.client.get<Run>(runKind, "by-hand", account);
		expect(run?.status?.phase).toBe("Succeeded");
		expect(await world.client.get(kinds.job, "by-hand", account)).toBe(
			undefined,
		);
	}, soon);
	await vi.waitFor(
		async () =>
			expect(
				await eventReasons(world.client, sourceKind, account, "orders"),
			).toContain("URLIssued"),
		soon,
	);
});

test("without a binding, it reaches no Secret, Job or log of a namespace, and gives it no URL", async () => {
	await world.client.create(kinds.secret, {
		metadata: {
			name: "payroll",
			namespace: stranger,
			labels: { "tidemill.dev/use": "true" },
		},
		stringData: { password: "s3cret" },
	});
	await world.apply(stranger, dailyLoad);
	// The operator has looked at every Source by then.
	await world.apply(
		account,
		`apiVersion: tidemill.dev/v1alpha1
kind: Source
metadata: { name: later }
spec: { type: Webhook, deletionPolicy: Delete }`,
	);
	await isActive(account, "later");
	expect((await sourceIn(stranger, "orders"))?.status?.webhookURL).toBe(
		undefined,
	);
	const secrets = `/api/v1/namespaces/${stranger}/secrets`;
	for (const [method, path] of [
		["GET", secrets],
		["GET", `${secrets}/payroll`],
		["DELETE", `${secrets}/payroll`],
		["PATCH", `${secrets}/payroll`],
		["POST", `/apis/batch/v1/namespaces/${stranger}/jobs`],
		["GET", `/api/v1/namespaces/${stranger}/pods`],
		["GET", "/api/v1/secrets"],
		// Not even where it may work: it reads no logs and binds no roles.
		["GET", `/api/v1/namespaces/${account}/pods/p/log`],
		[
			"POST",
			`/apis/rbac.authorization.k8s.io/v1/namespaces/${account}/rolebindings`,
		],
	] as const)
		await expect(
			client.raw(method, path, {
				...(method !== "GET" && {
					body: {},
					...(method === "PATCH" && {
						contentType: "application/merge-patch+json",
					}),
				}),
			}),
			`${method} ${path}`,
		).rejects.toMatchObject(forbidden);
});

test("a namespace whose binding goes keeps its URLs, also when the operator starts anew", async () => {
	const { status } = await isActive(account, "later");
	operator.child.kill("SIGTERM");
	await operator.ended;
	await kubectlDone([
		...["delete", "rolebinding", "tidemill-operator-in-namespace"],
		`--namespace=${account}`,
	]);
	await bind(stranger, "tidemill-operator-in-namespace");
	operator = startOperator();
	// The operator has published the routes by then.
	await isActive(stranger, "orders");
	const { routes } = await routesIn(admin);
	expect(routes.later).toMatchObject({
		account,
		sourceKey: status!.sourceKey,
		authorization: { type: "None" },
	});
});

test("a Source's finalizer ends when its namespace is deleted together with its bindings", async () => {
	expect((await sourceIn(account, "later"))?.metadata.finalizers).toEqual([
		finalizer,
	]);
	await world.client.delete(kinds.namespace, account);
	await vi.waitFor(
		async () => expect(await sourceIn(account, "later")).toBeUndefined(),
		soon,
	);
});
