// In make test: operator/reconcile/namespace-permissions.test.ts
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { KubeConfig } from "@kubernetes/client-node";
import { afterAll, beforeAll, expect, inject, test, vi } from "vitest";
import {
	destinationKind,
	operationKind,
	pipelineKind,
	runKind,
	sourceKind,
	trackingPlanKind,
} from "../../../crds/generated/types.ts";
import { loadKubeConfig } from "../../../packages/kube/client/kube-config.ts";
import {
	type Condition,
	findCondition,
} from "../../../packages/kube/conditions.ts";
import { kinds } from "../../../packages/kube/kinds.ts";
import type {
	KubeObject,
	ResourceKind,
} from "../../../packages/kube/resource.ts";
import { tokenOf } from "../../support/fixtures/control-plane/api-fixture.ts";
import { eventReasons } from "../../support/fixtures/control-plane/cluster-state.ts";
import {
	dailyLoad,
	OperatorWorld,
} from "../../support/fixtures/control-plane/operator-world.ts";
import { ApiserverProxy } from "../../support/proxies/apiserver-proxy.ts";
import { kubectlDone, runCommandIn } from "../../support/servers/kubectl.ts";
import { temporaryDirectory } from "../../support/servers/test-server.ts";
import { startTidemill } from "../../support/servers/tidemill-process.ts";

/* Where the operator lacks its permissions, or the namespace itself is missing, people are told where they look. */

const soon = { timeout: 120_000, interval: 50 };
const role = "tidemill-operator-in-namespace";
/** One of each kind. */
const all = `${dailyLoad}
---
apiVersion: tidemill.dev/v1alpha1
kind: Run
metadata: { name: by-hand }
spec: { pipelineRef: { name: load } }
---
apiVersion: tidemill.dev/v1alpha1
kind: Operation
metadata: { name: look }
spec: { type: Inspect, sourceRef: { name: orders } }
---
apiVersion: tidemill.dev/v1alpha1
kind: TrackingPlan
metadata: { name: plan }
spec:
  eventType: { bodyPointer: /type }
  events: [{ type: order, schema: { type: object } }]
`;
const told: [ResourceKind<Reported>, string, string][] = [
	[sourceKind, "orders", "Ready"],
	[destinationKind, "lake", "Ready"],
	[pipelineKind, "load", "Ready"],
	[trackingPlanKind, "plan", "Ready"],
	[runKind, "by-hand", "Complete"],
	[operationKind, "look", "Complete"],
];
type Reported = KubeObject & { status?: { conditions?: Condition[] } };

let world: OperatorWorld;
let proxy: ApiserverProxy;
/** Of the operator's ServiceAccount. */
let kubeconfig: string;
let system: string;
let bound: string;
let unbound: string;
const absent = `absent-${Math.random().toString(36).slice(2, 10)}`;
let metricsPort: Promise<number>;

beforeAll(async () => {
	world = await OperatorWorld.start();
	[system = "", bound = "", unbound = ""] = await world.namespaces(3);
	const file = join(
		import.meta.dirname,
		"../../../charts/tidemill/files/rbac/rbac.yaml",
	);
	await kubectlDone(["apply", `--filename=${file}`]);
	const token = await tokenOf(system, "tidemill-operator");
	const user = `--serviceaccount=${system}:tidemill-operator`;
	await kubectlDone([
		...["create", "clusterrolebinding", system, user],
		"--clusterrole=tidemill-operator",
	]);
	for (const [namespace, name] of [
		[system, "tidemill-operator-lease"],
		[bound, role],
	])
		await kubectlDone([
			...["create", "rolebinding", name!, `--clusterrole=${name}`, user],
			`--namespace=${namespace}`,
		]);
	await kubectlDone(
		["apply", `--namespace=${system}`, "--filename=-"],
		operatorDeployment("tidemill-operator", `${bound},${unbound},${absent}`),
	);
	const { clusters, currentContext } = loadKubeConfig(inject("kubeconfig"));
	const restricted = new KubeConfig();
	restricted.loadFromOptions({
		clusters,
		users: [{ name: "operator", token }],
		contexts: [
			{ name: currentContext, cluster: clusters[0]!.name, user: "operator" },
		],
		currentContext,
	});
	proxy = await ApiserverProxy.start(restricted);
	kubeconfig = join(await temporaryDirectory("bindings"), "kubeconfig");
	await writeFile(kubeconfig, proxy.kubeConfig.exportConfig());
	const operator = world.startOperator([bound, unbound, absent], {
		env: {
			KUBECONFIG: kubeconfig,
			LEASE_NAMESPACE: system,
			OPERATOR_DEPLOYMENT: "tidemill-operator",
			LOG_LEVEL: "info",
		},
	});
	metricsPort = new Promise((resolve) => {
		operator.onLine = (line) => {
			lines.push(line);
			const { healthPort } = JSON.parse(line);
			if (healthPort) resolve(healthPort);
		};
	});
});

