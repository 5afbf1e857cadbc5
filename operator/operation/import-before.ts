import type { Operation } from "../../crds/generated/types.ts";
import { hasEnded } from "../../crds/run.ts";
import { ageOf } from "../../packages/kube/resource.ts";

/** An Import looks for what the Source has already, so one begins when the one before it has ended. Which one that is. */
export function importBefore(
	operation: Operation,
	ofSource: readonly Operation[],
): string | undefined {
	if (operation.spec.type !== "Import") return undefined;
	const [before] = ofSource
		.filter(
			(other) =>
				other.spec.type === "Import" &&
				!hasEnded(other) &&
				ageOf(other) < ageOf(operation),
		)
		.map(({ metadata }) => metadata.name);
	return before;
}
