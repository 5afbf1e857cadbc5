import { createHash } from "node:crypto";
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
	const found = placeOfType(references);
	if ("problem" in found) return found;
	return {
		filter: {
			types: { oneOf: types.toSorted(), place: found.place },
			...(match && { match }),
		},
	};
}

/** As a layout names it: another filter is another layout. A list of types may be longer than a status. */
export function filterDigest(filter: EventFilter): string {
	return createHash("sha256")
		.update(JSON.stringify(filter))
		.digest("hex")
		.slice(0, 16);
}

function placeOfType({
	pipeline,
	source,
	trackingPlan,
}: FilterReferences):
	| { place: PlanDocument["eventType"] }
	| { problem: string; isPlanMissing: boolean } {
	const { webhook } = source?.spec ?? {};
	const plan = webhook?.trackingPlanRef?.name;
	const { eventType } = pipeline.spec.filter!;
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
			problem: `spec.filter has types, and ${why}. Set spec.filter.eventType.`,
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
		problem: `spec.filter.eventType.header is "${header}", which Source "${source?.metadata.name}" doesn't store. Add it to that Source's spec.webhook.capturedHeaders.`,
		isPlanMissing: false,
	};
}
