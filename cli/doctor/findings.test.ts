import { expect, test } from "vitest";
import type { Lease } from "../../packages/kube/kinds.ts";
import type { ClusterFacts } from "./facts.ts";
import { findings } from "./findings.ts";

const nowMs = Date.parse("2026-03-01T12:00:00Z");
const expected = ["sources", "runs"];
const healthy: ClusterFacts = {
	kubernetes: "v1.36.3",
	clockSkewMs: 400,
	served: ["sources", "runs"],
	missingRights: [],
	leases: [lease("2026-03-01T11:59:55Z")],
	workloads: [
		workload("receive", 2, 2),
		workload("archive", 1, 1),
		workload("nats", 3, 3, "2.15"),
	],
	unserved: [],
	claims: [],
	pods: [],
	podless: [],
	resources: [],
	restApi: { clockSkewMs: 400 },
};

const shop = { kind: "Source", name: "source shop", called: "source/shop" };

function leaseOfSharedAccount() {
	const { metadata, spec } = lease("2026-03-01T11:59:55Z");
	const annotations = { "tidemill.dev/nats-account": "shared" };
	return { metadata: { ...metadata, annotations }, spec };
}

test("an operator that waits for a restore says what ends it", () => {
	const { metadata, spec } = lease("2026-03-01T11:59:55Z");
	const annotations = { "tidemill.dev/restore": "awaited" };
	const found = findingsOf({
		leases: [{ metadata: { ...metadata, annotations }, spec }],
	}).filter(({ result }) => result === "failed");
	expect(found).toEqual([
		expect.objectContaining({
			advice: expect.stringContaining("tidemill restore --complete -n "),
		}),
	]);
});

test("shards that stop events or Runs are named with the reason and the next command", () => {
	const { metadata, spec } = lease("2026-03-01T11:59:55Z");
	const stopped = (reasons: Record<number, string>) => {
		const annotations = {
			"tidemill.dev/stopped-shards": JSON.stringify(reasons),
		};
		return findingsOf({
			leases: [{ metadata: { ...metadata, annotations }, spec }],
		}).filter(({ check }) => check.startsWith("shard"));
	};
	expect(
		stopped({ 0: "BufferFull", 1: "ArchiveFails", 4: "CutMismatch" }),
	).toEqual([
		expect.objectContaining({
			check: "shard 0",
			result: "failed",
			message: expect.stringContaining("senders to its sources get 503"),
			advice: expect.stringContaining("TidemillBufferFills.md"),
		}),
		expect.objectContaining({
			check: "shard 1",
			message: expect.stringContaining("tries again"),
		}),
		expect.objectContaining({
			check: "shard 4",
			message: expect.stringContaining("the alarm CutMismatch"),
			advice: expect.stringMatching(/kubectl logs -n \S+ -l .*=archive$/),
		}),
	]);
	expect(stopped({})).toEqual([]);
});

/** @param taken when the apiserver took the renewal, by its clock. */
function renewed(renewTime: string, taken: string): Lease {
	const { metadata, spec } = lease(renewTime);
	const entry = (manager: string, time: string, fieldsV1: object) => ({
		...{ manager, operation: "Update", apiVersion: "coordination.k8s.io/v1" },
		...{ time, fieldsType: "FieldsV1", fieldsV1 },
	});
	const managedFields = [
		entry("kubectl", "2026-03-01T11:59:59Z", { "f:metadata": {} }),
		entry("tidemill-operator", taken, { "f:spec": { "f:renewTime": {} } }),
	];
	return { metadata: { ...metadata, managedFields }, spec };
}

function operatorOf(namespace: string) {
	return {
		namespace,
		account: "tidemill-system:tidemill-operator",
		role: "tidemill-operator-in-namespace",
	};
}

function findingsOf(facts: Partial<ClusterFacts>) {
	return findings(
		{ ...healthy, ...facts },
		{ expected, clientVersion: "0.1.0", namespace: "shop", nowMs },
	);
}

