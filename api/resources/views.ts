import type { Run } from "../../crds/generated/types.ts";
import type { Resource } from "./api-resource.ts";
import { managedBy } from "./managed-by.ts";

/**
 * A resource as the API shows it: the CRD's fields on one level, without what only Kubernetes needs. Where spec and
 * status share a word, it is what people have set that is shown.
 */
export function resourceView({ metadata, spec, status = {} }: Resource) {
	const { observedGeneration: _, ...found } = status;
	return { ...head(metadata), ...found, ...spec };
}

/**
 * A Run as the API shows it: on one level as well; its pipeline by name, and its phase in lower case as `status`,
 * where orchestrators look for it. Its dates are those that it loads, once that is known.
 */
export function runView({ metadata, spec, status = {} }: Run) {
	const { observedGeneration: _, phase = "Pending", ...found } = status;
	const { pipelineRef, ...asked } = spec;
	return {
		...head(metadata),
		pipeline: pipelineRef.name,
		status: phase.toLowerCase() as Lowercase<typeof phase>,
		...asked,
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
