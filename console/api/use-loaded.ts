import { type Inputs, useLayoutEffect, useRef, useState } from "preact/hooks";
import { backoffMs } from "../../packages/service/pause.ts";
import { ApiProblem, passes } from "./problem.ts";

/** What a page reads of the API, as it is now. */
export interface Loaded<Answer> {
	/** The last one; it stays beside a problem. */
	answer: Answer | undefined;
	problem: ApiProblem | undefined;
	isLoading: boolean;
	/** Loads once more at once, unless it is loading. */
	retry(): void;
}

/** A page may make ten requests in a minute. */
const retries = { baseMs: 4_000, maxMs: 60_000 };

/**
 * What the API answers, or why it doesn't. After a problem that passes it asks again by itself, less and less often, and not
 * before the API's Retry-After.
 * @param inputs what `load` depends on: it is called again when one of them is another
 */
export function useLoaded<Answer>(
	load: (signal: AbortSignal) => Promise<Answer>,
	inputs: Inputs,
): Loaded<Answer> {
	const [answer, setAnswer] = useState<Answer>();
	const [problem, setProblem] = useState<ApiProblem>();
	const [isLoading, setLoading] = useState(true);
	const newest = useRef(load);
	newest.current = load;
	const ask = useRef(() => {});
	// Before the browser paints, which may take longer than the answer.
	useLayoutEffect(() => {
		const leaving = new AbortController();
		const { signal } = leaving;
		let failures = 0;
		let isAsking = false;
		let again: ReturnType<typeof setTimeout> | undefined;
		const settle = () => {
			isAsking = false;
			setLoading(false);
		};
		ask.current = () => {
			if (isAsking) return;
			isAsking = true;
			clearTimeout(again);
			setLoading(true);
			newest.current(signal).then(
				(loaded) => {
					if (signal.aborted) return;
					failures = 0;
					setAnswer(() => loaded);
					setProblem(undefined);
					settle();
				},
				(error: unknown) => {
					if (signal.aborted) return;
					settle();
					if (!(error instanceof ApiProblem)) throw error;
					setProblem(error);
					if (passes(error))
						again = setTimeout(
							ask.current,
							retryWaitMs(error, ++failures, Math.random),
						);
				},
			);
		};
		setProblem(undefined);
		ask.current();
		return () => {
			leaving.abort();
			clearTimeout(again);
		};
	}, inputs);
	return { answer, problem, isLoading, retry: () => ask.current() };
}

/** @param failures in a row; 1 is the first */
export function retryWaitMs(
	{ retryAfterSeconds = 0 }: ApiProblem,
	failures: number,
	random: () => number,
): number {
	return retryAfterSeconds * 1_000 + backoffMs(failures, retries, random);
}
