import { createHash } from "node:crypto";
import { type Pipeline, pipelineKind } from "../../crds/generated/types.ts";
import { fieldManager, label, managedByTidemill } from "../../crds/labels.ts";
import { scheduledRunName } from "../../crds/run.ts";
import { KubeApiError } from "../../packages/kube/client/client.ts";
import { type Job, kinds } from "../../packages/kube/kinds.ts";
import { jobRefusal } from "../jobs/refusal.ts";
import { jobWithInput } from "../jobs/template.ts";
import type { OperatorContext } from "../reconcile/context.ts";
import type { PipelineReferences } from "./state.ts";
import { type LoadTarget, loadTemplate, resolveTarget } from "./target.ts";

/** What Kubernetes says of a Job, and until when that is believed, by performance.now(). */
interface JobTrial {
	digest: string;
	untilMs: number;
	refusal: string | undefined;
}

/** Quotas and admission policies change without a word to the Pipeline. */
const acceptedMs = 3_600_000;
/** How soon a Pipeline says that its Job isn't refused any more. */
export const refusedMs = 30_000;

/**
 * Asks Kubernetes by a dry-run create whether it would take the Job of a Run, so that a person reads at the Pipeline what is
 * wrong with `spec.runTemplate` before a Run is due. A process asks once for each Job, and after a restart again.
 */
export class JobTrials {
	readonly #context: Pick<OperatorContext, "client" | "image">;
	readonly #known = new Map<string, JobTrial>();

	constructor(context: Pick<OperatorContext, "client" | "image">) {
		this.#context = context;
	}

	/** Why Kubernetes doesn't take the Job; undefined if it does, or if something else is wrong with the Pipeline. */
	async refusalOf(references: PipelineReferences): Promise<string | undefined> {
		const { pipeline } = references;
		const resolved = resolveTarget(references);
		if ("problem" in resolved) return undefined;
		const job = trialJob(pipeline, resolved.target, this.#context.image);
		const digest = createHash("sha256")
			.update(JSON.stringify(job))
			.digest("base64");
		const { uid } = pipeline.metadata;
		const known = this.#known.get(uid!);
		if (known?.digest === digest && performance.now() < known.untilMs)
			return known.refusal;
		const { client } = this.#context;
		let refusal: string | undefined;
		let forMs = acceptedMs;
		try {
			await client.create(kinds.job, job, { fieldManager, dryRun: true });
		} catch (error) {
			refusal = refusalIn(error);
			forMs = refusedMs;
		}
		this.#known.set(uid!, {
			...{ digest, refusal },
			untilMs: performance.now() + forMs,
		});
		return refusal;
	}

	/** The Pipeline is gone. */
	forget({ metadata }: Pipeline): void {
		this.#known.delete(metadata.uid!);
	}
}

/** The Job that a Run of the Pipeline would have, but for its name, its owner and its input. */
function trialJob(pipeline: Pipeline, target: LoadTarget, image: string): Job {
	const { name } = pipeline.metadata;
	const jobName = scheduledRunName(name, 0);
	return jobWithInput(
		{
			kind: pipelineKind,
			owner: pipeline,
			jobName,
			secretName: `${jobName}-input`,
			labels: { ...managedByTidemill, [label.pipeline]: name },
		},
		undefined,
		loadTemplate(pipeline, target, image),
	).job;
}

function refusalIn(error: unknown): string | undefined {
	// A Job of the name is there: Kubernetes has taken it.
	if (!(error instanceof KubeApiError) || error.reason === "AlreadyExists")
		return undefined;
	// A webhook with side effects, which says nothing of the Job.
	if (error.message.includes("does not support dry run")) return undefined;
	const { isLasting, message } = jobRefusal({ error });
	return isLasting ? message : undefined;
}
