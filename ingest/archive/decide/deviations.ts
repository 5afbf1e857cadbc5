import {
	countOf,
	type Deviation,
	type Deviations,
	DeviationTally,
	keyOf,
	maxDeviationType,
	noneCounted,
} from "../../../packages/contracts/ledger.ts";
import type { ValidationRecord } from "../../../packages/contracts/tracking-plan.ts";
import type { FrameEvent } from "../../wire/frame-event.ts";

/** How events deviate from their tracking plan, by type and kind; undefined if none does. */
export function deviationsOf(
	events: readonly FrameEvent[],
): Deviations | undefined {
	const counts = new Map<string, Count>();
	// Events of one type often deviate alike, and parsing takes most of the time.
	const byText = new Map<string, Count[]>();
	for (const event of events) {
		const { violations, receivedAtMs } = event;
		// Most events are as planned. In a text of JSON each quotation mark has a backslash, so this is the field's name.
		if (!violations.includes('"violations":')) continue;
		let found = byText.get(violations);
		if (!found) {
			found = countsFor(violations, counts);
			byText.set(violations, found);
		}
		for (const count of found) {
			count[countOf(event)]++;
			count.lastMs = Math.max(count.lastMs, receivedAtMs);
		}
	}
	const sum = new DeviationTally();
	for (const { lastMs, ...rest } of counts.values())
		sum.add({ ...rest, lastEventTime: new Date(lastMs).toISOString() });
	return sum.deviations();
}

type Count = Omit<Deviation, "lastEventTime"> & { lastMs: number };

/** Those of one event, which are among `counts`: one for each kind. */
function countsFor(violations: string, counts: Map<string, Count>): Count[] {
	const { type, violations: all = [] } = validationOf(violations);
	const short = type?.slice(0, maxDeviationType);
	return [...new Set(all.map(({ kind }) => kind))].map((kind) => {
		const key = keyOf({ type: short, kind });
		let count = counts.get(key);
		if (!count) {
			count = {
				...(short !== undefined && { type: short }),
				kind,
				...noneCounted,
				lastMs: 0,
			};
			counts.set(key, count);
		}
		return count;
	});
}

/** Receive wrote it. A fault of its must not stop archive. */
function validationOf(text: string): Partial<ValidationRecord> {
	try {
		return JSON.parse(text);
	} catch {
		return {};
	}
}
