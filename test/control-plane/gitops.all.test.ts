// In make test: test/gitops/examples.test.ts
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import {
	destinationKind,
	pipelineKind,
	sourceKind,
} from "../../crds/generated/types.ts";
import { fieldManager } from "../../crds/labels.ts";
import { kinds } from "../../packages/kube/kinds.ts";
import type { KubeObject, ResourceKind } from "../../packages/kube/resource.ts";
import { argoHealthOf } from "../support/doubles/kubernetes/argocd-health.ts";
import { kstatusOf } from "../support/doubles/kubernetes/kstatus.ts";
import { OperatorWorld } from "../support/fixtures/control-plane/operator-world.ts";
import { kubectl, kubectlDone } from "../support/servers/kubectl.ts";

/*
 * What Argo CD and Flux do with the example of an account: they apply it, wait until it is healthy, and from then on look
 * for differences between Git and the cluster. The operator must make none.
 */

const base = join(import.meta.dirname, "../../examples/gitops/base");
const { resources } = parse(
	readFileSync(join(base, "kustomization.yaml"), "utf8"),
) as { resources: string[] };
const manifests = resources
	.map((file) => readFileSync(join(base, file), "utf8"))
	.join("\n---\n");

let world: OperatorWorld;
beforeAll(async () => {
	world = await OperatorWorld.start();
});
afterAll(() => world?.stop());

const wait = { timeout: 120_000, interval: 50 };

const applied: [ResourceKind<KubeObject>, string][] = [
	[sourceKind, "shop"],
	[destinationKind, "warehouse"],
	[pipelineKind, "orders"],
	[kinds.persistentVolumeClaim as ResourceKind<KubeObject>, "warehouse"],
];

test.each([
	["a client-side apply", []],
	[
		"a server-side apply",
		["--server-side", "--field-manager=argocd-controller"],
	],
])(
	"after %s everything becomes healthy, and nothing differs from Git",
	async (_, options) => {
		const [namespace = ""] = await world.namespaces(1);
		const labels = ["pod-security.kubernetes.io/enforce=restricted"];
		await kubectlDone(["label", "namespace", namespace, ...labels]);
		const inNamespace = [
			`--namespace=${namespace}`,
			...options,
			"--filename=-",
		];
		await kubectlDone(["apply", ...inNamespace], manifests);
		const before = await objectsIn(namespace);
		// Nobody has looked at them yet, so a wait must not end.
		for (const object of before.slice(0, 3))
			expect(kstatusOf(object)).toBe("InProgress");

		const operator = world.startOperator([namespace]);
		await vi.waitFor(async () => {
			for (const object of (await objectsIn(namespace)).slice(0, 3)) {
				expect(await argoHealthOf(object)).toMatchObject({ status: "Healthy" });
				expect(kstatusOf(object)).toBe("Current");
			}
		}, wait);
		operator.child.kill("SIGTERM");
		await operator.ended;

		const diff = await kubectl(["diff", ...inNamespace], manifests);
		expect(diff.stdout).toBe("");
		expect(diff.exitCode, diff.stderr).toBe(0);
		const after = await objectsIn(namespace);
		expect(after.slice(0, 3).map(fromGit)).toEqual(
			before.slice(0, 3).map(fromGit),
		);
		// What a tool that compares by field owners would see.
		for (const { metadata } of after) {
			const ours = JSON.stringify(
				(metadata as Managed).managedFields
					?.filter(({ manager }) => manager === fieldManager)
					.map(({ fieldsV1 }) => fieldsV1),
			);
			for (const field of ["f:spec", "f:labels", "f:annotations"])
				expect(ours ?? "").not.toContain(field);
		}
	},
);

test.each([
	["examples/gitops/base", "shop"],
	["examples/kind/quickstart", "default"],
])("kustomize builds %s", async (folder, namespace) => {
	const path = join(import.meta.dirname, "../..", folder);
	const built = parseAllDocuments(await kubectlDone(["kustomize", path]));
	const objects = built.map((document) => document.toJS() as KubeObject);
	expect(objects.map(({ metadata }) => metadata.name).toSorted()).toEqual(
		applied.map(([, name]) => name).toSorted(),
	);
	for (const { metadata } of objects)
		expect(metadata.namespace).toBe(namespace);
});

interface Managed {
	managedFields?: { manager: string; fieldsV1: unknown }[];
}

function objectsIn(namespace: string): Promise<KubeObject[]> {
	return Promise.all(
		applied.map(
			async ([kind, name]) => (await world.client.get(kind, name, namespace))!,
		),
	);
}

/** What Git can say about an object. */
function fromGit(object: KubeObject) {
	const { spec, metadata } = object as KubeObject & { spec: unknown };
	const { labels, annotations } = metadata;
	return { spec, labels, annotations };
}
