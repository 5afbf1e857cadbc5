import type { Run, Source } from "../../crds/generated/types.ts";

/** A Source as the API shows it: the CRD's fields on one level, without what only Kubernetes needs. */
export function sourceView({ metadata, spec, status = {} }: Source) {
	const { observedGeneration: _, ...found } = status;
	return {
		name: metadata.name,
		creationTimestamp: metadata.creationTimestamp,
		...spec,
		...found,
	};
}

/**
 * A Run as the API shows it: as a Source; its pipeline by name, and its phase in lower case as `status`, where
 * orchestrators look for it.
 */
export function runView({ metadata, spec, status = {} }: Run) {
	const { observedGeneration: _, phase = "Pending", ...found } = status;
	const { pipelineRef, ...asked } = spec;
	return {
		name: metadata.name,
		creationTimestamp: metadata.creationTimestamp,
		pipeline: pipelineRef.name,
		status: phase.toLowerCase() as Lowercase<typeof phase>,
		...asked,
		...found,
	};
}
