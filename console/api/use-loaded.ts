import { type Inputs, useLayoutEffect, useState } from "preact/hooks";
import { ApiProblem } from "./problem.ts";

/**
 * What the API answers, or why it doesn't; the former answer stays beside a problem.
 * @param inputs what `load` depends on: it is called again when one of them is another
 */
export function useLoaded<Answer>(
	load: (signal: AbortSignal) => Promise<Answer>,
	inputs: Inputs,
): { answer: Answer | undefined; problem: ApiProblem | undefined } {
	const [answer, setAnswer] = useState<Answer>();
	const [problem, setProblem] = useState<ApiProblem>();
	// Before the browser paints, which may take longer than the answer.
	useLayoutEffect(() => {
		const leaving = new AbortController();
		load(leaving.signal).then(
			(loaded) => {
				setAnswer(() => loaded);
				setProblem(undefined);
			},
			(error: unknown) => {
				if (leaving.signal.aborted) return;
				if (!(error instanceof ApiProblem)) throw error;
				setProblem(error);
			},
		);
		return () => leaving.abort();
	}, inputs);
	return { answer, problem };
}
