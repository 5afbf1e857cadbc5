import type { KubeClient } from "../../kube/client/client.ts";
import { type Job, kinds, type Pod } from "../../kube/kinds.ts";
import { isControlledBy } from "../../kube/resource.ts";
import { isOver } from "./outcome.ts";

/**
 * A Job's Pods.
 * @param known From memory.
 * @param labelSelector Selects the Job's Pods, and perhaps others.
 */
export async function podsOfJob(
	client: KubeClient,
	known: { ofJob(uid: string): Pod[] },
	job: Job,
	labelSelector: string,
): Promise<Pod[]> {
	const { namespace, uid } = job.metadata;
	if (!isOver(job)) return known.ofJob(uid!);
	// The Pods have the result, and memory may know the end of the Job before theirs.
	const { items } = await client.list(kinds.pod, { namespace, labelSelector });
	return items.filter((pod) => isControlledBy(pod, uid));
}
