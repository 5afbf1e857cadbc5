import type { Pipeline } from "../../crds/generated/types.ts";
import type { KubeObject } from "../../kube/resource.ts";
import type { OperatorContext } from "../reconcile/context.ts";
import type { References } from "./target.ts";

/** Looks up what a Pipeline refers to. What is being deleted is gone. */
export function referencesOf(
	{ informers, settings }: Pick<OperatorContext, "informers" | "settings">,
	pipeline: Pipeline,
): References {
	const namespace = pipeline.metadata.namespace!;
	const destinationOf = ({ spec }: Pipeline) =>
		present(informers.destinations.get(namespace, spec.destinationRef.name));
	return {
		pipeline,
		source: present(
			informers.sources.get(namespace, pipeline.spec.sourceRef.name),
		),
		destination: destinationOf(pipeline),
		others: informers.pipelines
			.withTableOf(pipeline)
			.filter((other) => other !== pipeline && present(other))
			.map((other) => ({
				pipeline: other,
				destination: destinationOf(other),
			})),
		localWarehouse: settings.localWarehouse,
	};
}

function present<T extends KubeObject>(object: T | undefined): T | undefined {
	return object?.metadata.deletionTimestamp ? undefined : object;
}
