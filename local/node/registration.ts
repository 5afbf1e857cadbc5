import { createHash } from "node:crypto";
import { arch, availableParallelism, release, totalmem, type } from "node:os";
import type { KubeClient } from "../../packages/kube/client/client.ts";
import { kinds, type Lease, type Node } from "../../packages/kube/kinds.ts";
import { microTime, rfc3339 } from "../../packages/kube/resource.ts";
import type { Logger } from "../../packages/service/log.ts";
import { pause } from "../../packages/service/pause.ts";

/**
 * Keeps the Node and its Lease (KEP-589) registered until the signal fires. A deleted Node comes back. Calls `onRegistered`
 * after each success.
 */
export async function keepRegistered(
	client: KubeClient,
	facts: NodeFacts,
	onRegistered: () => void,
	log: Logger,
	signal: AbortSignal,
): Promise<void> {
	while (!signal.aborted) {
		let waitMs = renewMs;
		try {
			await register(client, facts, Date.now());
			onRegistered();
		} catch (err) {
			log.warn({ err }, "the node could not be registered");
			waitMs = retryMs;
		}
		await pause(waitMs, signal);
	}
}

const fieldManager = "tidemill-process-node";
/** As kubelet does: a Lease of 40 s, renewed every 10 s. */
const leaseSeconds = 40;
const renewMs = 10_000;
const retryMs = 1_000;

async function register(
	client: KubeClient,
	facts: NodeFacts,
	nowMs: number,
): Promise<void> {
	const { metadata, status } = nodeObject(facts, nowMs);
	const options = { fieldManager, force: true };
	const node = await client.apply(kinds.node, { metadata }, options);
	await client.applyStatus(kinds.node, { metadata, status }, { fieldManager });
	const { name } = facts;
	const lease: Lease = {
		metadata: {
			name,
			namespace: "kube-node-lease",
			// Garbage collection deletes the Lease with the Node.
			ownerReferences: [
				{ apiVersion: "v1", kind: "Node", name, uid: node.metadata.uid! },
			],
		},
		spec: {
			holderIdentity: name,
			leaseDurationSeconds: leaseSeconds,
			renewTime: microTime(nowMs),
		},
	};
	await client.apply(kinds.lease, lease, options);
}

/** Everything on this machine is reached by its loopback address. */
export const nodeAddress = "127.0.0.1";

/** What the cluster learns about the machine. */
interface NodeFacts {
	name: string;
	/** The port of the log server. */
	port: number;
	cpus: number;
	memoryBytes: number;
	operatingSystem: string;
	architecture: string;
	kernelVersion: string;
	/** When this node process became ready, the time of its conditions. */
	readyAtMs: number;
}

export function nodeFacts(
	name: string,
	port: number,
	readyAtMs: number,
): NodeFacts {
	return {
		name,
		port,
		cpus: availableParallelism(),
		memoryBytes: totalmem(),
		operatingSystem: type().toLowerCase(),
		// Kubernetes uses Go's names.
		architecture: arch() === "x64" ? "amd64" : arch(),
		kernelVersion: release(),
		readyAtMs,
	};
}

/** The Node, with its status, as the process node registers it. */
function nodeObject(facts: NodeFacts, nowMs: number): Node {
	const { name, operatingSystem, architecture } = facts;
	const resources = {
		cpu: String(facts.cpus),
		memory: `${Math.floor(facts.memoryBytes / 1024)}Ki`,
		pods: "110",
	};
	/** Identifies this installation. The machine's own id stays private. */
	const id = createHash("sha256").update(name).digest("hex").slice(0, 32);
	return {
		metadata: {
			name,
			labels: {
				"kubernetes.io/hostname": name,
				"kubernetes.io/os": operatingSystem,
				"kubernetes.io/arch": architecture,
			},
		},
		status: {
			addresses: [
				{ type: "InternalIP", address: nodeAddress },
				{ type: "Hostname", address: name },
			],
			daemonEndpoints: { kubeletEndpoint: { Port: facts.port } },
			capacity: resources,
			allocatable: resources,
			conditions: [
				{
					type: "Ready",
					status: "True",
					reason: "ProcessNodeReady",
					message:
						"Tidemill's process node runs Pods of Tidemill's own image as processes",
					lastHeartbeatTime: rfc3339(nowMs),
					lastTransitionTime: rfc3339(facts.readyAtMs),
				},
			],
			nodeInfo: {
				machineID: id,
				systemUUID: id,
				bootID: id,
				kernelVersion: facts.kernelVersion,
				osImage: "Tidemill local mode",
				containerRuntimeVersion: "process://1",
				kubeletVersion: "tidemill-process-node",
				kubeProxyVersion: "",
				operatingSystem,
				architecture,
			},
		},
	} as Node;
}
