import { fieldManager } from "../../crds/labels.ts";
import { linesForTerminal } from "../../packages/escapes/terminal.ts";
import type { KubeApiError } from "../../packages/kube/client/client.ts";
import {
	type Condition,
	findCondition,
	setCondition,
} from "../../packages/kube/conditions.ts";
import type { Refusal } from "../../packages/kube/reconcile/refusals.ts";
import { writeStatus } from "../../packages/kube/reconcile/status-writer.ts";
import type { KubeObject, ResourceKind } from "../../packages/kube/resource.ts";
import { publicWords } from "../../packages/kube/text.ts";
import type { OperatorContext } from "./context.ts";

/** An object that says in its conditions how it is. */
export type RefusalReported = KubeObject & {
	status?: {
		observedGeneration?: number;
		conditions?: Condition[];
		completionTime?: string;
	};
};

/** What people read about a refusal, in their condition and as an Event. */
export function refusalFinding(error: KubeApiError) {
	const { path = "" } = error.request ?? {};
	const [, resource] = /\/namespaces\/[^/]+\/(.+)$/.exec(path) ?? [];
	return {
		reason: "WriteRefused",
		message: `Kubernetes refused a write${resource === undefined ? "" : ` of ${resource}`}: ${publicWords(error.message)}`,
	} as const;
}

/**
 * Says to an object's readers what Kubernetes refuses to do for it, until that is tried again.
 * @param about `verb` is the action that a KubeEvent names; `type` is the condition that says whether all is well.
 */
export async function reportRefusal<T extends RefusalReported>(
	{ client, kubeEvents }: Pick<OperatorContext, "client" | "kubeEvents">,
	about: { kind: ResourceKind<T>; verb: string; type: "Ready" | "Complete" },
	object: T | undefined,
	{ error }: Refusal,
	now: number,
): Promise<void> {
	if (!object) return;
	const { reason, message } = refusalFinding(error);
	const { metadata, status = {} } = object;
	const before = findCondition(status.conditions, about.type);
	if (before?.reason === reason && before.message === linesForTerminal(message))
		return;
	// First, since the status may be what is refused.
	kubeEvents.record<T>(about.kind, object, {
		type: "Warning",
		reason,
		action: about.verb,
		note: message,
	});
	// How work has ended stays as it is.
	if (status.completionTime !== undefined) return;
	const observedGeneration = metadata.generation ?? 0;
	const finding = {
		type: about.type,
		status: "False",
		reason,
		message,
	} as const;
	await writeStatus<T>(
		client,
		about.kind,
		object,
		{
			...status,
			observedGeneration,
			conditions: setCondition(
				status.conditions,
				{ ...finding, observedGeneration },
				now,
			),
		} as NonNullable<T["status"]>,
		fieldManager,
	);
}
