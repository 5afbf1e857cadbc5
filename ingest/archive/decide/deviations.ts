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
	const counts = new Map<string, Count>();
	// Events of one type often deviate alike, and parsing takes most of the time.
	const byText = new Map<string, Count[]>();
	for (const { violations, quarantined, receivedAtMs } of events) {
		// Most events are as planned. In a text of JSON each quotation mark has a backslash, so this is the field's name.
		if (!violations.includes('"violations":')) continue;
		let found = byText.get(violations);
		if (!found) {
			found = countsFor(violations, counts);
			byText.set(violations, found);
		}
		for (const count of found) {
			if (quarantined) count.quarantined++;
			else count.annotated++;
			count.lastMs = Math.max(count.lastMs, receivedAtMs);
		}
	}
	const sum = new Tally();
	for (const { lastMs, ...rest } of counts.values())
		sum.add({ ...rest, lastEventTime: new Date(lastMs).toISOString() });
	return sum.deviations();
}

type Count = Omit<Deviation, "lastEventTime"> & { lastMs: number };

/** Those of one event, which are among `counts`: one for each kind. */
function countsFor(violations: string, counts: Map<string, Count>): Count[] {
	const { type, violations: all = [] } = judgementOf(violations);
	const short = type?.slice(0, maxDeviationType);
	return [...new Set(all.map(({ kind }) => kind))].map((kind) => {
		const key = keyOf({ type: short, kind });
		let count = counts.get(key);
		if (!count) {
			count = {
				...(short !== undefined && { type: short }),
				kind,
				annotated: 0,
				quarantined: 0,
				lastMs: 0,
			};
			counts.set(key, count);
		}
		return count;
	});
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

function keyOf({ type, kind }: { type?: string | undefined; kind: string }) {
	return JSON.stringify([type, kind]);
}

class Tally {
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
