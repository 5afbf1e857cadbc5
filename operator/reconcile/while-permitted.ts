import { fieldManager } from "../../crds/labels.ts";
import { hasReason } from "../../packages/kube/client/client.ts";
import {
	type Condition,
	findCondition,
	setCondition,
} from "../../packages/kube/conditions.ts";
import type {
	Controller,
	ReconcileResult,
} from "../../packages/kube/reconcile/controller.ts";
import { writeStatus } from "../../packages/kube/reconcile/status-writer.ts";
import {
	type KubeObject,
	keyOf,
	type ObjectKey,
} from "../../packages/kube/resource.ts";
import type { Informer } from "../../packages/kube/watch/informer.ts";
import type { OperatorContext } from "./context.ts";
import type {
	NamespacePermissions,
	NamespaceStanding,
} from "./namespace-permissions.ts";

/** An object that says in its conditions how it is. */
type Reported = KubeObject & { status?: { conditions?: Condition[] } };

/** What a resource says while the operator lacks its permissions in the resource's namespace. */
export interface NotPermittedReport<T extends Reported> {
	condition: "Ready" | "Complete";
	/** The whole status; undefined to leave the resource alone. */
	statusOf(
		object: T,
		message: string,
		now: number,
	): { status: NonNullable<T["status"]>; requeueAfterMs?: number } | undefined;
	/** Lets go of what other objects wait for. */
	release?(object: T): void;
}

/** For kinds with the condition `Ready`. */
export function notReady<T extends Reported>(
	facts: Partial<NonNullable<T["status"]>>,
): NotPermittedReport<T> {
	return {
		condition: "Ready",
		statusOf: ({ metadata, status }, message, now) => {
			const observedGeneration = metadata.generation ?? 0;
			const conditions = setCondition(
				status?.conditions,
				{
					type: "Ready",
					status: "False",
					reason: notPermitted,
					message,
					observedGeneration,
				},
				now,
			);
			return {
				status: {
					...status,
					...facts,
					observedGeneration,
					conditions,
				} as NonNullable<T["status"]>,
			};
		},
	};
}

/**
 * For a controller, which then leaves alone the objects of a namespace where the operator lacks its permissions, and says so in
 * its status. Objects that are being deleted go on: their namespace may be deleted together with its bindings.
 */
export function whilePermitted<T extends Reported>(
	context: Pick<
		OperatorContext,
		"client" | "kubeEvents" | "informers" | "permissions"
	>,
	informer: Pick<Informer<T>, "kind" | "get">,
	report: NotPermittedReport<T>,
): (controller: Controller) => Controller {
	const { permissions } = context;
	return (controller) => ({
		...controller,
		reconcile: async (key, circumstances) => {
			const { namespace, name } = key;
			const object = informer.get(namespace, name);
			if (!object || object.metadata.deletionTimestamp)
				return controller.reconcile(key, circumstances);
			let standing = permissions.standingIn(namespace);
			if (standing.type === "served") {
				// The permission is back, and memory isn't yet.
				if (isUnlisted(context, namespace)) return { requeueAfterMs: 500 };
				try {
					return await controller.reconcile(key, circumstances);
				} catch (error) {
					if (!hasReason(error, "Forbidden")) throw error;
					standing = await permissions.look(namespace);
					// A quota or a policy has refused the request.
					if (standing.type === "served") throw error;
				}
			}
			const { now } = circumstances;
			return write(context, informer, report, object, standing, now);
		},
		// Without one, the controller itself decides what people read of a refusal.
		...(controller.reportRefusal && {
			reportRefusal: async (key, refusal, now) => {
				const standing = permissions.standingIn(key.namespace);
				const object = informer.get(key.namespace, key.name);
				// A right that the operator lacks is no refusal of this one write.
				if (object && standing.type !== "served")
					await write(context, informer, report, object, standing, now);
				else await controller.reportRefusal?.(key, refusal, now);
			},
		}),
	});
}

/** The status among what was decided, and when to look again. */
export function reportOf<Status>(
	actions: readonly (
		| { type: "writeStatus"; status: Status }
		| { type: "requeueAfter"; afterMs: number }
		| { type: string }
	)[],
): { status: Status; requeueAfterMs?: number } | undefined {
	let reported: { status: Status; requeueAfterMs?: number } | undefined;
	for (const action of actions)
		if (action.type === "writeStatus" && "status" in action)
			reported = { ...reported, status: action.status };
		else if (action.type === "requeueAfter" && "afterMs" in action && reported)
			reported.requeueAfterMs = action.afterMs;
	return reported;
}

/** Wakes the objects of a namespace when it is served again, or no longer. */
export function wakeByPermission<T extends KubeObject>(
	permissions: NamespacePermissions,
	informer: Pick<Informer<T>, "list">,
	loop: { enqueue(key: ObjectKey): void },
): void {
	permissions.onChange((namespace) => {
		for (const object of informer.list(namespace)) loop.enqueue(keyOf(object));
	});
}

const notPermitted = "NotPermitted";

function isUnlisted(
	{ informers }: Pick<OperatorContext, "informers">,
	namespace: string,
): boolean {
	return Object.values(informers).some((each) => each.isUnknown(namespace));
}

async function write<T extends Reported>(
	{ client, kubeEvents }: Pick<OperatorContext, "client" | "kubeEvents">,
	{ kind }: Pick<Informer<T>, "kind">,
	{ condition, statusOf, release }: NotPermittedReport<T>,
	object: T,
	standing: NamespaceStanding,
	now: number,
): Promise<ReconcileResult | undefined> {
	release?.(object);
	if (standing.type !== "notPermitted") return undefined;
	const reported = statusOf(object, standing.message, now);
	if (!reported) return undefined;
	const { status, requeueAfterMs } = reported;
	await writeStatus<T>(client, kind, object, status, fieldManager);
	const reasonIn = ({ status }: Reported) =>
		findCondition(status?.conditions, condition)?.reason;
	if (standing.canRecordEvents && reasonIn(object) !== notPermitted)
		kubeEvents.record(kind, object, {
			type: "Warning",
			reason: notPermitted,
			action: "Reconcile",
			note: standing.message,
		});
	return requeueAfterMs === undefined ? undefined : { requeueAfterMs };
}
