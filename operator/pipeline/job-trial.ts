import { createHash } from "node:crypto";
import { type Pipeline, pipelineKind } from "../../crds/generated/types.ts";
import { fieldManager, label, managedByTidemill } from "../../crds/labels.ts";
import { KubeApiError } from "../../packages/kube/client/client.ts";
import { type Job, kinds } from "../../packages/kube/kinds.ts";
import { jobRefusal } from "../jobs/refusal.ts";
import { jobWithInput } from "../jobs/template.ts";
import type { OperatorContext } from "../reconcile/context.ts";
import type { PipelineReferences } from "./state.ts";
import { type LoadTarget, loadTemplate, resolveTarget } from "./target.ts";

/** What Kubernetes says of a Job, and until when that is believed, by performance.now(). */
interface JobTrial {
	refusal: Promise<string | undefined>;
	untilMs: number;
}

/** Quotas and admission policies change without a word to the Pipeline. */
const acceptedMs = 3_600_000;
/** How long a refusal is believed, and how soon a Pipeline whose Job is refused looks again. */
export const refusedMs = 30_000;

/**
 * Asks Kubernetes by a dry-run create whether it would take the Job of a Run, so that a person reads at the Pipeline what is
 * wrong with `spec.runTemplate` before a Run is due. A process asks once for all Pipelines of a namespace whose Jobs differ in
 * nothing but names: after a restart, a request for each Pipeline would keep thousands waiting.
 */
export class JobTrials {
	readonly #context: Pick<OperatorContext, "client" | "image">;
	/** By the Job's digest, in the order in which they were asked. */
	readonly #trials = new Map<string, JobTrial>();

	constructor(context: Pick<OperatorContext, "client" | "image">) {
		this.#context = context;
	}

	/** Why Kubernetes doesn't take the Job; undefined if it does, or if something else is wrong with the Pipeline. */
	async refusalOf(references: PipelineReferences): Promise<string | undefined> {
		const resolved = resolveTarget(references);
		if ("problem" in resolved) return undefined;
		const { pipeline } = references;
		const job = trialJob(pipeline, resolved.target, this.#context.image);
		const digest = createHash("sha256")
			.update(JSON.stringify(job))
			.digest("base64");
		// The first was asked before all others, so nothing stays for longer than the longest is believed.
		for (const [first, { untilMs }] of this.#trials) {
			if (performance.now() < untilMs) break;
			this.#trials.delete(first);
		}
		const known = this.#trials.get(digest);
		if (known && performance.now() < known.untilMs) return known.refusal;
		const trial: JobTrial = {
			untilMs: Number.POSITIVE_INFINITY,
			refusal: this.#ask(job).then(({ refusal, believedMs }) => {
				trial.untilMs = performance.now() + believedMs;
				return refusal;
			}),
		};
		this.#trials.delete(digest);
		this.#trials.set(digest, trial);
		return trial.refusal;
	}

	async #ask(
		job: Job,
	): Promise<{ refusal: string | undefined; believedMs: number }> {
		try {
			const { client } = this.#context;
			await client.create(kinds.job, job, { fieldManager, dryRun: true });
			return { refusal: undefined, believedMs: acceptedMs };
		} catch (error) {
			return { refusal: refusalIn(error), believedMs: refusedMs };
		}
	}
}

/** Stands for every name in the Job that Kubernetes doesn't look up before it takes the Job. */
const anyName = "any-run";

/** The Job that a Run of the Pipeline would have, but for its input and all names. */
function trialJob(pipeline: Pipeline, target: LoadTarget, image: string): Job {
	const { namespace } = pipeline.metadata;
	const { volume, ...template } = loadTemplate(pipeline, target, image);
	return jobWithInput(
		{
			kind: pipelineKind,
			owner: {
				...pipeline,
				metadata: { name: anyName, namespace: namespace!, uid: anyName },
			},
			jobName: anyName,
			secretName: anyName,
			labels: { ...managedByTidemill, [label.pipeline]: anyName },
		},
		undefined,
		{
			...template,
			...(volume && {
				volume:
					"volumeClaimName" in volume ? { volumeClaimName: anyName } : volume,
			}),
		},
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