test("a healthy installation has no failure", () => {
	expect(
		findingsOf({}).map(({ check, result }) => `${check} ${result}`),
	).toEqual([
		"cluster ok",
		"clock ok",
		"REST API ok",
		"clock of the REST API ok",
		"resources ok",
		"rights ok",
		"operator ok",
		"receive ok",
		"archive ok",
		"nats ok",
	]);
});

test.each<[string, Partial<ClusterFacts>, string, string]>([
	["cluster", { kubernetes: "v1.33.9" }, "v1.33.9", "1.34 or later"],
	["clock", { clockSkewMs: -90_000 }, "90 s behind", "NTP"],
	[
		"clock",
		{
			clockSkewMs: 31_000,
			leases: [renewed("2026-03-01T12:00:26Z", "2026-03-01T12:00:26Z")],
		},
		"31 s ahead",
		"NTP",
	],
	["resources", { served: [] }, "doesn't know tidemill.dev", "CRDs"],
	["resources", { served: ["runs"] }, "lacks sources", "CRDs"],
	["rights", { missingRights: ["list runs"] }, "list runs", "viewer"],
	[
		"namespace shop",
		{ unserved: [{ ...operatorOf("shop"), isMissing: true }] },
		"doesn't exist",
		"operator.watchNamespaces",
	],
	[
		"namespace shop",
		{ unserved: [{ ...operatorOf("shop"), isMissing: false }] },
		"no binding to tidemill-operator-in-namespace",
		"--serviceaccount=tidemill-system:tidemill-operator --namespace=shop",
	],
	[
		"all namespaces",
		{ unserved: [{ ...operatorOf("*"), isMissing: false }] },
		"no ClusterRoleBinding to tidemill-operator-in-namespace",
		"kubectl create clusterrolebinding tidemill-operator-in-namespace",
	],
	["operator", { leases: [] }, "no operator has ever led", "Install"],
	[
		"NATS",
		{ leases: [leaseOfSharedAccount()] },
		"no account tidemill-operator",
		"files/nats.conf",
	],
	[
		"operator",
		{ leases: [lease("2026-03-01T11:00:00Z")] },
		"3600 s ago",
		"kubectl get pods -n tidemill-system",
	],
	[
		"clock of operator",
		{ leases: [renewed("2026-03-01T10:59:55Z", "2026-03-01T11:59:55Z")] },
		"3600 s behind the apiserver's",
		"NTP",
	],
	[
		"clock of operator",
		{ leases: [renewed("2026-03-01T12:00:27Z", "2026-03-01T11:59:55Z")] },
		"32 s ahead of the apiserver's",
		"-o wide",
	],
	[
		"operator",
		{ leases: [lease("2026-03-01T11:59:55Z", "")] },
		"none is running",
		"kubectl get pods",
	],
	[
		"archive",
		{ workloads: [workload("archive", 1, 0)] },
		"0 of 1 Pods",
		"NATS and the bucket",
	],
	[
		"archive",
		{ workloads: [workload("operator", 1, 1), workload("archive", 0, 0)] },
		"none runs in namespace tidemill-system",
		"TidemillArchiveDown.md",
	],
	[
		"archive",
		{ workloads: [workload("operator", 1, 1)] },
		"nobody makes what a NATS of your own has lost",
		"component=archive",
	],
	[
		"archive",
		{ workloads: [workload("archive", 1, 1, "0.2.0")] },
		"version 0.2.0",
		"the installed version",
	],
	[
		"source shop",
		{
			resources: [
				{
					...shop,
					condition: {
						type: "Ready",
						status: "False",
						reason: "KeyTaken",
						message: "Taken.",
						lastTransitionTime: "2026-03-01T11:00:00Z",
					},
				},
			],
		},
		"Taken. (KeyTaken)",
		'conditions.md, "Source: Ready", KeyTaken. What happened: kubectl describe source/shop -n shop',
	],
	[
		"source shop",
		{ resources: [{ ...shop, condition: undefined }] },
		"no operator has looked at it yet",
		"kubectl describe source/shop -n shop",
	],
	[
		"REST API",
		{ restApi: { problem: "api.example is unreachable" } },
		"api.example is unreachable",
		"tidemill tokens whoami",
	],
	[
		"clock of the REST API",
		{ restApi: { clockSkewMs: -90_000 } },
		"the REST API's clock is 90 s behind this machine's",
		"NTP",
	],
])("%s fails with %j, and says what to do", (check, facts, message, advice) => {
	const failures = findingsOf(facts).filter(
		({ result }) => result === "failed",
	);
	expect(failures).toHaveLength(1);
	expect(failures[0]!.check).toBe(check);
	expect(failures[0]!.message).toContain(message);
	expect(failures[0]!.advice ?? "").toContain(advice);
});

