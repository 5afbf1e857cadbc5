import { pipelineKind, type Run, runKind } from "../../crds/generated/types.ts";
import { fieldManager } from "../../crds/labels.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Result } from "../../kube/reconcile/controller.ts";
import { ageOf, controllerReference, keyOf } from "../../kube/resource.ts";
import { removeJob, startJob } from "../job/apply.ts";
import {
	type ArchiveMeans,
	manifestAnswer,
	resultAnswer,
} from "../job/archive-answers.ts";
import type { JobOwner, JobSlots } from "../job/slots.ts";
import type { References } from "../pipeline/state.ts";
import { report } from "../reconcile/actions.ts";
import type { OperatorContext } from "../reconcile/context.ts";
import { decide } from "./decide.ts";
import { decideRefused, decideStart } from "./decide-start.ts";
import { inputSecretName } from "./job.ts";
import { withTrace } from "./run-trace.ts";
import type { RunState } from "./state.ts";
import { type RunAction, steps } from "./transition.ts";

/** What Runs work with, beyond {@link OperatorContext}. */
export interface RunMeans extends ArchiveMeans {
	slots: JobSlots;
	/** The collector that Jobs send traces to; undefined for no traces of Jobs. */
	traceEndpoint?: string | undefined;
}

export const aboutRun = { kind: runKind, verb: "Run" };

/** Does what was decided. The answers of archive and Kubernetes lead to further decisions. */
export async function applyRun(
	context: OperatorContext & RunMeans,
	state: RunState,
	actions: RunAction[],
): Promise<Result | undefined> {
	const { asks, client, slots } = context;
	let { run } = state;
	let result: Result | undefined;
	for (const action of actions)
		switch (action.type) {
			case "adopt":
				run = await adopt(client, run, state.references!);
				break;
			case "askManifest": {
				const { target } = action;
				const answer = manifestAnswer(context, keyOf(run), action);
				if (!answer) break;
				const answered = { ...state, run };
				// Only now, so that no Run holds a slot while archive is slow. The answer stays until the Run's turn.
				const place = answer.ok
					? slots.take(ownerOf(run), ageOf(run))
					: undefined;
				if (place)
					return applyRun(
						context,
						answered,
						steps.queued(run, place, Date.now()),
					);
				asks.drop(keyOf(run));
				return applyRun(
					context,
					answered,
					decideStart(answered, target, answer, Date.now()),
				);
			}
			case "askResult": {
				const stored = resultAnswer(context, keyOf(run), action);
				if (!stored) break;
				const answered = { ...state, run, stored };
				return applyRun(context, answered, decide(answered, Date.now()));
			}
			case "startJob": {
				const { dryRun } = action;
				const job =
					context.traceEndpoint === undefined
						? action.job
						: withTrace(action.job, run, context.traceEndpoint);
				const refusal = await startJob(client, job, { dryRun });
				if (refusal === undefined) break;
				slots.release(ownerOf(run));
				const refused = { ...state, run };
				return applyRun(
					context,
					refused,
					decideRefused(refused, refusal, Date.now()),
				);
			}
			case "removeJob":
				await removeJob(client, run, {
					job: state.job,
					secretName: inputSecretName(run.metadata.name),
				});
				break;
			case "lookAgain":
				result = { requeueAfterMs: action.afterMs };
				break;
			default:
				run = await report(context, aboutRun, run, action);
		}
	return result;
}

function ownerOf(run: Run): JobOwner {
	return { kind: "Run", ...keyOf(run) };
}

async function adopt(
	client: KubeClient,
	{ metadata }: Run,
	{ pipeline }: References,
): Promise<Run> {
	const { name, namespace, resourceVersion, ownerReferences } = metadata;
	const owner = controllerReference(pipelineKind, pipeline);
	// An object has one controller. If the Run has another, such as a workflow, the Pipeline is a plain owner.
	const controlled = ownerReferences?.some(({ controller }) => controller);
	return client.patch<Run>(
		runKind,
		name,
		namespace,
		{
			metadata: {
				ownerReferences: [
					...(ownerReferences ?? []),
					{ ...owner, controller: !controlled },
				],
				resourceVersion,
			},
		},
		"merge",
		{ fieldManager },
	);
}
