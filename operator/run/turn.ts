import type { Run } from "../../crds/generated/types.ts";
import { ageOf } from "../../kube/resource.ts";

/**
 * Whether of two Runs into one warehouse the other goes first: the one that runs already, otherwise the older one. Two Runs
 * that look at the same moment agree.
 */
export function goesFirst(other: Run, run: Run): boolean {
	const isRunning = ({ status }: Run) => status?.phase === "Running";
	if (isRunning(other) !== isRunning(run)) return isRunning(other);
	return ageOf(other) < ageOf(run);
}
