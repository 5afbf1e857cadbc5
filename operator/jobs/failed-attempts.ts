import type { RunFailedAttempt } from "../../crds/generated/types.ts";
import type { Pod } from "../../packages/kube/kinds.ts";
import { attemptEnd } from "./outcome.ts";

/** As the CRDs have it. */
const maxAttempts = 5;

/**
 * The attempts of a Job that failed and were followed by another, the last ones.
 * @param known From the status: the Pods of a Job that runs out of time are gone.
 * @param isOver The latest Pod had the last attempt, which the status tells apart.
 */
export function failedAttempts(
	known: RunFailedAttempt[] = [],
	pods: Pod[],
	isOver: boolean,
): { failedAttempts?: RunFailedAttempt[] } {
	const byAge = pods.toSorted((a, b) => (ageOf(a) < ageOf(b) ? -1 : 1));
	const last = isOver ? byAge.at(-1)?.metadata.name : undefined;
	const ended = byAge.flatMap((pod) => attemptOf(pod) ?? []);
	const names = new Set(ended.map(({ pod }) => pod));
	const all = [...known.filter(({ pod }) => !names.has(pod)), ...ended]
		.filter(({ pod }) => pod !== last)
		.slice(-maxAttempts);
	// An empty list takes away what the status has.
	return all.length > 0 || known.length > 0 ? { failedAttempts: all } : {};
}

function attemptOf(pod: Pod): RunFailedAttempt | undefined {
	const end = attemptEnd(pod);
	if (!end) return undefined;
	const { at, error, log } = end;
	const { code, message } = error;
	return {
		pod: pod.metadata.name,
		...(at && { completionTime: at }),
		code,
		message,
		...(log && { log }),
	};
}

function ageOf({ metadata }: Pod): string {
	return `${metadata.creationTimestamp} ${metadata.name}`;
}
