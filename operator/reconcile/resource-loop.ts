import {
	ControllerLoop,
	type ReconcileContext,
	type ReconcileResult,
	soonest,
} from "../../packages/kube/reconcile/controller.ts";
import type { Refusal } from "../../packages/kube/reconcile/refusals.ts";
import { keyOf, type ObjectKey, textOf } from "../../packages/kube/resource.ts";
import type { Informer } from "../../packages/kube/watch/informer.ts";
import {
	type CommonAction,
	type FinalizerAction,
	report,
	setFinalizers,
} from "./actions.ts";
import type { OperatorContext } from "./context.ts";
import { type RefusalReported, reportRefusal } from "./refusals.ts";
import {
	type NotPermittedReport,
	wakeByPermission,
	whilePermitted,
} from "./while-permitted.ts";

/** What a look at an object rests on, beside the object. */
export interface LookContext<Outcome> {
	now: number;
	/** What Kubernetes refuses to do for the object. */
	refusal: Refusal | undefined;
	/** What requests came to after which the last reconciles stopped. */
	outcome: Outcome | undefined;
	/** When this process last wrote the object's status; 0 if it never did. */
	statusWrittenMs: number;
}

/** A kind that one controller keeps in line: what there is (`read`), what to do (`decide`, pure), and how (`apply`). */
export interface ResourceController<
	T extends RefusalReported,
	State,
	Action extends { type: string },
	Outcome extends object,
> {
	/** For logs and metrics. */
	name: string;
	known: Pick<Informer<T>, "kind" | "get" | "list">;
	/** What a KubeEvent says was done, in one word. */
	verb: string;
	workers?: number;
	/** All that a decision rests on; undefined if there is nothing to decide. */
	read(object: T, look: LookContext<Outcome>): Promise<State | undefined>;
	decide(state: State, now: number): Action[];
	objectIn(state: State): T;
	/** Gets each decision before it is carried out; without a state for an object that is gone or of no concern. */
	onDecision?(
		key: ObjectKey,
		actions: readonly Action[],
		state: State | undefined,
		refusal: Refusal | undefined,
	): void;
	/**
	 * Does what only this kind decides, and returns the object as it is then, or when to reconcile it again; or what a request has
	 * come to, which is part of the next reconcile's state: that one follows at once, and what was decided after the request is left
	 * to it.
	 */
	apply?(
		action: Exclude<Action, CommonAction<T, string> | FinalizerAction>,
		object: T,
		state: State,
	): Promise<T | ReconcileResult | { outcome: Outcome }>;
	/** Whether `decide` says itself what people read of a refusal. */
	decidesRefusals?: true;
	/** What people read while the operator lacks its permissions in the namespace. Without it the controller works on. */
	notPermitted?: NotPermittedReport<T>;
}

/**
 * The loop of a kind: one decision a reconcile, on what all requests have come to by then, at one time. What Kubernetes refuses,
 * `Ready` says. The loop doesn't run yet, and watches nothing yet.
 */
export function createResourceLoop<
	T extends RefusalReported,
	State extends object,
	Action extends { type: string },
	Outcome extends object = never,
>(
	context: OperatorContext,
	of: ResourceController<T, State, Action, Outcome>,
): ControllerLoop {
	const { client, permissions, log } = context;
	const { known, notPermitted } = of;
	const about = { kind: known.kind, verb: of.verb };
	const outcomes = new Map<string, Outcome>();
	const statusWrittenMs = new Map<string, number>();

	async function reconcile(
		key: ObjectKey,
		{ now, refusal }: ReconcileContext,
	): Promise<ReconcileResult | undefined> {
		const text = textOf(key);
		const outcome = outcomes.get(text);
		outcomes.delete(text);
		const object = known.get(key.namespace, key.name);
		if (!object) statusWrittenMs.delete(text);
		const state =
			object &&
			(await of.read(object, {
				now,
				refusal,
				outcome,
				statusWrittenMs: statusWrittenMs.get(text) ?? 0,
			}));
		const actions = state ? of.decide(state, now) : [];
		of.onDecision?.(key, actions, state, refusal);
		return state && apply(state, actions, { now, refusal, outcome });
	}

	async function apply(
		state: State,
		actions: readonly Action[],
		{
			now,
			refusal,
			outcome,
		}: Omit<ReconcileContext, "signal"> & { outcome: Outcome | undefined },
	): Promise<ReconcileResult | undefined> {
		let object = of.objectIn(state);
		const text = textOf(keyOf(object));
		let result: ReconcileResult | undefined;
		for (const each of actions) {
			const action = each as unknown as
				| CommonAction<T, string>
				| FinalizerAction;
			switch (action.type) {
				case "requeueAfter":
					result = soonest(result, action.afterMs);
					break;
				case "setFinalizers":
					object = await setFinalizers(
						client,
						known.kind,
						object,
						action.finalizers,
					);
					break;
				case "writeStatus":
				case "recordKubeEvent":
					object = await report(
						context,
						about,
						object,
						action,
						of.decidesRefusals ? undefined : refusal,
					);
					if (action.type === "writeStatus") statusWrittenMs.set(text, now);
					break;
				default: {
					const own = each as Parameters<NonNullable<typeof of.apply>>[0];
					const done = await of.apply!(own, object, state);
					if ("outcome" in done) {
						outcomes.set(text, { ...outcome, ...done.outcome });
						return { requeueAfterMs: 0, isUnfinished: true };
					}
					if ("requeueAfterMs" in done) result = soonest(result, done);
					else object = done;
				}
			}
		}
		return result;
	}

	const loop = new ControllerLoop(
		{
			name: of.name,
			reconcile,
			...(!of.decidesRefusals && {
				reportRefusal: ({ namespace, name }, refusal, now) =>
					reportRefusal(
						context,
						{ ...about, type: "Ready" },
						known.get(namespace, name),
						refusal,
						now,
					),
			}),
		},
		{
			log,
			...(of.workers && { workers: of.workers }),
			...(notPermitted && {
				around: whilePermitted(context, known, notPermitted),
			}),
		},
	);
	if (notPermitted) wakeByPermission(permissions, known, loop);
	return loop;
}
