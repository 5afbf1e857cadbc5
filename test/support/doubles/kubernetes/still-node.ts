import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { KubeClient } from "../../../../packages/kube/client/client.ts";
import { loadKubeConfig } from "../../../../packages/kube/client/kube-config.ts";
import { kinds, type Pod } from "../../../../packages/kube/kinds.ts";
import { Informer } from "../../../../packages/kube/watch/informer.ts";
import { createLog } from "../../../../packages/service/log.ts";
import type { TestControlPlane } from "../../servers/control-plane.ts";

const name = "still-node";
const log = createLog("still-node");

/**
 * A node that runs nothing. It takes each Pod and says at once that it is ready, or has ended well if it isn't to start again
 * (kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle). It answers what kubelet answers for logs and metrics
 * (kubernetes.io/docs/reference/instrumentation/metrics), with these texts. Returns what stops it.
 */
export async function startStillNode(
	{ kubeconfig, pki }: TestControlPlane,
	texts: { log: string; metrics: string },
): Promise<() => Promise<void>> {
	const server = createServer(pki.nodeServing, ({ url }, response) =>
		response.end(url!.startsWith("/metrics") ? texts.metrics : texts.log),
	);
	await once(server.listen(0, "127.0.0.1"), "listening");
	const { port } = server.address() as AddressInfo;
	const client = KubeClient.fromConfig(loadKubeConfig(kubeconfig));
	const now = () => new Date().toISOString();
	await client.create(kinds.node, { metadata: { name } });
	const beat = () =>
		client.patch(
			kinds.node,
			name,
			undefined,
			{ status: statusOf(port, now()) },
			"merge",
			{
				subresource: "status",
			},
		);
	await beat();
	// Kubernetes takes a node that is silent for 40 s for lost.
	const beating = setInterval(() => void beat().catch(told), 10_000);
	const stop = new AbortController();
	const pods = new Informer(client, kinds.pod, { log });
	pods.onChange((pod, _, deleted) => {
		if (!deleted) void carryOn(client, pod, now()).catch(told);
	});
	const running = pods.run(stop.signal);
	return async () => {
		clearInterval(beating);
		stop.abort();
		await running;
		server.close();
		server.closeAllConnections();
	};
}

/** A later change of the Pod tries again. */
function told(err: unknown): void {
	log.debug({ err }, "the apiserver didn't take a report");
}

/** The next step of a Pod. */
async function carryOn(
	client: KubeClient,
	pod: Pod,
	now: string,
): Promise<void> {
	const { name: own, namespace, deletionTimestamp } = pod.metadata;
	if (deletionTimestamp) {
		await client.delete(kinds.pod, own, namespace, { gracePeriodSeconds: 0 });
		return;
	}
	if (!pod.spec!.nodeName) {
		const target = { apiVersion: "v1", kind: "Node", name };
		await client.raw(
			"POST",
			`/api/v1/namespaces/${namespace}/pods/${own}/binding`,
			{
				body: {
					apiVersion: "v1",
					kind: "Binding",
					metadata: { name: own },
					target,
				},
			},
		);
		return;
	}
	if (pod.status?.phase !== "Pending") return;
	const ends = pod.spec!.restartPolicy !== "Always";
	const state = ends
		? {
				terminated: {
					exitCode: 0,
					reason: "Completed",
					finishedAt: now,
					startedAt: now,
				},
			}
		: { running: { startedAt: now } };
	const condition = (type: string) => ({
		type,
		status: "True",
		lastTransitionTime: now,
	});
	const status = {
		phase: ends ? "Succeeded" : "Running",
		...{ hostIP: "127.0.0.1", podIP: "10.9.8.7", podIPs: [{ ip: "10.9.8.7" }] },
		startTime: now,
		conditions: [
			"PodScheduled",
			"Initialized",
			...(ends ? [] : ["ContainersReady", "Ready"]),
		].map(condition),
		containerStatuses: pod.spec!.containers.map((each) => ({
			...{ name: each.name, image: each.image, imageID: "", state },
			...{ ready: !ends, started: !ends, restartCount: 0 },
		})),
	};
	await client.patch(kinds.pod, own, namespace, { status }, "merge", {
		subresource: "status",
	});
}

function statusOf(port: number, now: string) {
	return {
		addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
		daemonEndpoints: { kubeletEndpoint: { Port: port } },
		conditions: [
			{
				type: "Ready",
				status: "True",
				reason: "KubeletReady",
				message: "",
				lastHeartbeatTime: now,
				lastTransitionTime: now,
			},
		],
	};
}
