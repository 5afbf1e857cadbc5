import { createHash } from "node:crypto";
import type { PipelineEventType } from "../../crds/generated/types.ts";
import type { EventFilter } from "../../packages/contracts/job.ts";
import type { PlanDocument } from "../../packages/contracts/tracking-plan.ts";
import type { PipelineReferences } from "./state.ts";

type FilterReferences = Pick<
	PipelineReferences,
	"pipeline" | "source" | "trackingPlan"
>;

/** Which events the Pipeline's tables have, undefined for all; or why that isn't known and what to do about it. */
export function filterOf(
	references: FilterReferences,
):
	| { filter: EventFilter | undefined }
	| { problem: string; isPlanMissing: boolean } {
	const { filter } = references.pipeline.spec;
	if (!filter) return { filter: undefined };
	const { types, match } = filter;
	if (!types) return { filter: { ...(match && { match }) } };
	const found = placeOfType(references, "filter", filter.eventType);
	if ("problem" in found) return found;
	return {
		filter: {
			types: { oneOf: types.toSorted(), place: found.place },
			...(match && { match }),
		},
	};
}

/** Where a Pipeline with a table for each type finds an event's type; or why that isn't known and what to do about it. */
export function placeForTables(references: FilterReferences) {
	const { table, filter } = references.pipeline.spec;
	return table.eventType || !filter?.eventType
		? placeOfType(references, "table", table.eventType)
		: placeOfType(references, "filter", filter.eventType);
}

/** As a layout names what the events are chosen by: another choice is another layout. A list of types may be longer than a status. */
export function choiceDigest(choice: object): string {
	return createHash("sha256")
		.update(JSON.stringify(choice))
		.digest("hex")
		.slice(0, 16);
}

/** @param field Of the spec, which has `eventType`. */
function placeOfType(
	{ source, trackingPlan }: FilterReferences,
	field: "filter" | "table",
	eventType: PipelineEventType | undefined,
):
	| { place: PlanDocument["eventType"] }
	| { problem: string; isPlanMissing: boolean } {
	const { webhook } = source?.spec ?? {};
	const plan = webhook?.trackingPlanRef?.name;
	const planned =
		trackingPlan && "eventType" in trackingPlan
			? trackingPlan.eventType
			: undefined;
	if (!eventType) {
		if (planned) return { place: planned };
		const why =
			plan === undefined
				? `Source "${source?.metadata.name}" has no TrackingPlan that says where an event's type is`
				: trackingPlan && "fault" in trackingPlan
					? `TrackingPlan "${plan}" can't be read: ${trackingPlan.fault.replace(/\.$/, "")}`
					: `there is no TrackingPlan "${plan}", which would say where an event's type is`;
		return {
			problem: `spec.${field} has ${field === "filter" ? "types" : "perEventType"}, and ${why}. Set spec.${field}.eventType.`,
			isPlanMissing: plan !== undefined && !trackingPlan,
		};
	}
	const { header, bodyPointer } = eventType;
	if (header === undefined) return { place: { bodyPointer: bodyPointer! } };
	const isRecorded =
		planned && "header" in planned && planned.header === header;
	if (isRecorded || webhook?.capturedHeaders?.includes(header))
		return { place: { header } };
	return {
		problem: `spec.${field}.eventType.header is "${header}", which Source "${source?.metadata.name}" doesn't store. Add it to that Source's spec.webhook.capturedHeaders.`,
		isPlanMissing: false,
	};
}
