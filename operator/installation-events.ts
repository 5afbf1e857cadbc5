import type { KubeClient } from "../packages/kube/client/client.ts";
import { kinds } from "../packages/kube/kinds.ts";
import type { KubeEventRecorder } from "../packages/kube/reconcile/kube-events.ts";
import type { Logger } from "../packages/service/log.ts";
import { pause } from "../packages/service/pause.ts";
import type { NamespacePermissions } from "./reconcile/namespace-permissions.ts";
import type { installationEventReasons } from "./reconcile/reasons.ts";

/** What is wrong with the installation. */
export interface InstallationFinding {
	/** For people who read the Event. */
	note: string;
	/** For the log. */
	message: string;
	fields: object;
}

/** What one part of the operator finds wrong with the installation. */
export interface InstallationFindings {
	reason: keyof typeof installationEventReasons;
	/** What was tried, in one word. */
	action: string;
	read(): InstallationFinding[];
	/** Calls the handler when there may be other findings. */
	onChange(handler: () => void): void;
}

/** Kubernetes keeps an Event for an hour by default. */
const repeatMs = 30 * 60_000;

/**
 * Reports what no resource could say, in the log and by an Event on the operator's Deployment, until the signal fires.
 * @param deps.deployment undefined where the operator doesn't run as a Deployment.
 */
export async function reportInstallation(
	deps: {
		client: KubeClient;
		kubeEvents: KubeEventRecorder;
		log: Logger;
		deployment: { namespace: string; name: string } | undefined;
	},
	findings: InstallationFindings,
	signal: AbortSignal,
): Promise<void> {
	const { log } = deps;
	const reportedMs = new Map<string, number>();
	let wake = new AbortController();
	findings.onChange(() => wake.abort());
	while (!signal.aborted) {
		const found = findings.read();
		for (const note of reportedMs.keys())
			if (!found.some((each) => each.note === note)) {
				reportedMs.delete(note);
				log.info({ note }, "this is so no longer");
			}
		const nowMs = performance.now();
		for (const { note, message, fields } of found) {
			const beforeMs = reportedMs.get(note);
			if (beforeMs !== undefined && nowMs - beforeMs < repeatMs) continue;
			if (beforeMs === undefined) log.warn(fields, message);
			reportedMs.set(note, nowMs);
			await recordEvent(deps, findings, note);
		}
		await pause(repeatMs, AbortSignal.any([signal, wake.signal]));
		wake = new AbortController();
	}
}

async function recordEvent(
	{
		client,
		kubeEvents,
		log,
		deployment,
	}: Parameters<typeof reportInstallation>[0],
	{ reason, action }: InstallationFindings,
	note: string,
): Promise<void> {
	if (!deployment) return;
	try {
		// `kubectl describe` finds an object's Events by its uid.
		const found = await client.get(
			kinds.deployment,
			deployment.name,
			deployment.namespace,
			{ metadataOnly: true },
		);
		if (found)
			kubeEvents.record(kinds.deployment, found, {
				type: "Warning",
				reason,
				action,
				note,
			});
	} catch (err) {
		log.warn({ err }, "the operator's Deployment can't be read");
	}
}

/** Which watched namespaces don't exist. */
export function missingNamespaces(
	permissions: NamespacePermissions,
): InstallationFindings {
	return {
		reason: "WatchedNamespaceMissing",
		action: "Watch",
		read: () =>
			permissions.namesOf("missing").map((namespace) => ({
				note: `Namespace "${namespace}" of operator.watchNamespaces doesn't exist. Create it, and bind the operator there by "helm upgrade"; or take it off the list. It is served as soon as it exists and has its binding.`,
				message: "a watched namespace doesn't exist; it is served once it does",
				fields: { namespace },
			})),
		onChange: (handler) => permissions.onChange(handler),
	};
}
