import type { KubeObject } from "../../../../packages/kube/resource.ts";

/** What Flux waits for with `wait: true`, and Helm with `--wait`. */
export type KStatus = "Current" | "InProgress" | "Failed" | "Terminating";

interface WithStatus extends KubeObject {
	status?: {
		observedGeneration?: number;
		conditions?: { type: string; status: string }[];
	};
}

/**
 * The status of a custom resource by the rules of kstatus (github.com/kubernetes-sigs/cli-utils, pkg/kstatus/README.md,
 * "Status conditions"). An object that says nothing counts as finished.
 */
export function kstatusOf({ metadata, status }: WithStatus): KStatus {
	if (metadata.deletionTimestamp) return "Terminating";
	const { observedGeneration, conditions = [] } = status ?? {};
	if (
		observedGeneration !== undefined &&
		observedGeneration !== metadata.generation
	)
		return "InProgress";
	const statusOf = (type: string) =>
		conditions.find((each) => each.type === type)?.status;
	if (statusOf("Reconciling") === "True") return "InProgress";
	if (statusOf("Stalled") === "True") return "Failed";
	const ready = statusOf("Ready");
	return ready === undefined || ready === "True" ? "Current" : "InProgress";
}
