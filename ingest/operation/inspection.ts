import {
	leftQuarantine,
	type Manifest,
	type ManifestDate,
	maxReportBytes,
} from "../../packages/contracts/manifest.ts";
import {
	type InspectResult,
	maxListedViolations,
	type OperationInput,
	type QuarantinedEvent,
} from "../../packages/contracts/operation.ts";
import { rowsOf } from "../../packages/warehouses/load/load-day.ts";
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

/**
 * Which objects an Operation reads of each date, and those whose events it leaves out: it inspects what is in quarantine, and what was
 * released is there no more; or it reads all, since a plan would have validated what is in quarantine, too.
 */
export function datesRead(
	{ dates }: Manifest,
	inspects: boolean,
): { read: ManifestDate[]; except: ManifestDate[] } {
	const nothing = { rows: 0, objects: [] };
	if (!inspects) {
		const read = dates.map(({ date, rows, objects, quarantine = nothing }) => ({
			date,
			rows: rows + quarantine.rows,
			objects: [...objects, ...quarantine.objects],
		}));
		return { read, except: [] };
	}
	return {
		read: dates.map(({ date, quarantine }) => {
			const { rows, objects } = quarantine ?? nothing;
			return { date, rows, objects };
		}),
		except: dates.map((day) => {
			const objects = leftQuarantine(day);
			return { date: day.date, rows: rowsOf(objects), objects };
		}),
	};
}
