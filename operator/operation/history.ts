import type { Operation } from "../../crds/generated/types.ts";
import { ageOf } from "../../packages/kube/resource.ts";
import type { OperationAction } from "./action.ts";

/** Ended Operations of a Source that stay. A result takes up to 256 KiB of the operator's memory. */
export const keptOfSource = 20;

/** A longer wait isn't exact, and a timer has an end. */
const longestWaitMs = 24 * 3_600_000;

/** What happens to an Operation that has ended, and to those that ended before it. */
export function decideHistory(
	operation: Operation,
	ended: Operation[],
	now: number,
): OperationAction[] {
	const surplus = ended
		.toSorted((a, b) => (endOf(a) < endOf(b) ? 1 : -1))
		.slice(keptOfSource);
	const others = surplus.map(
		(operation): OperationAction => ({ type: "delete", object: operation }),
	);
	const isSurplus = surplus.some(
		({ metadata }) => metadata.uid === operation.metadata.uid,
	);
	if (isSurplus) return others;
	const { spec, status } = operation;
	const leftMs =
		Date.parse(status!.completionTime!) +
		spec.ttlSecondsAfterFinished * 1000 -
		now;
	return leftMs <= 0
		? [...others, { type: "delete", object: operation }]
		: [
				...others,
				{ type: "lookAgain", afterMs: Math.min(leftMs, longestWaitMs) },
			];
}

/** Times are whole seconds, so of two that ended in the same second the younger counts as the later. */
function endOf(operation: Operation): string {
	return `${operation.status?.completionTime} ${ageOf(operation)}`;
}
