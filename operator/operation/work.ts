import type {
	Operation,
	OperationSpec,
	TrackingPlan,
} from "../../crds/generated/types.ts";
import type { ReleaseFilter } from "../../packages/contracts/archive.ts";
import type { OperationInput } from "../../packages/contracts/operation.ts";
import type {
	PlanDocument,
	ViolationKind,
} from "../../packages/contracts/tracking-plan.ts";
import type { UtcDate } from "../../packages/contracts/utc-date.ts";
import type { ConfigMap } from "../../packages/kube/kinds.ts";
import { planVersion } from "../../packages/tracking-plan/version.ts";
import { documentOf, type PlanFault } from "../tracking-plan/document.ts";

/** What the Job does. Archive does the work of a Release and of an Export. */
export interface PlannedWork {
	work: OperationInput["work"] | undefined;
	/** Of the plan of a DryRun. */
	version?: string;
}

/** Events that an Inspect lists, if the Operation doesn't say. */
const defaultLimit = 20;

/**
 * Undefined if the TrackingPlan that the Operation names is missing.
 * @param configMapOf A labelled ConfigMap of the namespace. @param keptFrom The first date whose events are kept.
 */
export function workOf(
	{ metadata, spec }: Operation,
	plan: TrackingPlan | undefined,
	configMapOf: (name: string) => ConfigMap | undefined,
	keptFrom: UtcDate,
): PlannedWork | { fault: PlanFault } | undefined {
	if (spec.type === "Release" || spec.type === "Export")
		return { work: undefined };
	if (spec.type === "Import") {
		const { files, date, skipInvalidRows = false } = spec.import!;
		return {
			work: {
				type: "Import",
				files,
				...(date !== undefined && { date }),
				skipInvalidRows,
				keptFrom,
			},
		};
	}
	if (spec.type === "Inspect")
		return {
			work: {
				type: "Inspect",
				filter: eventFilter(spec.filter),
				limit: spec.limit ?? defaultLimit,
				...(spec.before !== undefined && { before: spec.before }),
			},
		};
	if (spec.type === "Draft") {
		const eventType = spec.eventType as PlanDocument["eventType"];
		return { work: { type: "Draft", eventType } };
	}
	const { inline } = spec.plan!;
	const tried = inline ? ({ metadata, spec: inline } as TrackingPlan) : plan;
	if (!tried) return undefined;
	const read = documentOf(tried, configMapOf);
	if ("fault" in read) return read;
	const { document } = read;
	return {
		work: { type: "DryRun", plan: document },
		version: planVersion(document),
	};
}

/** Which events in quarantine an Operation is about. */
export function eventFilter({
	types,
	kinds,
	eventIDs,
}: OperationSpec["filter"] & object = {}): ReleaseFilter {
	return {
		...(types && { types }),
		...(kinds && { kinds: kinds as ViolationKind[] }),
		...(eventIDs && { eventIDs }),
	};
}
