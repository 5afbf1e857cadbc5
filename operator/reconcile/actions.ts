import { fieldManager } from "../../crds/labels.ts";
import type { Result } from "../../kube/reconcile/controller.ts";
import { writeStatus } from "../../kube/reconcile/status-writer.ts";
import type { KubeObject, ResourceKind } from "../../kube/resource.ts";
import type { OperatorContext } from "./context.ts";

/** An object that has a status. */
type Reported = KubeObject & { status?: unknown };

/** What can be decided about an object of any kind. */
export type CommonAction<T extends Reported, Reason extends string = string> =
	/** The whole status; nothing is written if it is the one that is there. */
	| { type: "writeStatus"; status: NonNullable<T["status"]> }
	| {
			type: "recordEvent";
			severity: "Normal" | "Warning";
			reason: Reason;
			message: string;
	  }
	/** Also without a change. */
	| { type: "lookAgain"; afterMs: number };

/** What can be decided about an object of one kind alone. */
export type OwnAction<A extends { type: string }> = Exclude<
	A,
	{ type: CommonAction<Reported>["type"] }
>;

/** What came of an action. */
export interface Outcome<T, A> {
	/** The object as it is now. */
	object?: T;
	/** What is to be done in place of the actions that are left: it was decided by an answer. */
	instead?: A[];
}

/**
 * Does what was decided about an object, in its order.
 * @param of `verb`: what Events say was tried, in one word.
 * @param own does what only this kind has.
 */
export async function applyActions<
	T extends Reported,
	A extends { type: string },
>(
	context: Pick<OperatorContext, "client" | "events">,
	of: { kind: ResourceKind<T>; verb: string },
	object: T,
	actions: A[],
	own: (
		action: OwnAction<A>,
		object: T,
	) => Promise<Outcome<T, A> | undefined> = async () => undefined,
): Promise<Result | undefined> {
	const { client, events } = context;
	let current = object;
	let result: Result | undefined;
	for (const action of actions) {
		const common = action as { type: string } as CommonAction<T>;
		switch (common.type) {
			case "writeStatus":
				current = await writeStatus<T>(
					client,
					of.kind,
					current,
					common.status,
					fieldManager,
				);
				break;
			case "recordEvent":
				events.record<T>(of.kind, current, {
					type: common.severity,
					reason: common.reason,
					action: of.verb,
					note: common.message,
				});
				break;
			case "lookAgain":
				result = { requeueAfterMs: common.afterMs };
				break;
			default: {
				const outcome = await own(action as OwnAction<A>, current);
				current = outcome?.object ?? current;
				if (outcome?.instead)
					return applyActions(context, of, current, outcome.instead, own);
			}
		}
	}
	return result;
}
