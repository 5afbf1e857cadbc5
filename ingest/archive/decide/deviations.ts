import {
	type Deviation,
	type DeviationCount,
	type Deviations,
	maxDeviations,
	maxDeviationType,
} from "../../../contracts/ledger.ts";
import type { Judgement } from "../../../contracts/tracking-plan.ts";
import type { FrameEvent } from "../../wire/frame.ts";

/** How events deviate from their tracking plan, by type and kind; undefined if none does. */
export function deviationsOf(
	events: readonly FrameEvent[],
): Deviations | undefined {
	const found = new Tally();
	for (const { violations, quarantined, receivedAtMs } of events) {
		// Most events are as planned. In a text of JSON each quotation mark has a backslash, so this is the field's name.
		if (!violations.includes('"violations":')) continue;
		const { type, violations: all = [] } = judgementOf(violations);
		const count: DeviationCount = {
			annotated: quarantined ? 0 : 1,
			quarantined: quarantined ? 1 : 0,
			lastEventTime: new Date(receivedAtMs).toISOString(),
		};
		for (const kind of new Set(all.map(({ kind }) => kind)))
			found.add({
				...(type !== undefined && { type: type.slice(0, maxDeviationType) }),
				kind,
				...count,
			});
	}
	return found.deviations();
}

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

/** Receive wrote it. A fault of its must not stop archive. */
function judgementOf(text: string): Partial<Judgement> {
	try {
		return JSON.parse(text);
	} catch {
		return {};
	}
}

class Tally {
	readonly #entries = new Map<string, Deviation>();
	#others: DeviationCount | undefined;

	add(entry: Deviation): void {
		const key = JSON.stringify([entry.type, entry.kind]);
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