/** As the chart makes it. */
const operatorDeployment = (
	name: string,
	watched: string,
) => `apiVersion: apps/v1
kind: Deployment
metadata:
  name: ${name}
  labels: { app.kubernetes.io/part-of: tidemill }
spec:
  replicas: 0
  selector: { matchLabels: { app: ${name} } }
  template:
    metadata: { labels: { app: ${name} } }
    spec:
      serviceAccountName: tidemill-operator
      containers:
        - name: operator
          image: tidemill
          env: [{ name: WATCH_NAMESPACES, value: "${watched}" }]`;

/** The operator's log. */
const lines: string[] = [];

afterAll(async () => {
	await world?.stop();
	await proxy?.close();
	await kubectlDone(["delete", "clusterrolebinding", system]);
});

async function conditionOf(
	namespace: string,
	[kind, name, type]: (typeof told)[number],
): Promise<Condition | undefined> {
	const object = await world.client.get(kind, name, namespace);
	return findCondition(object?.status?.conditions, type);
}

async function allNotPermitted(namespace: string, within = soon) {
	let message = "";
	await vi.waitFor(async () => {
		for (const one of told) {
			const condition = await conditionOf(namespace, one);
			expect(condition, one[1]).toMatchObject({
				status: "False",
				reason: "NotPermitted",
			});
			message = condition!.message;
		}
	}, within);
	return message;
}

async function doctorSays(): Promise<string> {
	const { ended } = startTidemill(["doctor"], {
		KUBECONFIG: inject("kubeconfig"),
	});
	return (await ended).stdout;
}

async function allServed(namespace: string) {
	await vi.waitFor(async () => {
		for (const one of told) {
			const condition = await conditionOf(namespace, one);
			expect(condition, one[1]).toBeDefined();
			expect(condition!.reason, one[1]).not.toBe("NotPermitted");
		}
		const source = await conditionOf(namespace, told[0]!);
		expect(source?.reason).toBe("Active");
		const run = await conditionOf(namespace, told[4]!);
		expect(run?.reason).toBe("Succeeded");
	}, soon);
}

test("without a binding, each resource says so with the missing rules, and the command in its message brings everything on", async () => {
	await world.apply(unbound, all);
	const message = await allNotPermitted(unbound);
	expect(message).toContain(`may not in namespace "${unbound}"`);
	expect(message).toContain(
		"get, list, watch, create, patch, delete jobs.batch",
	);
	const told = `namespace ${unbound}: the operator (${system}:tidemill-operator) has no binding to ${role} there`;
	expect(await doctorSays()).toContain(told);
	await runCommandIn(message);
	await allServed(unbound);
	expect(await doctorSays()).not.toContain(told);
});

