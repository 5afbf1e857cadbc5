import { isGone, type Pod } from "../../packages/kube/kinds.ts";
import { rfc3339 } from "../../packages/kube/resource.ts";

/** A Pod that should have ended, and of which no kubelet says that it has: its node is down or cut off. */
export interface LostPod {
	namespace: string;
	name: string;
	node: string | undefined;
	/** Until when it was to end, RFC 3339. */
	dueTime: string;
	/** How much longer its Job's work waits for it, in milliseconds. */
	leftMs: number;
}

/**
 * A kubelet that works removes a Pod by its deletionTimestamp, which has the grace period in it. This long after, its node is
 * lost.
 */
const lostAfterMs = 60_000;
/** How long the work of a lost Pod waits for the node to come back. */
const lostTimeoutMs = 10 * 60_000;

/** One of the Pods that is lost, if any is. */
export function lostPodOf(
	pods: readonly Pod[],
	now: number,
): LostPod | undefined {
	for (const pod of pods) {
		const dueMs = dueMsOf(pod);
		if (dueMs === undefined || now - dueMs < lostAfterMs) continue;
		return {
			namespace: pod.metadata.namespace!,
			name: pod.metadata.name,
			node: pod.spec?.nodeName,
			dueTime: rfc3339(dueMs),
			leftMs: dueMs + lostAfterMs + lostTimeoutMs - now,
		};
	}
	return undefined;
}

/** In how many milliseconds the next Pod counts as lost that is to end; undefined if none is. */
export function nextLossMs(
	pods: readonly Pod[],
	now: number,
): number | undefined {
	const waitsMs = pods.flatMap((pod) => {
		const dueMs = dueMsOf(pod);
		return dueMs === undefined ? [] : Math.max(0, dueMs + lostAfterMs - now);
	});
	return waitsMs.length > 0 ? Math.min(...waitsMs) : undefined;
}

/** For people: which Pod and node, and what frees what the Pod holds. */
export function lostPodText({
	namespace,
	name,
	node,
	dueTime,
}: LostPod): string {
	const where = node === undefined ? "" : ` on node "${node}"`;
	const lost = `Pod "${name}"${where} was to end by ${dueTime}, and Kubernetes can't tell that it has: its node is down or cut off, and the Pod may still write.`;
	const frees =
		node === undefined
			? ""
			: ` If the node is gone for good, delete it: kubectl delete node ${node}. If it is switched off, say so: kubectl taint node ${node} node.kubernetes.io/out-of-service=nodeshutdown:NoExecute.`;
	return `${lost}${frees} Only if the Pod's process surely runs no more: kubectl delete pod ${name} -n ${namespace} --force`;
}

/** When a Pod that is being deleted was to end; undefined if it isn't, or has ended. */
function dueMsOf(pod: Pod): number | undefined {
	const { deletionTimestamp } = pod.metadata;
	return deletionTimestamp === undefined || isGone(pod)
		? undefined
		: Date.parse(deletionTimestamp);
}
