import { createHash } from "node:crypto";
import { arch, availableParallelism, release, totalmem, type } from "node:os";
import type { Node } from "../../../packages/kube/kinds.ts";
import { rfc3339 } from "../../../packages/kube/timestamps.ts";

/** Everything on this machine is reached by its loopback address. */
export const nodeAddress = "127.0.0.1";

/** What the cluster learns about the machine. */
export interface NodeFacts {
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
export function nodeObject(facts: NodeFacts, nowMs: number): Node {
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