test("a binding that goes while nothing happens is noticed, costs next to nothing, and slows no other namespace", async () => {
	await kubectlDone(["delete", "rolebinding", role, `--namespace=${unbound}`]);
	// Nothing is written there meanwhile.
	await vi.waitFor(
		async () =>
			expect((await conditionOf(unbound, told[0]!))?.reason).toBe(
				"NotPermitted",
			),
		soon,
	);
	await world.client.delete(runKind, "by-hand", unbound);
	await world.client.delete(operationKind, "look", unbound);
	await world.apply(unbound, all);
	const message = await allNotPermitted(unbound);
	const before = proxy.requests.length;
	const startMs = performance.now();
	await world.apply(bound, all);
	await allServed(bound);
	const seconds = (performance.now() - startMs) / 1_000;
	const about = proxy.requests
		.slice(before)
		.filter(({ path }) => path.includes(`/${unbound}`));
	// The condition is written once; the questions after the permissions name no namespace in their path.
	expect(about.length).toBeLessThan(10 + seconds / 10);
	await runCommandIn(message);
	await allServed(unbound);
});

test("an operator of all namespaces without its ClusterRoleBinding says so in its log, at /readyz and by doctor", async () => {
	// Of the same lease: while another operator leads, this one could serve no namespace of another test.
	const operator = world.startOperator(["*"], {
		env: { KUBECONFIG: kubeconfig, LEASE_NAMESPACE: system, LOG_LEVEL: "info" },
	});
	const log: string[] = [];
	const port = await new Promise((resolve) => {
		operator.onLine = (line) => {
			log.push(line);
			const { healthPort } = JSON.parse(line);
			if (healthPort) resolve(healthPort);
		};
	});
	await vi.waitFor(async () => {
		const answer = await fetch(`http://127.0.0.1:${port}/readyz`);
		expect(answer.status).toBe(503);
		expect(await answer.text()).toContain(
			`The operator (system:serviceaccount:${system}:tidemill-operator) may not in all namespaces`,
		);
	}, soon);
	const lacks = () =>
		log.filter((line) => line.includes("no namespace is served"));
	// The log reaches the test by a pipe, after the answer.
	await expect.poll(lacks, soon).toHaveLength(1);
	expect(lacks()[0]).toContain(`kubectl create clusterrolebinding ${role} `);
	operator.child.kill("SIGTERM");
	await operator.ended;

	await kubectlDone(
		["apply", `--namespace=${system}`, "--filename=-"],
		operatorDeployment("tidemill-of-all", "*"),
	);
	expect(await doctorSays()).toContain(
		`all namespaces: the operator (${system}:tidemill-operator) has no ClusterRoleBinding to ${role}`,
	);
	await world.client.delete(kinds.deployment, "tidemill-of-all", system);
});

test("a watched namespace that doesn't exist is told on the Deployment, in the log and by a metric, and is served once it is there", async () => {
	const port = await metricsPort;
	const metrics = async () =>
		(await fetch(`http://127.0.0.1:${port}/metrics`)).text();
	const series = `tidemill_watched_namespace_missing{account="${absent}"} 1`;
	await vi.waitFor(async () => {
		expect(await metrics()).toContain(series);
		expect(
			await eventReasons(
				world.client,
				kinds.deployment,
				system,
				"tidemill-operator",
			),
		).toContain("WatchedNamespaceMissing");
	}, soon);
	const about = () =>
		lines.filter(
			(line) =>
				line.includes(`"${absent}"`) &&
				line.includes("a watched namespace doesn't exist"),
		);
	expect(about()).toHaveLength(1);
	const described = await kubectlDone([
		...["describe", "deployment", "tidemill-operator"],
		`--namespace=${system}`,
	]);
	expect(described).toContain(`Namespace "${absent}"`);

	expect(await doctorSays()).toContain(
		`namespace ${absent}: the operator watches it, and it doesn't exist`,
	);

	await world.client.create(kinds.namespace, { metadata: { name: absent } });
	await world.apply(absent, all);
	// By itself, the operator looks for the namespace every fifteen seconds at most.
	const message = await allNotPermitted(absent, soon);
	expect(await metrics()).not.toContain(series);
	await runCommandIn(message);
	await vi.waitFor(async () => {
		const source = await conditionOf(absent, told[0]!);
		expect(source?.reason).toBe("Active");
	}, soon);
	expect(about()).toHaveLength(1);
	await world.client.delete(kinds.namespace, absent);
});
