import {
	type Deviation,
	type DeviationCount,
	type Deviations,
	maxDeviations,
} from "./ledger.ts";

/** What was counted in several places, as one; undefined for nothing. */
export function sumOfDeviations(
	all: readonly Deviations[],
): Deviations | undefined {
	const found = new Tally();
	for (const { entries, others } of all) {
		for (const entry of entries) found.add(entry);
		found.addOthers(others);
	}
	return found.deviations();
}

export function keyOf({
	type,
	kind,
}: {
	type?: string | undefined;
	kind: string;
}) {
	return JSON.stringify([type, kind]);
}

/** Counts that are the most frequent by type and kind, and the sum of the others. */
export class Tally {
	readonly #entries = new Map<string, Deviation>();
	#others: DeviationCount | undefined;

	add(entry: Deviation): void {
		const key = keyOf(entry);
		const before = this.#entries.get(key);
		this.#entries.set(
			key,
			before ? { ...before, ...sum(before, entry) } : entry,
		);
	}

	addOthers(others: DeviationCount | undefined): void {
		if (others) this.#others = sum(this.#others, others);
	}

	/** Those that are told apart are the most frequent; of equals, the first by name. */
	deviations(): Deviations | undefined {
		const all = [...this.#entries].sort(
			([a, one], [b, other]) =>
				eventsOf(other) - eventsOf(one) || (a < b ? -1 : 1),
		);
		const rest = all.slice(maxDeviations).map(([, entry]) => entry);
		const others = rest.reduce(sum, this.#others);
		if (all.length === 0 && !others) return undefined;
		return {
			entries: all.slice(0, maxDeviations).map(([, entry]) => entry),
			...(others && { others }),
		};
	}
}

function sum(
	one: DeviationCount | undefined,
	other: DeviationCount,
): DeviationCount {
	const { annotated, quarantined, lastEventTime } = other;
	if (!one) return { annotated, quarantined, lastEventTime };
	return {
		annotated: one.annotated + annotated,
		quarantined: one.quarantined + quarantined,
		lastEventTime: later(one.lastEventTime, lastEventTime),
	};
}

function eventsOf({ annotated, quarantined }: DeviationCount): number {
	return annotated + quarantined;
}

/** Times from Date.toISOString sort as strings. */
function later(a: string, b: string): string {
	return a > b ? a : b;
}
