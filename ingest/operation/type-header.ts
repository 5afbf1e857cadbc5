import type { PlanDocument } from "../../packages/contracts/tracking-plan.ts";
import { JobFailure } from "../../packages/warehouses/load/failure.ts";
import type { EventRow } from "./stored-events.ts";

/**
 * Finds the header that has an event's type. Only captured headers are stored, but a plan that validated an event has recorded
 * its type.
 */
export class TypeHeader {
	readonly #header: string | undefined;
	#events = 0;
	#found = 0;

	constructor(eventType: PlanDocument["eventType"]) {
		this.#header = "header" in eventType ? eventType.header : undefined;
	}

	/** Undefined if the event had none, or it is not known, or the type is not in a header. */
	of({ headers, validation }: EventRow): string | undefined {
		if (this.#header === undefined) return undefined;
		this.#events++;
		const value = headers[this.#header] ?? validation?.type;
		if (value !== undefined) this.#found++;
		return value;
	}

	/** Throws {@link JobFailure} EventTypeUnknown if no event has the header: a result would mean nothing. */
	requireFound(): void {
		if (this.#events === 0 || this.#found > 0) return;
		throw new JobFailure(
			"EventTypeUnknown",
			`None of the ${this.#events} stored events has the header ${this.#header}, which tells their type`,
		);
	}
}
