import {
	pipelineKind,
	type Run,
	type RunStatus,
} from "../../../crds/generated/types.ts";
import { aboutOf } from "../../../operator/reconcile/questions.ts";
import { decide, type RunAction } from "../../../operator/run/decide.ts";
import type { RunState } from "../../../operator/run/state.ts";
import type { JobResult } from "../../../packages/contracts/job.ts";
import type { ManifestAnswer } from "../../../packages/contracts/manifest.ts";
import { KubeApiError } from "../../../packages/kube/client/errors.ts";
import { findCondition } from "../../../packages/kube/conditions.ts";
import type { Job, Pod } from "../../../packages/kube/kinds.ts";
import type { Refusal } from "../../../packages/kube/reconcile/refusals.ts";
import { controllerReference } from "../../../packages/kube/resource.ts";
import { terminated } from "../doubles/kubernetes/terminated-pod.ts";
import {
	destinationOf,
	installation,
	pipelineOf,
	runOf,
	sourceOf,
} from "./resource-examples.ts";

/** Inputs and results of decisions about a Run, for tables of decisions. */

const pipeline = pipelineOf();

export function owned(run: Run): Run {
	run.metadata.ownerReferences = [controllerReference(pipelineKind, pipeline)];
	return run;
}

export function stateOf(changes: Partial<RunState> = {}): RunState {
	return {
		run: owned(runOf("r")),
		references: {
			pipeline,
			source: sourceOf(),
			destination: destinationOf(),
			credentials: [],
			trackingPlan: undefined,
			owner: undefined,
			...installation,
		},
		shard: 0,
		job: undefined,
		pods: [],
		contenders: [],
		ahead: 0,
		writers: [],
		image: "tidemill:1",
		progress: undefined,
		...changes,
	};
}

/** What archive lists for a Run. */
export const listed: Extract<ManifestAnswer, { ok: true }> = {
	ok: true,
	url: "http://s3/manifest",
	snapshotTime: "2026-03-31T12:00:00Z",
	closedThrough: "2026-03-30",
	extent: "Rest",
	expiresAt: "2026-04-01T00:00:00Z",
};

/** The state once archive has answered what the Run asks it. */
export function answeredWith(
	state: RunState,
	answer: ManifestAnswer,
	now: number,
): RunState {
	const ask = decide(state, now).at(-1);
	if (ask?.type !== "askManifest") throw new Error(`${ask?.type}`);
	return { ...state, answered: { about: aboutOf(ask), answer } };
}

/** What Kubernetes answers to a request for a Job or its input, a moment ago. */
export function refusalOf(
	message: string,
	{ status = 403, ...more }: Partial<Refusal> & { status?: number } = {},
): Refusal {
	const path = "/apis/batch/v1/namespaces/shop/jobs";
	const request = { method: "POST", path };
	return {
		error: new KubeApiError(status, { message }, undefined, request),
		at: Date.parse("2026-03-31T12:00:00Z"),
		failures: 1,
		retryInMs: 2_000,
		mayPass: false,
		...more,
	};
}

/** What a Run does after Kubernetes has refused its Job. */
export function decideRefused(
	state: RunState,
	message: string,
	now: number,
): RunAction[] {
	const refusal = refusalOf(message);
	return decide({ ...answeredWith(state, listed, now), refusal }, now);
}

export function types(actions: RunAction[]): string[] {
	return actions.map(({ type }) => type);
}

export function statusOf(actions: RunAction[]): RunStatus {
	const written = actions.find(({ type }) => type === "writeStatus");
	return written?.type === "writeStatus" ? written.status : {};
}

export function reasonOf(actions: RunAction[]): string | undefined {
	return findCondition(statusOf(actions).conditions, "Complete")?.reason;
}

export function jobWith(condition?: "Complete" | "Failed"): Job {
	return {
		metadata: { name: "r", uid: "uid-job" },
		status: {
			conditions: condition
				? [
						{
							type: condition,
							status: "True",
							lastTransitionTime: "2026-03-31T11:59:00Z",
						},
					]
				: [],
		},
	};
}

export function podWith(result: JobResult | undefined, exitCode: number): Pod {
	return {
		metadata: { name: "r-x", creationTimestamp: "2026-03-31T11:58:00Z" },
		status: terminated({
			exitCode,
			...(result && { message: JSON.stringify(result) }),
		}),
	};
}

export const loaded: JobResult = {
	version: 1,
	outcome: "Succeeded",
	rows: 5,
	bytes: 10,
	objects: 1,
};
