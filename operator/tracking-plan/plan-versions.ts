import type { Source } from "../../crds/generated/types.ts";
import type { Route } from "../../packages/contracts/route.ts";
import {
	planKey,
	type RoutePlan,
} from "../../packages/contracts/tracking-plan.ts";
import { type ObjectKey, textOf } from "../../packages/kube/resource.ts";
import { planNamesOf } from "../reconcile/informers.ts";

/** A version of a plan that was compiled. */
export interface PlanVersion {
	version: string;
	/** The document that receivers get. */
	text: string;
	/** What it takes in a receiver. */
	bytes: number;
}

/**
 * The last good versions of the plans that this process has compiled. What it hasn't yet is in the routes bucket: after a
 * restart, routes keep the versions that they have.
 */
export class PlanVersions {
	readonly #good = new Map<string, PlanVersion>();
	/** By the keys of their documents. */
	readonly #texts = new Map<string, string>();
	readonly #bytes = new Map<string, number>();
	readonly #handlers: ((key: ObjectKey) => void)[] = [];

	good(key: ObjectKey): PlanVersion | undefined {
		return this.#good.get(textOf(key));
	}

	/** The text of a document, by its key. */
	textOf(documentKey: string): string | undefined {
		return this.#texts.get(documentKey);
	}

	/** What an account's plans take in a receiver. */
	bytesOf(namespace: string): number {
		return this.#bytes.get(namespace) ?? 0;
	}

	/** @param version undefined when the plan is gone and no Source names it. */
	set(key: ObjectKey, version: PlanVersion | undefined): void {
		const before = this.good(key);
		if (before?.version === version?.version) return;
		if (before) this.#drop(key, before);
		if (version) this.#keep(key, version);
		for (const handler of this.#handlers) handler(key);
	}

	/** Called when a plan has another good version. */
	onChange(handler: (key: ObjectKey) => void): void {
		this.#handlers.push(handler);
	}

	#keep(key: ObjectKey, version: PlanVersion): void {
		this.#good.set(textOf(key), version);
		this.#texts.set(documentKey(key, version), version.text);
		this.#grow(key.namespace, version.bytes);
	}

	#drop(key: ObjectKey, version: PlanVersion): void {
		this.#good.delete(textOf(key));
		this.#texts.delete(documentKey(key, version));
		this.#grow(key.namespace, -version.bytes);
	}

	#grow(namespace: string, by: number): void {
		const bytes = this.bytesOf(namespace) + by;
		if (bytes > 0) this.#bytes.set(namespace, bytes);
		else this.#bytes.delete(namespace);
	}
}

function documentKey(
	{ namespace, name }: ObjectKey,
	{ version }: PlanVersion,
): string {
	return planKey(namespace, { name, version });
}

/** What the routes bucket holds of plans. */
export interface PublishedPlans {
	/** The plans of an account's routes. */
	plansOf(account: string): Iterable<RoutePlan>;
	/** Whether a plan's document is there, by its key. */
	hasDocument(key: string): boolean;
}

/**
 * What a route says of its plan: the last good version, or the one that the route has already, or that of another route of
 * the account. Without a version nothing can be validated.
 * @param own What the route says now.
 */
export function routePlanOf(
	{ namespace, name }: ObjectKey,
	good: PlanVersion | undefined,
	own: RoutePlan | undefined,
	published: PublishedPlans,
): RoutePlan {
	if (good) return { name, version: good.version };
	const isUsable = (plan: RoutePlan) =>
		plan.name === name &&
		plan.version !== undefined &&
		published.hasDocument(planKey(namespace, plan));
	if (own && isUsable(own)) return own;
	for (const plan of published.plansOf(namespace))
		if (isUsable(plan)) return plan;
	return { name };
}

/** The plan that validates a Source's events; undefined if it names none. */
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
