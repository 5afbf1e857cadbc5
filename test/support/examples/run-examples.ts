import type { JobResult } from "../../../contracts/job.ts";
import {
	pipelineKind,
	type Run,
	type RunStatus,
} from "../../../crds/generated/types.ts";
import { findCondition } from "../../../kube/conditions.ts";
import type { Job, Pod } from "../../../kube/kinds.ts";
import { controllerReference } from "../../../kube/resource.ts";
import type { RunState } from "../../../operator/run/state.ts";
import type { RunAction } from "../../../operator/run/transition.ts";
import { terminated } from "../doubles/kubernetes/terminated-pod.ts";
import {
	destinationOf,
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
			credentials: undefined,
			trackingPlan: undefined,
			holder: undefined,
			podPolicy: { annotations: [], priorityClasses: [] },
			localWarehouse: undefined,
		},
		shard: 0,
		job: undefined,
		pods: [],
		rivals: [],
		writers: [],
		image: "tidemill:1",
		progress: undefined,
		...changes,
	};
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
