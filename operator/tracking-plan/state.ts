import type { TrackingPlan } from "../../crds/generated/types.ts";
import { kinds } from "../../kube/kinds.ts";
import { keyOf, textOf } from "../../kube/resource.ts";
import { planVersion } from "../../plan/version.ts";
import type { OperatorContext } from "../reconcile/context.ts";
import { configMapNamesOf } from "../reconcile/informers.ts";
import { documentOf, type PlanFault } from "./document.ts";
import {
	type PlanVersions,
	type PublishedPlans,
	routePlanOf,
} from "./plan-versions.ts";
import type { SchemaCheck } from "./schema-check.ts";

/** All that a decision about one TrackingPlan rests on. */
export interface TrackingPlanState {
	plan: TrackingPlan;
	/** What keeps the plan, as it is, from judging. */
	fault: PlanFault | undefined;
	/** The version that judges: the plan as it is, or the last good one. */
	version: string | undefined;
	/** The Sources that name the plan and aren't being deleted. */
	sources: string[];
}

/** What the controller of TrackingPlans works with, beyond {@link OperatorContext}. */
export interface TrackingPlanMeans {
	plans: PlanVersions;
	routes: PublishedPlans;
	check: SchemaCheck;
	/** Plan → what is wrong with the version that was compiled last. */
	compiled: Map<string, { version: string; fault: string | undefined }>;
}

/** Compiles the plan if it says something new, and keeps the version if it is good. */
export async function readTrackingPlan(
	context: OperatorContext & TrackingPlanMeans,
	plan: TrackingPlan,
): Promise<TrackingPlanState> {
	const fault = await findFault(context, plan);
	const { informers, plans, routes } = context;
	const key = keyOf(plan);
	const judging = routePlanOf(key, plans.good(key), undefined, routes);
	return {
		plan,
		fault,
		version: judging.version,
		sources: informers.sources
			.ofTrackingPlan(key.namespace, key.name)
			.filter(({ metadata }) => !metadata.deletionTimestamp)
			.map(({ metadata }) => metadata.name)
			.sort(),
	};
}

async function findFault(
	context: OperatorContext & TrackingPlanMeans,
	plan: TrackingPlan,
): Promise<PlanFault | undefined> {
	const { client, informers, plans, check, compiled } = context;
	const key = keyOf(plan);
	const { namespace } = key;
	const configMaps = new Map(
		await Promise.all(
			configMapNamesOf(plan).map(
				async (name) =>
					[
						name,
						informers.configMaps.get(namespace, name) ??
							// To tell a person who forgot the label.
							(await client.get(kinds.configMap, name, namespace, {
								metadataOnly: true,
							})),
					] as const,
			),
		),
	);
	const read = documentOf(plan, (name) => configMaps.get(name));
	if ("fault" in read) return read.fault;
	const { document } = read;
	const text = JSON.stringify(document);
	const others = plans.sizeOf(namespace) - (plans.good(key)?.text.length ?? 0);
	const tooLarge = sizeFault(text.length, others);
	if (tooLarge) return tooLarge;
	const version = planVersion(document);
	let known = compiled.get(textOf(key));
	if (known?.version !== version) {
		known = { version, fault: await check.faultOf(document) };
		compiled.set(textOf(key), known);
	}
	if (known.fault !== undefined)
		return { reason: "InvalidSchema", message: known.fault };
	plans.set(key, { version, text });
	return undefined;
}

/** NATS takes it as one message, and each receiver keeps it in memory. */
const maxPlanLength = 2 * 1024 * 1024;
const maxAccountLength = 8 * 1024 * 1024;

export function sizeFault(
	length: number,
	others: number,
): PlanFault | undefined {
	if (length > maxPlanLength)
		return {
			reason: "PlanTooLarge",
			message: `The plan has ${length} characters as JSON, and ${maxPlanLength} is the most. Make its schemas smaller: let them refer to what they share in common.`,
		};
	if (length + others > maxAccountLength)
		return {
			reason: "PlanTooLarge",
			message: `The namespace's other plans have ${others} characters as JSON, and this one has ${length}; together ${maxAccountLength} is the most. Delete plans, or make them smaller.`,
		};
	return undefined;
}
