import type {
	Operation,
	OperationSpec,
	OperationStatus,
} from "../../../crds/generated/types.ts";
import type { OperationAction } from "../../../operator/operation/decide.ts";
import { decide } from "../../../operator/operation/decide.ts";
import type { OperationState } from "../../../operator/operation/state.ts";
import { workOf } from "../../../operator/operation/work.ts";
import {
	type ArchiveAnswer,
	type AskAction,
	aboutOf,
} from "../../../operator/reconcile/questions.ts";
import { findCondition } from "../../../packages/kube/conditions.ts";
import { sourceOf } from "./resource-examples.ts";

/** Inputs and results of decisions about an Operation, for tables of decisions. */

const sourceKey = "5".repeat(32);

/** A dry run of an inline plan, created at noon of 31 March 2026. */
export function operationOf(
	status?: OperationStatus,
	spec: Partial<OperationSpec> = {},
	name = "try",
): Operation {
	return {
		apiVersion: "tidemill.dev/v1alpha1",
		kind: "Operation",
		metadata: {
			name,
			namespace: "shop",
			uid: `uid-${name}`,
			generation: 1,
			creationTimestamp: "2026-03-31T12:00:00Z",
		},
		spec: {
			type: "DryRun",
			sourceRef: { name: "orders" },
			plan: {
				inline: {
					eventType: { constant: "order" },
					onUnplannedEvent: "Annotate",
					onViolation: "Annotate",
					onUnplannedProperty: "Annotate",
				},
			},
			ttlSecondsAfterFinished: 3600,
			jobTemplate: { activeDeadlineSeconds: 3600, retries: 3 },
			...spec,
		},
		...(status && { status }),
	};
}

export function stateOf(changes: Partial<OperationState> = {}): OperationState {
	const { operation = operationOf() } = changes;
	return {
		operation,
		source: sourceOf("orders", { sourceKey, shard: 3 }),
		work: workOf(operation, undefined, () => undefined, "2026-03-01"),
		job: undefined,
		pods: [],
		before: undefined,
		pipelines: [],
		ended: [],
		podPolicy: { labels: [], annotations: [], priorityClasses: [] },
		image: "tidemill:1",
		progress: undefined,
		...changes,
	};
}

/** The state once archive has answered what the Operation asks it. */
export function answeredWith(
	state: OperationState,
	answer: ArchiveAnswer["answer"],
	now: number,
): OperationState {
	const ask = decide(state, now).at(-1) as AskAction | undefined;
	if (!ask?.type.startsWith("ask")) throw new Error(`${ask?.type}`);
	return { ...state, answered: { about: aboutOf(ask), answer } };
}

export function types(actions: OperationAction[]): string[] {
	return actions.map(({ type }) => type);
}

export function statusOf(actions: OperationAction[]): OperationStatus {
	const written = actions.find(({ type }) => type === "writeStatus");
	return written?.type === "writeStatus" ? written.status : {};
}

export function reasonOf(
	actions: OperationAction[],
	type = "Complete",
): string | undefined {
	return findCondition(statusOf(actions).conditions, type)?.reason;
}
