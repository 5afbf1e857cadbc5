import {
	type Pipeline,
	pipelineKind,
	type Run,
	runKind,
} from "../../crds/generated/types.ts";
import {
	annotation,
	fieldManager,
	label,
	managedByTidemill,
} from "../../crds/labels.ts";
import { newRun } from "../../crds/run.ts";
import type { Notification } from "../../packages/contracts/notification.ts";
import {
	hasReason,
	type KubeClient,
} from "../../packages/kube/client/client.ts";
import {
	type Result,
	soonest,
} from "../../packages/kube/reconcile/controller.ts";
import { controllerReference } from "../../packages/kube/resource.ts";
import type { NotificationMeans } from "../notification/state.ts";
import { soonerIf, withPending } from "../notification/state.ts";
import { report } from "../reconcile/actions.ts";
import type { OperatorContext } from "../reconcile/context.ts";
import type { PipelineAction } from "./decide.ts";
import type { PipelineState } from "./state.ts";

export const aboutPipeline = { kind: pipelineKind, verb: "Reconcile" };

/**
 * Does what was decided.
 * @param onNamesake hears of the Run of another Pipeline that has the name of the due one: it is part of the next look's state.
 */
export async function applyPipeline(
	context: OperatorContext & Pick<NotificationMeans, "outbox">,
	state: PipelineState,
	actions: PipelineAction[],
	onNamesake: (run: Run) => void,
): Promise<Result | undefined> {
	const { client } = context;
	let { pipeline } = state;
	let result: Result | undefined;
	let left: Notification[] = [];
	for (const action of actions)
		switch (action.type) {
			case "createRun": {
				const namesake = await createRun(client, pipeline, action.name);
				if (!namesake) break;
				onNamesake(namesake);
				return soonest(0);
			}
			case "deleteRun": {
				const { name, namespace, uid } = action.run.metadata;
				await client.delete(runKind, name, namespace, { uid });
				break;
			}
			case "notify": {
				const { usable } = state.notifications.webhooks;
				left = await context.outbox.handOver(pipeline, action.due, usable);
				break;
			}
			case "writeStatus": {
				const status = withPending(action.status, left);
				const write = { ...action, status };
				pipeline = await report(context, aboutPipeline, pipeline, write);
				break;
			}
			case "lookAgain":
				result = soonest(result, action.afterMs);
				break;
			default:
				pipeline = await report(context, aboutPipeline, pipeline, action);
		}
	return soonerIf(left, result);
}

/** Returns the Run of another Pipeline that has the name, if there is one. */
async function createRun(
	client: KubeClient,
	pipeline: Pipeline,
	name: string,
): Promise<Run | undefined> {
	try {
		const run = scheduledRun(pipeline, name);
		await client.create<Run>(runKind, run, { fieldManager });
		return undefined;
	} catch (error) {
		if (!hasReason(error, "AlreadyExists")) throw error;
		const { namespace } = pipeline.metadata;
		const existing = await client.get<Run>(runKind, name, namespace);
		// Our own: the operator died after it created the Run and before it wrote the status.
		return existing?.spec.pipelineRef.name === pipeline.metadata.name
			? undefined
			: existing;
	}
}

function scheduledRun(pipeline: Pipeline, name: string): Run {
	return newRun(pipeline.metadata.name, {
		name,
		namespace: pipeline.metadata.namespace!,
		labels: {
			...managedByTidemill,
			[label.pipeline]: pipeline.metadata.name,
		},
		annotations: { [annotation.trigger]: "Schedule" },
		ownerReferences: [controllerReference(pipelineKind, pipeline)],
	});
}
