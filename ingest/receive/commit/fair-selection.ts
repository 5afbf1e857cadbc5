interface Candidate {
	/** Source key. */
	source: string;
	bytes: number;
}

/**
 * Chooses the events of a frame that is too small for all: one event per source in turn, the oldest of each first, and
 * at least one. The chosen and the rest keep their order.
 */
export function selectFairly<T extends Candidate>(
	candidates: readonly T[],
	maxBytes: number,
): { chosen: T[]; rest: T[] } {
	const bySource = Map.groupBy(candidates, ({ source }) => source);
	const lanes = [...bySource.values()];
	const chosen = new Set<T>();
	let bytes = 0;
	for (let turn = 0, isFull = false; !isFull; turn++) {
		const inTurn = lanes.flatMap((lane) => lane[turn] ?? []);
		if (inTurn.length === 0) break;
		for (const candidate of inTurn) {
			bytes += candidate.bytes;
			isFull = chosen.size > 0 && bytes > maxBytes;
			if (isFull) break;
			chosen.add(candidate);
		}
	}
	return {
		chosen: candidates.filter((candidate) => chosen.has(candidate)),
		rest: candidates.filter((candidate) => !chosen.has(candidate)),
	};
}
