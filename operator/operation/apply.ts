import { importSubject, releaseSubject } from "../../contracts/nats.ts";
import type { ReleaseAnswer } from "../../contracts/release.ts";
import type { ImportAnswer } from "../../contracts/stored/import.ts";
import { type Operation, operationKind } from "../../crds/generated/types.ts";
import type { BackgroundWork } from "../../kube/reconcile/background-work.ts";
import type { Result } from "../../kube/reconcile/controller.ts";
import { ageOf, keyOf } from "../../kube/resource.ts";
import { askArchive } from "../archive/ask.ts";
import { removeJob, startJob } from "../job/apply.ts";
import {
	type ArchiveMeans,
	manifestAnswer,
	resultAnswer,
} from "../job/archive-answers.ts";
import type { JobOwner, JobSlots } from "../job/slots.ts";
import { report } from "../reconcile/actions.ts";
import type { OperatorContext } from "../reconcile/context.ts";
import { decide, decideRefused, decideStart } from "./decide.ts";
import { decideImported } from "./import.ts";
import { operationInputName } from "./job.ts";
import { decideReleased } from "./release.ts";
import type { OperationState } from "./state.ts";
import { type OperationAction, steps } from "./transition.ts";

/** What Operations work with, beyond {@link OperatorContext}. */
export interface OperationMeans extends ArchiveMeans {
	/** The requests to release events. */
	releases: BackgroundWork<ReleaseAnswer>;
	/** The requests to add the events of Imports. */
	imports: BackgroundWork<ImportAnswer>;
	slots: JobSlots;
}

export const aboutOperation = { kind: operationKind, verb: "Operate" };

/** Does what was decided. The answers of archive and Kubernetes lead to further decisions. */
export async function applyOperation(
	context: OperatorContext & OperationMeans,
	state: OperationState,
	actions: OperationAction[],
): Promise<Result | undefined> {
	const { asks, client, imports, nats, questions, releases, slots } = context;
	let { operation } = state;
	let result: Result | undefined;
	const goOn = (next: (state: OperationState) => OperationAction[]) => {
		const answered = { ...state, operation };
		return applyOperation(context, answered, next(answered));
	};
	for (const action of actions)
		switch (action.type) {
			case "askManifest": {
				const answer = manifestAnswer(context, keyOf(operation), action);
				if (!answer) break;
				// Only now, so that no Operation holds a slot while archive is slow. The answer stays until its turn.
				// An Export needs none.
				const needsSlot = answer.ok && operation.spec.type !== "Export";
				const place = needsSlot
					? slots.take(ownerOf(operation), ageOf(operation))
					: undefined;
				if (place)
					return goOn(({ operation }) =>
						steps.queued(operation, place, Date.now()),
					);
				asks.drop(keyOf(operation));
				return goOn((answered) => decideStart(answered, answer, Date.now()));
			}
			case "askResult": {
				const stored = resultAnswer(context, keyOf(operation), action);
				if (!stored) break;
				return goOn((answered) => decide({ ...answered, stored }, Date.now()));
			}
			case "askRelease": {
				const { question, shard } = action;
				const subject = releaseSubject(shard);
				// The days that are kept move on; the first request counts.
				const answer = releases.outcomeOf(
					keyOf(operation),
					subject,
					(signal, say) =>
						questions.run(`${question.account} ${shard}`, () =>
							askArchive<ReleaseAnswer>(
								nats,
								{ subject, shard },
								question,
								"ReleaseUnavailable",
								signal,
								say,
							),
						),
				);
				if (!answer) break;
				releases.drop(keyOf(operation));
				return goOn(({ operation }) =>
					decideReleased(operation, answer, Date.now()),
				);
			}
			case "askImport": {
				const { question, shard } = action;
				const subject = importSubject(shard);
				const answer = imports.outcomeOf(
					keyOf(operation),
					subject,
					(signal, say) =>
						questions.run(`${question.account} ${shard}`, () =>
							askArchive<ImportAnswer>(
								nats,
								{ subject, shard },
								question,
								"ImportUnavailable",
								signal,
								say,
							),
						),
				);
				if (!answer) break;
				imports.drop(keyOf(operation));
				return goOn(({ operation }) =>
					decideImported(operation, answer, Date.now()),
				);
			}
			case "startJob": {
				const { job, dryRun } = action;
				const refusal = await startJob(client, job, { dryRun });
				if (refusal === undefined) break;
				slots.release(ownerOf(operation));
				return goOn(({ operation }) =>
					decideRefused(operation, refusal, Date.now()),
				);
			}
			case "removeJob":
				await removeJob(client, operation, {
					job: state.job,
					secretName: operationInputName(operation.metadata.name),
				});
				break;
			case "delete": {
				const { name, namespace, uid } = action.operation.metadata;
				await client.delete(operationKind, name, namespace, { uid: uid! });
				break;
			}
			case "lookAgain":
				result = { requeueAfterMs: action.afterMs };
				break;
			default:
				operation = await report(context, aboutOperation, operation, action);
		}
	return result;
}

function ownerOf(operation: Operation): JobOwner {
	return { kind: "Operation", ...keyOf(operation) };
}
