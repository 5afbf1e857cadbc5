import {
	hasReason,
	type KubeClient,
} from "../../packages/kube/client/client.ts";
import { findCondition } from "../../packages/kube/conditions.ts";
import { kinds, type Pod } from "../../packages/kube/kinds.ts";
import type { Controller } from "../../packages/kube/reconcile/controller.ts";
import type { KubeEventRecorder } from "../../packages/kube/reconcile/kube-events.ts";
import {
	type ObjectKey,
	resourcePath,
	rfc3339,
} from "../../packages/kube/resource.ts";
import type { Informer } from "../../packages/kube/watch/informer.ts";
import { unsupported } from "./unsupported.ts";

interface SchedulerOptions {
	/** As `system:kube-scheduler`: a node's own user may not bind Pods. */
	client: KubeClient;
	/** The Pods that are bound to no node. */
	pods: Informer<Pod>;
	events: KubeEventRecorder;
	nodeName: string;
	image: string;
}

/** Binds the Pods that the process node can run, and reports why the others stay pending. */
export class Scheduler implements Controller {
	readonly name = "scheduler";
	readonly #options: SchedulerOptions;

	constructor(options: SchedulerOptions) {
		this.#options = options;
	}

	async reconcile({ namespace, name }: ObjectKey): Promise<undefined> {
		const { pods, image } = this.#options;
		const pod = pods.get(namespace, name);
		if (!pod || !isWaiting(pod)) return;
		const reason = unsupported(pod, image);
		try {
			await (reason ? this.#refuse(pod, reason) : this.#bind(pod));
		} catch (error) {
			// The Pod is gone, or already bound and memory is behind.
			if (!hasReason(error, "NotFound", "Conflict")) throw error;
		}
	}

	async #bind({ metadata }: Pod): Promise<void> {
		const { name, namespace, uid } = metadata;
		const path = resourcePath(kinds.pod, namespace, name, "binding");
		await this.#options.client.raw("POST", path, {
			body: {
				apiVersion: "v1",
				kind: "Binding",
				metadata: { name, namespace, uid },
				target: {
					apiVersion: "v1",
					kind: "Node",
					name: this.#options.nodeName,
				},
			},
		});
	}

	async #refuse(pod: Pod, reason: string): Promise<void> {
		const { client, events } = this.#options;
		const message = `0/1 nodes are available: ${reason}.`;
		const before = findCondition(pod.status?.conditions, "PodScheduled");
		if (before?.message === message) return;
		events.record(kinds.pod, pod, {
			type: "Warning",
			reason: "FailedScheduling",
			action: "Scheduling",
			note: message,
		});
		const { name, namespace, uid } = pod.metadata;
		await client.applyStatus(
			kinds.pod,
			{
				metadata: { name, namespace: namespace!, uid: uid! },
				status: {
					conditions: [
						{
							type: "PodScheduled",
							status: "False",
							reason: "Unschedulable",
							message,
							lastTransitionTime:
								before?.lastTransitionTime ?? rfc3339(Date.now()),
						},
					],
				},
			},
			{ fieldManager: "tidemill-scheduler" },
		);
	}
}

/** Whether we may bind the Pod: no other scheduler's, not gated (KEP-3521), not being deleted. */
function isWaiting({ metadata, spec }: Pod): boolean {
	return (
		!metadata.deletionTimestamp &&
		!spec?.nodeName &&
		!spec?.schedulingGates?.length &&
		(spec?.schedulerName ?? "default-scheduler") === "default-scheduler"
	);
}
