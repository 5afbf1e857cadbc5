import type { TrackingPlan } from "../../crds/generated/types.ts";
import type { PlanDocument } from "../../packages/contracts/tracking-plan.ts";
import type { ConfigMap } from "../../packages/kube/kinds.ts";
import type { ObjectKey } from "../../packages/kube/resource.ts";
import { configMapNamesOf, type Informers } from "../reconcile/informers.ts";
import { documentOf } from "./document.ts";

/** What a plan says about events, or why it can't be read, in words that are a sentence. */
export type PlannedEvents =
	| Pick<PlanDocument, "common" | "events">
	| { fault: string };

/**
 * The plan's schemas as they are written, whether they compile or not. Undefined if there is no such plan. A schema in a
 * ConfigMap may have a megabyte, and a thousand Pipelines may ask for it, so it is parsed once for each of its versions.
 */
export function plannedEvents(
	{
		trackingPlans,
		configMaps,
	}: Pick<Informers, "trackingPlans" | "configMaps">,
	{ namespace, name }: ObjectKey,
): PlannedEvents | undefined {
	const plan = trackingPlans.get(namespace, name);
	if (!plan) return undefined;
	const found = configMapNamesOf(plan).map((name) =>
		configMaps.get(namespace, name),
	);
	const before = known.get(plan);
	if (before?.configMaps.every((each, index) => each === found[index]))
		return before.events;
	const read = documentOf(plan, (name) => configMaps.get(namespace, name));
	const events: PlannedEvents =
		"fault" in read ? { fault: read.fault.message } : read.document;
	known.set(plan, { configMaps: found, events });
	return events;
}

/** Informers replace an object when it changes. */
const known = new WeakMap<
	TrackingPlan,
	{ configMaps: (ConfigMap | undefined)[]; events: PlannedEvents }
>();
