// On a laptop nothing proves this: Helm is built for minutes.
import type { V2HorizontalPodAutoscaler } from "@kubernetes/client-node";
import { afterAll, beforeAll, expect, inject, test, vi } from "vitest";
// yaml: reads YAML 1.2 to the letter.
import { stringify } from "yaml";
import { KubeClient } from "../../packages/kube/client/client.ts";
import { loadKubeConfig } from "../../packages/kube/client/kube-config.ts";
import { kinds, type WireForm } from "../../packages/kube/kinds.ts";
import type { ResourceKind } from "../../packages/kube/resource.ts";
import { examples, render } from "../support/chart/render.ts";
import {
	type MetricsAPI,
	startMetricsAPI,
} from "../support/doubles/kubernetes/metrics-api.ts";
import { kubectlDone } from "../support/servers/kubectl.ts";

/* Kubernetes' own autoscaler and Deployment controller, with a double of metrics-server and Pods that nobody runs. */

const namespace = "autoscaling";
const labelSelector =
	"app.kubernetes.io/instance=tidemill,app.kubernetes.io/component=receive";
const autoscalers: ResourceKind<WireForm<V2HorizontalPodAutoscaler>> = {
	group: "autoscaling",
	version: "v2",
	kind: "HorizontalPodAutoscaler",
	plural: "horizontalpodautoscalers",
	namespaced: true,
};
/** Pods are asked for at each turn of the autoscaler, and each kubectl burns a tenth of a second. */
const client = KubeClient.fromConfig(loadKubeConfig(inject("kubeconfig")));
const loadMillicores = 1000;
/** Each requests 250m, and the target is 70 % of that: 5.7 of them. */
const receivers = 6;
let metrics: MetricsAPI;

beforeAll(async () => {
	await kubectlDone(["create", "namespace", namespace]);
	metrics = await startMetricsAPI(inject("pki").nodeServing, async () => {
		const names = await podNames();
		const share = `${Math.ceil(loadMillicores / names.length)}m`;
		return Object.fromEntries(names.map((name) => [name, share]));
	});
	await apply(metrics.objects);
});

afterAll(async () => {
	await kubectlDone(
		["delete", "--ignore-not-found", "--filename=-"],
		yaml(metrics.objects),
	);
	await kubectlDone(["delete", "namespace", namespace, "--wait=false"]);
	await metrics.stop();
});

test("receivers share a load until each uses the CPU that is the target", async () => {
	const objects = await render(
		`--values=${examples.get("try-out")}`,
		`--namespace=${namespace}`,
		"--set=receive.autoscaling.enabled=true",
		"--set=receive.resources.requests.cpu=250m",
	);
	await apply(
		objects.filter(
			({ kind, metadata }) =>
				metadata.name === "tidemill-receive" &&
				["ServiceAccount", "Deployment", "HorizontalPodAutoscaler"].includes(
					kind,
				),
		),
	);
	const autoscaler = await vi.waitFor(
		async () => {
			await letPodsBeReady();
			const found = await client.get(
				autoscalers,
				"tidemill-receive",
				namespace,
			);
			const { currentReplicas, desiredReplicas } = found?.status ?? {};
			expect({ currentReplicas, desiredReplicas }).toEqual({
				currentReplicas: receivers,
				desiredReplicas: receivers,
			});
			return found!;
		},
		{ timeout: 120_000, interval: 500 },
	);
	expect(autoscaler.status?.conditions).toContainEqual(
		expect.objectContaining({ type: "ScalingActive", status: "True" }),
	);
});

async function podNames(): Promise<string[]> {
	const { items } = await client.list(kinds.pod, { namespace, labelSelector });
	return items.map(({ metadata }) => metadata.name);
}

/** As kubelet would say. Settles when all Pods are ready. */
async function letPodsBeReady(): Promise<void> {
	const ready = {
		type: "Ready",
		status: "True",
		// The autoscaler passes over what was measured before.
		lastTransitionTime: "2026-01-01T00:00:00Z",
	};
	const status = {
		phase: "Running",
		startTime: "2026-01-01T00:00:00Z",
		conditions: [ready],
	};
	for (const name of await podNames())
		await client.patch(kinds.pod, name, namespace, { status }, "merge", {
			subresource: "status",
		});
}

function apply(objects: object[]): Promise<string> {
	return kubectlDone(["apply", "--server-side", "--filename=-"], yaml(objects));
}

function yaml(objects: object[]): string {
	return objects.map((object) => stringify(object)).join("---\n");
}
