import type { KubeClient } from "../../packages/kube/client/client.ts";
import { kinds, type Lease } from "../../packages/kube/kinds.ts";
import { microTime } from "../../packages/kube/timestamps.ts";
import type { Logger } from "../../packages/service/log.ts";
import { pause } from "../../packages/service/pause.ts";
import { type NodeFacts, nodeObject } from "./registration/node-object.ts";

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
