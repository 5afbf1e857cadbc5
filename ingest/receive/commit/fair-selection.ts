interface Candidate {
	account: string;
	/** Source key. */
	source: string;
	bytes: number;
}

/**
 * Chooses the events of a frame that is too small for all: one event per account in turn, and of an account one per Source
 * in turn, the oldest of each first, and at least one. The chosen and the rest keep their order.
 */
export function selectFairly<T extends Candidate>(
	candidates: readonly T[],
	maxBytes: number,
): { chosen: T[]; rest: T[] } {
	const inTurn = taken(candidates, ({ account }) => account, ofAccount);
	const chosen = new Set<T>();
	let bytes = 0;
	for (const candidate of inTurn) {
		bytes += candidate.bytes;
		if (chosen.size > 0 && bytes > maxBytes) break;
		chosen.add(candidate);
	}
	return {
		chosen: candidates.filter((candidate) => chosen.has(candidate)),
		rest: candidates.filter((candidate) => !chosen.has(candidate)),
	};
}

function ofAccount<T extends Candidate>(candidates: readonly T[]): Iterable<T> {
	return taken(
		candidates,
		({ source }) => source,
		(lane) => lane,
	);
}

/** Groups the candidates, orders each group, and takes one from each group in turn until all are taken. */
function* taken<T>(
	candidates: readonly T[],
	groupOf: (candidate: T) => string,
	order: (group: T[]) => Iterable<T>,
): Generator<T> {
	let lanes = [...Map.groupBy(candidates, groupOf).values()].map((group) =>
		order(group)[Symbol.iterator](),
	);
	while (lanes.length > 0) {
		const open: Iterator<T>[] = [];
		for (const lane of lanes) {
			const { done, value } = lane.next();
			if (done) continue;
			yield value;
			open.push(lane);
		}
		lanes = open;
	}
}
