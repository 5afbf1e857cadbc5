export interface Search<State> {
	start: State;
	/** What may happen next, each with a name and the state that it leads to. None when the system is at rest. */
	next(state: State): { name: string; state: State }[];
	/** What is wrong with this state, if anything. `isAtRest`: only optional steps are left. */
	fault(state: State, isAtRest: boolean): string | undefined;
	/** Steps that the world may take or leave: a state with no others is at rest. */
	isOptional(step: string): boolean;
}

export interface SearchResult {
	states: number;
	/** The first fault found, with the steps that lead there. */
	fault?: { what: string; steps: string[] };
}

/** Visits every state that can be reached, each once (breadth first, so that a fault comes with the fewest steps). */
export function searchAll<State>(search: Search<State>): SearchResult {
	interface Visit {
		state: State;
		step: string;
		from: Visit | undefined;
	}
	const seen = new Set([JSON.stringify(search.start)]);
	const queue: Visit[] = [
		{ state: search.start, step: "start", from: undefined },
	];
	for (const visit of queue) {
		const next = search.next(visit.state);
		const isAtRest = next.every(({ name }) => search.isOptional(name));
		const what = search.fault(visit.state, isAtRest);
		if (what !== undefined) {
			const steps: string[] = [];
			for (let at: Visit | undefined = visit; at; at = at.from)
				steps.unshift(at.step);
			return { states: seen.size, fault: { what, steps } };
		}
		for (const { name, state } of next) {
			const key = JSON.stringify(state);
			if (seen.has(key)) continue;
			seen.add(key);
			queue.push({ state, step: name, from: visit });
		}
	}
	return { states: seen.size };
}