test("two installations that claim the same are reported once, by the one that came second", () => {
	const claims = [
		{
			installation: "one/operator",
			since: { shop: "2026-03-01T11:00:00.000Z" },
		},
		{
			installation: "two/operator",
			since: { shop: "2026-03-01T11:30:00.000Z" },
		},
	];
	const failures = findingsOf({ claims }).filter(
		({ result }) => result === "failed",
	);
	expect(failures).toEqual([
		{
			check: "namespace shop",
			result: "failed",
			message:
				"one/operator claimed it first, so two/operator, which claims it as well, doesn't serve it",
			advice: expect.stringContaining("operator.watchNamespaces"),
		},
	]);
});

test("each of several installations has its operator's line", () => {
	const leases = [lease("2026-03-01T11:59:55Z"), lease("2026-03-01T11:00:00Z")];
	leases[1]!.metadata = { name: "two-operator", namespace: "two" };
	const found = findingsOf({ leases }).filter(({ check }) =>
		check.startsWith("operator"),
	);
	expect(found.map(({ check, result }) => [check, result])).toEqual([
		["operator tidemill-system/tidemill-operator", "ok"],
		["operator two/two-operator", "failed"],
	]);
});

test("while setup hasn't ended, nothing says that Tidemill runs outside", () => {
	const found = findingsOf({
		workloads: [],
		podless: [{ name: "tidemill-setup-0a1b2c3d", namespace: "s", events: [] }],
	});
	expect(found.find(({ check }) => check === "processes")).toMatchObject({
		result: "failed",
	});
});

test("what the person may not see is skipped", () => {
	const found = findingsOf({ leases: undefined, workloads: undefined });
	expect(found.filter(({ result }) => result === "failed")).toEqual([]);
	expect(found.filter(({ result }) => result === "skipped")).toHaveLength(2);
});

test("a viewer's or a runner's missing rights are no failure", () => {
	const found = findingsOf({ missingRights: ["create runs", "patch runs"] });
	expect(found.find(({ check }) => check === "rights")).toMatchObject({
		result: "skipped",
		message: "in namespace shop you may not: create runs, patch runs",
	});
});

test("a cluster that doesn't answer is the only finding", () => {
	const found = findingsOf({ unreachable: "connect ECONNREFUSED" });
	expect(found).toHaveLength(1);
	expect(found[0]).toMatchObject({ check: "cluster", result: "failed" });
});

function lease(renewTime: string, holderIdentity = "pod-1") {
	return {
		metadata: { name: "tidemill-operator", namespace: "tidemill-system" },
		spec: { renewTime, holderIdentity, leaseDurationSeconds: 15 },
	};
}

function workload(
	component: string,
	replicas: number,
	readyReplicas: number,
	version = "0.1.0",
) {
	return {
		metadata: {
			name: `tidemill-${component}`,
			namespace: "tidemill-system",
			labels: {
				"app.kubernetes.io/component": component,
				"app.kubernetes.io/version": version,
			},
		},
		spec: { replicas },
		status: { readyReplicas },
	};
}

test("an operator whose clock agrees with the apiserver's runs, though this machine's clock is an hour off", () => {
	const found = findingsOf({
		clockSkewMs: -3_600_000,
		leases: [renewed("2026-03-01T10:59:55Z", "2026-03-01T10:59:55Z")],
	});
	expect(
		found.filter(({ result }) => result === "failed").map(({ check }) => check),
	).toEqual(["clock"]);
});
