import type { Source } from "../../../crds/generated/types.ts";
import type { Route } from "../../../packages/contracts/route.ts";
import type { RoutePlan } from "../../../packages/contracts/tracking-plan.ts";
import { planNamesOf } from "../../reconcile/informers.ts";
import {
	type PlanVersions,
	type PublishedPlans,
	routePlanOf,
} from "../../tracking-plan/plan-versions.ts";

/** The plan that judges a Source's events; undefined if it names none. */
export function sourcePlan(
	source: Source,
	sourceKey: string,
	{ plans, routes }: { plans: PlanVersions; routes: PublishedRoutes },
): RoutePlan | undefined {
	const [name] = planNamesOf(source);
	if (name === undefined) return undefined;
	const key = { namespace: source.metadata.namespace!, name };
	const own = routes.published(sourceKey)?.plan;
	return routePlanOf(key, plans.good(key), own, routes);
}

interface PublishedRoutes extends PublishedPlans {
	published(sourceKey: string): Route | undefined;
}
