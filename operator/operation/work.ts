import type { OperationInput } from "../../contracts/operation.ts";
import type { PlanDocument } from "../../contracts/tracking-plan.ts";
import type {
	Operation,
	OperationInline,
	TrackingPlan,
} from "../../crds/generated/types.ts";
import { planVersion } from "../../plan/version.ts";

export interface PlannedWork {
	work: OperationInput["work"];
	/** Of the plan of a DryRun. */
	version?: string;
}

/** What the Job does; undefined if the TrackingPlan that the Operation names is missing. */
export function workOf(
	{ metadata, spec }: Operation,
	plan: TrackingPlan | undefined,
): PlannedWork | undefined {
	if (spec.type === "Draft") {
		const eventType = spec.eventType as PlanDocument["eventType"];
		return { work: { type: "Draft", eventType } };
	}
	const { name = metadata.name, inline } = spec.plan!;
	const planSpec = inline ?? plan?.spec;
	if (!planSpec) return undefined;
	const document = documentOf(metadata.namespace!, name, planSpec);
	return {
		work: { type: "DryRun", plan: document },
		version: planVersion(document),
	};
}

function documentOf(
	account: string,
	plan: string,
	{ eventType, common, events = [], ...policies }: OperationInline,
): PlanDocument {
	const { onUnplannedEvent, onViolation, onUnplannedProperty } = policies;
	return {
		version: 1,
		account,
		plan,
		eventType: eventType as PlanDocument["eventType"],
		...(common && { common }),
		events: events.map(({ type, schema }) => ({
			type,
			...(schema && { schema }),
		})),
		onUnplannedEvent,
		onViolation,
		onUnplannedProperty,
	};
}
