import type { KubeClient } from "../packages/kube/client/client.ts";
import { kinds } from "../packages/kube/kinds.ts";
import type { KubeEventRecorder } from "../packages/kube/reconcile/kube-events.ts";
import type { Logger } from "../packages/service/log.ts";
import { pause } from "../packages/service/pause.ts";
import type { LedgerView } from "./reconcile/ledgers.ts";
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

/** How what concerns the installation is told. */
export interface InstallationDeps {
	client: KubeClient;
	kubeEvents: KubeEventRecorder;
	log: Logger;
	/** Undefined where the operator doesn't run as a Deployment. */
	deployment: { namespace: string; name: string } | undefined;
}

/** Reports what no resource could say, in the log and by an Event on the operator's Deployment, until the signal fires. */
export async function reportInstallation(
	deps: InstallationDeps,
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
	{ client, kubeEvents, log, deployment }: InstallationDeps,
	{ reason, action }: Pick<InstallationFindings, "reason" | "action">,
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

/** A new leader tells again what is as new as that. */
const recentMs = 10 * 60_000;

/** Reports what administrators do to the streams in NATS by `tidemill buffer`, as archive says it. */
export function reportInterventions(
	deps: InstallationDeps,
	ledgers: Pick<LedgerView, "shards"> & { onChange(handler: () => void): void },
): void {
	const told = new Set<string>();
	const tell = () => {
		for (const { shard, intervention } of ledgers.shards) {
			const { time = "", text = "" } = intervention ?? {};
			// Of an old one, or of none, there is nothing to tell.
			if (told.has(time + text) || !(Date.now() - Date.parse(time) < recentMs))
				continue;
			told.add(time + text);
			deps.log.warn({ shard, time }, text);
			void recordEvent(
				deps,
				{ reason: "BufferChanged", action: "Intervene" },
				text,
			);
		}
	};
	ledgers.onChange(tell);
	tell();
}
