import type {
	Destination,
	DestinationSpec,
	DestinationStatus,
} from "../../../crds/generated/types.ts";
import { checkHash, checkName } from "../../../operator/destination/check.ts";
import type { DestinationAction } from "../../../operator/destination/decide.ts";
import type { DestinationState } from "../../../operator/destination/state.ts";
import type { JobResult } from "../../../packages/contracts/job.ts";
import type { Job, Pod } from "../../../packages/kube/kinds.ts";
import { rfc3339 } from "../../../packages/kube/resource.ts";
import { terminated } from "../doubles/kubernetes/terminated-pod.ts";
import { bigQueryOf, installation } from "./resource-examples.ts";

/** What a decision about a Destination rests on, for tables of decisions. */

export const now = Date.parse("2026-03-01T12:00:00.000Z");
export const at = rfc3339(now);
export const spec: DestinationSpec = {
	type: "DuckDB",
	duckDB: { path: "events.duckdb", volumeClaimName: "files" },
};
export const hash = checkHash(spec);
export const name = checkName("lake", hash);

export function destinationWith(
	status?: DestinationStatus,
	wanted: DestinationSpec = spec,
): Destination {
	return {
		apiVersion: "tidemill.dev/v1alpha1",
		kind: "Destination",
		metadata: { name: "lake", namespace: "shop", uid: "u", generation: 2 },
		spec: wanted,
		...(status && { status }),
	};
}

/** The label with which people let Tidemill use an object. */
export const used = { "tidemill.dev/use": "true" };

export const secretRef = { name: "google", key: "key.json" };

export function bigQuery(
	more: Partial<DestinationSpec["bigQuery"]> = {},
): DestinationSpec {
	return bigQueryOf("lake", more).spec;
}

export function stateWith(
	part: Partial<DestinationState> = {},
): DestinationState {
	return {
		destination: destinationWith(),
		jobs: [],
		pods: [],
		credentials: [],
		volumeClaim: { metadata: { name: "files", labels: used } },
		serviceAccount: undefined,
		image: "tidemill:1",
		allowedEndpoints: {},
		...installation,
		...part,
	};
}

export function jobThat(ended?: "Complete" | "Failed", reason?: string): Job {
	return {
		metadata: { name, namespace: "shop", uid: "job" },
		...(ended && {
			status: {
				conditions: [
					{
						type: ended,
						status: "True",
						lastTransitionTime: at,
						...(reason && { reason }),
					},
				],
			},
		}),
	};
}

export function podWith(result: JobResult): Pod {
	return {
		metadata: {
			name: "pod",
			ownerReferences: [
				{
					apiVersion: "batch/v1",
					kind: "Job",
					name,
					uid: "job",
					controller: true,
				},
			],
		},
		status: terminated({ exitCode: 0, message: JSON.stringify(result) }),
	};
}

export const succeeded: JobResult = {
	version: 1,
	outcome: "Succeeded",
	rows: 0,
	bytes: 0,
	objects: 0,
};
export const busy: JobResult = {
	version: 1,
	outcome: "Failed",
	error: { code: "DestinationBusy", message: "in use by x", retryable: true },
};

export function statusIn(actions: DestinationAction[]) {
	return actions.find((action) => action.type === "writeStatus")?.status;
}

/** A Destination whose check of `spec` has failed this often, the last time at `now`. */
export function failedTimes(failures: number): Destination {
	return destinationWith({
		observedGeneration: 2,
		phase: "Error",
		lastCheck: { hash, time: at, failures },
		conditions: [
			{
				type: "Ready",
				status: "False",
				reason: "CheckFailed",
				message: "DestinationBusy: in use by x",
				observedGeneration: 2,
				lastTransitionTime: at,
			},
		],
	});
}
