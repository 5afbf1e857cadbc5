import type { ApiProblem } from "../api/problem.ts";
import { useLoaded } from "../api/use-loaded.ts";
import type { FormKind } from "./draft.ts";
import { loadOriginal, type Original } from "./save.ts";

/** A resource as the API has it now, for a form that changes it. @param round another number loads it again */
export function useOriginal(
	kind: FormKind,
	name: string,
	round = 0,
): { original: Original | undefined; problem: ApiProblem | undefined } {
	const { answer: original, problem } = useLoaded(
		(signal) => loadOriginal(kind, name, signal),
		[kind, name, round],
	);
	return { original, problem };
}
