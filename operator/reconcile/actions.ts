import { fieldManager } from "../../crds/labels.ts";
import type { KubeClient } from "../../packages/kube/client/client.ts";
import {
	type Condition,
	findCondition,
} from "../../packages/kube/conditions.ts";
import type { Refusal } from "../../packages/kube/reconcile/refusals.ts";
import { writeStatus } from "../../packages/kube/reconcile/status-writer.ts";
import type { KubeObject, ResourceKind } from "../../packages/kube/resource.ts";
import type { OperatorContext } from "./context.ts";

/** An object that has a status. */
type Reported = KubeObject & { status?: unknown };

/** What any controller can decide about its object. */
export type CommonAction<T extends Reported, Reason extends string> =
	| ReportAction<T, Reason>
	/** Reconcile again after this time, even without a change. */
	| { type: "requeueAfter"; afterMs: number };

export type FinalizerAction = { type: "setFinalizers"; finalizers: string[] };

/** What people read about an object. */
export type ReportAction<T extends Reported, Reason extends string> =
	/** The whole status. Nothing is written if the object already has it. */
	| { type: "writeStatus"; status: NonNullable<T["status"]> }
	| {
			type: "recordKubeEvent";
			severity: "Normal" | "Warning";
			reason: Reason;
			message: string;
	  };

/**
 * Writes what people read about an object, and returns the object as it is then.
 * @param about `verb` is the action that a KubeEvent names, in one word.
 * @param refusal what Kubernetes refused to do for the object, and what is being tried again.
 */
export async function report<T extends Reported, Reason extends string>(
	{ client, kubeEvents }: Pick<OperatorContext, "client" | "kubeEvents">,
	about: { kind: ResourceKind<T>; verb: string },
	object: T,
	action: ReportAction<T, Reason>,
	refusal?: Refusal,
): Promise<T> {
	// Until all that was refused is done, people read of the refusal. A later look reports the rest.
	if (refusal && action.type === "recordKubeEvent") return object;
	if (action.type === "writeStatus")
		return writeStatus<T>(
			client,
			about.kind,
			object,
			refusal ? withRefusal(object, action.status) : action.status,
			fieldManager,
		);
	kubeEvents.record<T>(about.kind, object, {
		type: action.severity,
		reason: action.reason,
		action: about.verb,
		note: action.message,
	});
	return object;
}

/** The status, in which `Ready` still says what was refused. */
function withRefusal<T extends Reported>(
	object: T,
	status: NonNullable<T["status"]>,
): NonNullable<T["status"]> {
	const conditionsOf = ({ conditions = [] }: { conditions?: Condition[] }) =>
		conditions;
	const reported = findCondition(conditionsOf(object.status ?? {}), "Ready");
	return reported?.reason !== "WriteRefused"
		? status
		: {
				...status,
				conditions: conditionsOf(status).map((condition) =>
					condition.type === "Ready" ? reported : condition,
				),
			};
}

/** Throws `Conflict` if the object has changed since it was read, since others may have added finalizers. */
export async function setFinalizers<T extends KubeObject>(
	client: KubeClient,
	kind: ResourceKind<T>,
	{ metadata: { name, namespace, resourceVersion } }: T,
	finalizers: string[],
): Promise<T> {
	return client.patch<T>(
		kind,
		name,
		namespace,
		{ metadata: { finalizers, resourceVersion } },
		"merge",
		{ fieldManager },
	);
}
