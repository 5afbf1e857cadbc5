import type { NatsConnection } from "@nats-io/transport-node";
import type { ManifestAnswer, ResultAnswer } from "../../contracts/manifest.ts";
import { manifestSubject, resultSubject } from "../../contracts/nats.ts";
import { pipelineKind, type Run, runKind } from "../../crds/generated/types.ts";
import { fieldManager } from "../../crds/labels.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { BackgroundWork } from "../../kube/reconcile/background-work.ts";
import type { Result } from "../../kube/reconcile/controller.ts";
import { ageOf, controllerReference, keyOf } from "../../kube/resource.ts";
import { askArchive } from "../archive/ask.ts";
import type { FairLimit } from "../archive/fair-limit.ts";
import { removeJob, startJob } from "../job/apply.ts";
import type { JobOwner, JobSlots } from "../job/slots.ts";
import type { References } from "../pipeline/state.ts";
import { report } from "../reconcile/actions.ts";
import type { OperatorContext } from "../reconcile/context.ts";
import { decide, decideQueued, decideRefused, decideStart } from "./decide.ts";
import { inputSecretName } from "./job.ts";
import type { RunState } from "./state.ts";
import type { RunAction } from "./transition.ts";

/** What Runs work with, beyond {@link OperatorContext}. */
export interface RunMeans {
	nats: NatsConnection;
	/** The questions to archive, which may flush for long before it answers. */
	asks: BackgroundWork<ManifestAnswer>;
	/** The questions for results of Jobs. */
	results: BackgroundWork<ResultAnswer>;
	/** By account and shard, so that no account keeps archive from the others. */
	questions: FairLimit;
	slots: JobSlots;
}

const aboutRun = { kind: runKind, verb: "Run" };

/** Does what was decided. The answers of archive and Kubernetes lead to further decisions. */
export async function applyRun(
	context: OperatorContext & RunMeans,
	state: RunState,
	actions: RunAction[],
): Promise<Result | undefined> {
	const { asks, client, nats, questions, results, slots } = context;
	let { run } = state;
	let result: Result | undefined;
	for (const action of actions)
		switch (action.type) {
			case "adopt":
				run = await adopt(client, run, state.references!);
				break;
			case "askManifest": {
				const { question, shard, target } = action;
				const subject = manifestSubject(shard);
				const about = subject + JSON.stringify(question);
				const answer = asks.outcomeOf(keyOf(run), about, (signal, say) =>
					questions.run(`${question.account} ${shard}`, () =>
						askArchive<ManifestAnswer>(
							nats,
							{ subject, shard },
							question,
							"ManifestUnavailable",
							signal,
							say,
						),
					),
				);
				// The Run comes back when the answer is there.
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
						decideQueued(run, place, Date.now()),
					);
				asks.drop(keyOf(run));
				return applyRun(
					context,
					answered,
					decideStart(answered, target, answer, Date.now()),
				);
			}
			case "askResult": {
				const { question, shard } = action;
				const subject = resultSubject(shard);
				const about = subject + JSON.stringify(question);
				const stored = results.outcomeOf(keyOf(run), about, (signal) =>
					askArchive<ResultAnswer>(
						nats,
						{ subject, shard },
						question,
						"ResultUnavailable",
						signal,
					),
				);
				if (!stored) break;
				results.drop(keyOf(run));
				const answered = { ...state, run, stored };
				return applyRun(context, answered, decide(answered, Date.now()));
			}
			case "startJob": {
				const { runJob, dryRun } = action;
				const refusal = await startJob(client, runJob, { dryRun });
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
