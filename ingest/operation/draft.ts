import { maxReportBytes } from "../../packages/contracts/manifest.ts";
import type { DraftResult } from "../../packages/contracts/operation.ts";
import type { PlanDocument } from "../../packages/contracts/tracking-plan.ts";
import { yamlText } from "../../packages/escapes/yaml.ts";
import {
	eventTypeOf,
	parseBody,
} from "../../packages/tracking-plan/event-body.ts";
import { schemaOf } from "./draft-schema.ts";
import {
	newShape,
	observe,
	type ShapeBudget,
	type ValueShape,
} from "./draft-shape.ts";
import { type EventRow, TypeHeader } from "./stored-events.ts";

/** As many as a TrackingPlan may have. */
const maxTypes = 500;
const maxTypeLength = 200;
/** Some 100 MB of memory. */
const maxShapes = 200_000;
const deepest = 10;

/** Infers a tracking plan from stored events. */
export class PlanDraft {
	readonly #name: string;
	readonly #eventType: PlanDocument["eventType"];
	readonly #header: TypeHeader;
	readonly #shapes = new Map<string, ValueShape>();
	readonly #room: ShapeBudget = { shapes: maxShapes };
	#events = 0;

	/** @param name of the TrackingPlan. */
	constructor(name: string, eventType: PlanDocument["eventType"]) {
		this.#name = name;
		this.#eventType = eventType;
		this.#header = new TypeHeader(eventType);
	}

	take(event: EventRow): void {
		this.#events++;
		const header = this.#header.of(event);
		const body = parseBody(Buffer.from(event.body));
		if (!body) return;
		const type = eventTypeOf(this.#eventType, body, header);
		if (type === undefined || type === "" || type.length > maxTypeLength)
			return;
		const shape = this.#shapeOf(type);
		if (shape) observe(shape, body.value, this.#room);
	}

	/** Throws JobFailure EventTypeUnknown. */
	get result(): DraftResult {
		this.#header.requireFound();
		return {
			events: this.#events,
			eventTypes: this.#shapes.size,
			trackingPlan: this.#manifest(),
		};
	}

	#shapeOf(type: string): ValueShape | undefined {
		const known = this.#shapes.get(type);
		if (known || this.#shapes.size >= maxTypes) return known;
		const made = newShape();
		this.#shapes.set(type, made);
		return made;
	}

	/** As deep as there is room for. */
	#manifest(): string {
		for (let depth = deepest; ; depth--) {
			const events = this.#eventsWith(depth);
			// As YAML it is hardly shorter, and takes much longer to write.
			if (depth > 0 && JSON.stringify(events).length > maxReportBytes) continue;
			const text = this.#manifestWith(events);
			if (depth === 0 || fits(text)) return text;
		}
	}

	#eventsWith(depth: number): PlanDocument["events"] {
		return [...this.#shapes]
			.sort(([a], [b]) => (a < b ? -1 : 1))
			.map(([type, shape]) => ({ type, schema: schemaOf(shape, depth) }));
	}

	#manifestWith(events: PlanDocument["events"]): string {
		const manifest = {
			apiVersion: "tidemill.dev/v1alpha1",
			kind: "TrackingPlan",
			metadata: { name: this.#name },
			spec: { eventType: this.#eventType, events },
		};
		return yamlText(manifest);
	}
}

/** The report is JSON and has other fields. */
function fits(text: string): boolean {
	return (
		text.length < maxReportBytes &&
		Buffer.byteLength(JSON.stringify(text)) < maxReportBytes - 1_024
	);
}
