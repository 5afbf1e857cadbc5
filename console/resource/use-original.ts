import { useEffect, useState } from "preact/hooks";
import { ApiProblem } from "../api/problem.ts";
import type { FormKind } from "./draft.ts";
import { loadOriginal, type Original } from "./save.ts";

/** A resource as the API has it now, for a form that changes it. @param round another number loads it again */
export function useOriginal(
	kind: FormKind,
	name: string,
	round = 0,
): { original: Original | undefined; problem: ApiProblem | undefined } {
	const [original, setOriginal] = useState<Original>();
	const [problem, setProblem] = useState<ApiProblem>();
	useEffect(() => {
		const leaving = new AbortController();
		loadOriginal(kind, name, leaving.signal).then(
			setOriginal,
			(error: unknown) => {
				if (leaving.signal.aborted) return;
				if (!(error instanceof ApiProblem)) throw error;
				setProblem(error);
			},
		);
		return () => leaving.abort();
	}, [kind, name, round]);
	return { original, problem };
}
