import type { Run } from "../../crds/generated/types.ts";
import type { ObjectMeta } from "../../kube/resource.ts";
import type { Resource } from "./api-resource.ts";

/**
 * A resource in the API: the CRD's fields at one level, without those that only Kubernetes needs. If spec and status have
 * a field of the same name, the view has the one of the spec.
 */
export function resourceView({ metadata, spec, status = {} }: Resource) {
	const { observedGeneration: _, ...found } = status;
	return { ...head(metadata), ...found, ...spec };
}

/**
 * A Run in the API: also at one level, with its pipeline's name, and with its phase in lower case as `status`, where
 * orchestrators look for it. Once known, the dates are those that it loads.
 */
export function runView({ metadata, spec, status = {} }: Run) {
	// The log has a path of its own.
	const {
		observedGeneration: _,
		log: __,
		phase = "Pending",
		...found
	} = status;
	const { pipelineRef, ...requested } = spec;
	return {
		...head(metadata),
		pipeline: pipelineRef.name,
		status: phase.toLowerCase() as Lowercase<typeof phase>,
		...requested,
		...found,
	};
}

function head(metadata: Resource["metadata"]) {
	const manager = managedBy(metadata);
	return {
		name: metadata.name,
		creationTimestamp: metadata.creationTimestamp,
		...(manager && { managedBy: manager }),
	};
}

/** The GitOps tool that undoes changes made here, because it applies the resource from a repository. */
type Manager = "ArgoCD" | "Flux" | "Helm";

/** The tool that manages the resource, by the labels and annotations that each tool documents. */
export function managedBy({
	labels = {},
	annotations = {},
}: Pick<ObjectMeta, "labels" | "annotations">): Manager | undefined {
	if (
		"argocd.argoproj.io/tracking-id" in annotations ||
		"argocd.argoproj.io/instance" in labels
	)
		return "ArgoCD";
	if (
		"kustomize.toolkit.fluxcd.io/name" in labels ||
		"helm.toolkit.fluxcd.io/name" in labels
	)
		return "Flux";
	return "meta.helm.sh/release-name" in annotations ? "Helm" : undefined;
}
