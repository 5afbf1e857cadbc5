import { dayMs } from "../../../packages/contracts/utc-date.ts";
import type { FrameEvent } from "../../wire/frame-event.ts";

/** The events of one account, source and date, in quarantine or not. There is at least one. */
interface Group {
	day: number;
	first: FrameEvent;
	events: FrameEvent[];
}

/** Tells events apart by the object that they belong to, without a text for each: most follow one of the same group. */
export class EventGroups {
	/** By source key. Nearly all have one or two. */
	readonly #groups = new Map<string, Group[]>();
	#latest: Group | undefined;

	add(event: FrameEvent): void {
		const day = Math.floor(event.receivedAtMs / dayMs);
		const latest = this.#latest;
		if (!latest || !isOf(latest, event, day))
			this.#latest = this.#find(event, day);
		this.#latest!.events.push(event);
	}

	all(): FrameEvent[][] {
		return [...this.#groups.values()].flat().map(({ events }) => events);
	}

	#find(event: FrameEvent, day: number): Group {
		let ofSource = this.#groups.get(event.sourceKey);
		if (!ofSource) {
			ofSource = [];
			this.#groups.set(event.sourceKey, ofSource);
		}
		let group = ofSource.find((other) => isOf(other, event, day));
		if (!group) {
			group = { day, first: event, events: [] };
			ofSource.push(group);
		}
		return group;
	}
}

function isOf(
	{ day, first }: Group,
	{ account, sourceKey, quarantined }: FrameEvent,
	ofDay: number,
): boolean {
	return (
		day === ofDay &&
		first.sourceKey === sourceKey &&
		first.account === account &&
		first.quarantined === quarantined
	);
}
