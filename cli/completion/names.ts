import {
	destinationKind,
	operationKind,
	pipelineKind,
	runKind,
	sourceKind,
	trackingPlanKind,
} from "../../crds/generated/types.ts";
import type { KubeObject, ResourceKind } from "../../packages/kube/resource.ts";
import { chooseCluster } from "../command/cluster.ts";
import type { Candidate, Question } from "./candidates.ts";

const kinds: Record<string, ResourceKind<KubeObject>> = {
	sources: sourceKind,
	destinations: destinationKind,
	pipelines: pipelineKind,
	runs: runKind,
	"tracking-plans": trackingPlanKind,
	operations: operationKind,
};
/** A person waits for it at each tab. */
const timeoutMs = 3_000;
const maxNames = 500;

/** The cluster's objects whose names start so. None if it isn't asked for any, or doesn't answer: a tab shows no errors. */
export async function namesStarting(
	start: string,
	{ names = "", options }: Question,
): Promise<Candidate[]> {
	const kind = kinds[names];
	if (!kind) return [];
	try {
		const { client, namespace } = await chooseCluster(options, timeoutMs);
		const { items } = await client.list(kind, {
			namespace,
			metadataOnly: true,
			limit: maxNames,
		});
		return items
			.map(({ metadata }) => ({ word: metadata.name, about: "" }))
			.filter(({ word }) => word.startsWith(start));
	} catch {
		return [];
	}
}
