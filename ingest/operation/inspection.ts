import {
	type InspectResult,
	maxListedViolations,
	maxReportBytes,
	type OperationInput,
	type QuarantinedEvent,
} from "../../packages/contracts/operation.ts";
import type { EventRow } from "./stored-events.ts";

type Question = Extract<OperationInput["work"], { type: "Inspect" }>;

/** Lists events in quarantine: the newest that match, in whatever order they come. */
export class EventInspection {
	readonly #question: Question;
	#events = 0;
	/** At most twice the page and one. */
	#newest: QuarantinedEvent[] = [];

	constructor(question: Question) {
		this.#question = question;
	}

	take(event: EventRow): void {
		if (!this.#matches(event)) return;
		this.#events++;
		const { before, limit } = this.#question;
		if (before !== undefined && event.id >= before) return;
		this.#newest.push(listed(event));
		if (this.#newest.length > 2 * limit) this.#cut();
	}

	get result(): InspectResult {
		this.#cut();
		const page = this.#newest.slice(0, this.#question.limit);
		// Names of other scripts take three bytes a character. What has no room is on the next page.
		while (Buffer.byteLength(JSON.stringify(page)) > maxReportBytes - 1_000)
			page.pop();
		return {
			events: this.#events,
			page,
			hasMore: page.length < this.#newest.length,
		};
	}

	#matches({ id, validation }: EventRow): boolean {
		const { types, kinds, eventIDs } = this.#question.filter;
		const { type, violations = [] } = validation ?? {};
		return (
			(!types || (type !== undefined && types.includes(type))) &&
			(!kinds || violations.some(({ kind }) => kinds.includes(kind))) &&
			(!eventIDs || eventIDs.includes(id))
		);
	}

	/** One more than the page shows that there are more. */
	#cut(): void {
		// IDs are UUIDs of version 7, which sort by time (RFC 9562 §5.7).
		this.#newest.sort((a, b) => (a.eventID < b.eventID ? 1 : -1));
		this.#newest.length = Math.min(
			this.#newest.length,
			this.#question.limit + 1,
		);
	}
}

function listed({ id, timestampMs, validation }: EventRow): QuarantinedEvent {
	const { type, plan, version, violations = [], more = 0 } = validation ?? {};
	const others = Math.max(0, violations.length - maxListedViolations) + more;
	return {
		eventID: id,
		timestamp: new Date(timestampMs).toISOString(),
		...(type !== undefined && { type }),
		...(plan !== undefined && { plan }),
		...(version !== undefined && { planVersion: version }),
		violations: violations.slice(0, maxListedViolations),
		...(others > 0 && { otherViolations: others }),
	};
}
