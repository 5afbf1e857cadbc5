import { type Draft, isObject, valueAt, withField } from "../resource/draft.ts";

/** What the form of a TrackingPlan shows of a draft; schemas are written as YAML. */

export type TypePlace = "bodyPointer" | "header" | "constant";

export const typePlaces: readonly TypePlace[] = [
	...(["bodyPointer", "header", "constant"] as const),
];

/** The paths of the fields that show their own errors; others are at their line of the YAML. */
export const planFields = [
	"name",
	"displayName",
	"eventType.bodyPointer",
	"eventType.header",
	"eventType.constant",
	"onUnplannedEvent",
	"onViolation",
	"onUnplannedProperty",
];

export function newPlan(): Draft {
	return {
		name: "",
		spec: {
			eventType: { bodyPointer: "/type" },
			events: [],
			onUnplannedEvent: "Annotate",
			onViolation: "Annotate",
			onUnplannedProperty: "Annotate",
		},
	};
}

export function typePlace({ spec }: Draft): TypePlace {
	const eventType = isObject(spec.eventType) ? spec.eventType : {};
	return typePlaces.find((one) => one in eventType) ?? "bodyPointer";
}

/** An event's type is at exactly one place. */
export function withTypePlace(draft: Draft, place: TypePlace): Draft {
	const example = { bodyPointer: "/type", header: "", constant: "event" };
	return withField(draft, "eventType", { [place]: example[place] });
}

/** A drafted plan's event types in the form's plan, which keeps its name and its policies. */
export function withDrafted(draft: Draft, drafted: Draft): Draft {
	const { eventType, common, events } = drafted.spec;
	const { common: _, commonFrom: __, ...spec } = draft.spec;
	return {
		...draft,
		spec: {
			...spec,
			...(eventType !== undefined && { eventType }),
			...(common !== undefined && { common }),
			...(events !== undefined && { events }),
		},
	};
}

/** The plan of a dry run: a plan that isn't applied has no name to display. */
export function inlinePlan({ spec }: Draft): object {
	const { displayName: _, ...plan } = spec;
	return plan;
}

/** What a Source's status says of events that differ. */
export interface KindCount {
	type?: string;
	kind: string;
	annotated: number;
	quarantined: number;
	lastEventTime: string;
}

/** The events that differ in several Sources by kind, the most frequent first. An event that differs in two ways counts in both. */
export function byKind(deviations: readonly KindCount[]): KindCount[] {
	const kinds = new Map<string, KindCount>();
	for (const { kind, annotated, quarantined, lastEventTime } of deviations) {
		const known = kinds.get(kind) ?? {
			kind,
			annotated: 0,
			quarantined: 0,
			lastEventTime,
		};
		kinds.set(kind, {
			kind,
			annotated: known.annotated + annotated,
			quarantined: known.quarantined + quarantined,
			lastEventTime:
				known.lastEventTime > lastEventTime
					? known.lastEventTime
					: lastEventTime,
		});
	}
	const events = (one: KindCount) => one.annotated + one.quarantined;
	return [...kinds.values()].sort((a, b) => events(b) - events(a));
}

/** Dates until today, for an Operation. */
export function lastDays(
	days: number,
	now: number,
): { start: string; end: string } {
	const date = (ms: number) => new Date(ms).toISOString().slice(0, 10);
	return { start: date(now - (days - 1) * 86_400_000), end: date(now) };
}

/** A name for an Operation that somebody starts here: at most 52 characters, without dots. */
export function operationName(
	type: string,
	source: string,
	id: string,
): string {
	const rest = 52 - type.length - id.length - 2;
	const middle = source.replaceAll(".", "-").slice(0, rest).replace(/-+$/, "");
	return `${type.toLowerCase()}-${middle}-${id}`;
}

export function planNameOf(source: unknown): string | undefined {
	const name = valueAt(source, "webhook.trackingPlanRef.name");
	return typeof name === "string" ? name : undefined;
}
