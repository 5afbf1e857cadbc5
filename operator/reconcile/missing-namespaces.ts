import type { KubeClient } from "../../packages/kube/client/client.ts";
import { kinds } from "../../packages/kube/kinds.ts";
import type { KubeEventRecorder } from "../../packages/kube/reconcile/kube-events.ts";
import type { Logger } from "../../packages/service/log.ts";
import { pause } from "../../packages/service/pause.ts";
import type { NamespacePermissions } from "./namespace-permissions.ts";
import type { installationEventReasons } from "./reasons.ts";

/** Kubernetes keeps an Event for an hour by default. */
const repeatMs = 30 * 60_000;

/**
 * Reports which watched namespaces don't exist, in the log and by an Event on the operator's Deployment, until the signal fires:
 * there is no resource that could say so.
 */
export async function reportMissingNamespaces(
	deps: {
		client: KubeClient;
		kubeEvents: KubeEventRecorder;
		permissions: NamespacePermissions;
		log: Logger;
		/** Undefined where the operator doesn't run as a Deployment. */
		deployment: { namespace: string; name: string } | undefined;
	},
	signal: AbortSignal,
): Promise<void> {
	const { permissions, log } = deps;
	const reported = new Map<string, number>();
	let wake = new AbortController();
	permissions.onChange(() => wake.abort());
	while (!signal.aborted) {
		const missing = permissions.namesOf("missing");
		for (const namespace of reported.keys())
			if (!missing.includes(namespace)) {
				reported.delete(namespace);
				log.info({ namespace }, "a watched namespace exists now");
			}
		const nowMs = performance.now();
		for (const namespace of missing) {
			const reportedMs = reported.get(namespace);
			if (reportedMs !== undefined && nowMs - reportedMs < repeatMs) continue;
			if (reportedMs === undefined)
				log.warn(
					{ namespace },
					"a watched namespace doesn't exist; it is served once it does",
				);
			reported.set(namespace, nowMs);
			await recordMissing(deps, namespace);
		}
		await pause(repeatMs, AbortSignal.any([signal, wake.signal]));
		wake = new AbortController();
	}
}

async function recordMissing(
	{
		client,
		kubeEvents,
		log,
		deployment,
	}: Parameters<typeof reportMissingNamespaces>[0],
	namespace: string,
): Promise<void> {
	if (!deployment) return;
	try {
		// `kubectl describe` finds an object's Events by its uid.
		const found = await client.get(
			kinds.deployment,
			deployment.name,
			deployment.namespace,
		);
		if (!found) return;
		kubeEvents.record(kinds.deployment, found, {
			type: "Warning",
			reason:
				"WatchedNamespaceMissing" satisfies keyof typeof installationEventReasons,
			action: "Watch",
			note: `Namespace "${namespace}" of operator.watchNamespaces doesn't exist. Create it, and bind the operator there by "helm upgrade"; or take it off the list. It is served as soon as it exists and has its binding.`,
		});
	} catch (err) {
		log.warn({ err }, "the operator's Deployment can't be read");
	}
}
