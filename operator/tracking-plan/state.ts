import type { TrackingPlan } from "../../crds/generated/types.ts";
import {
	maxAccountPlanBytes,
	maxPlanBytes,
	type PlanDocument,
} from "../../packages/contracts/tracking-plan.ts";
import { kinds } from "../../packages/kube/kinds.ts";
import { keyOf, textOf } from "../../packages/kube/resource.ts";
import { planVersion } from "../../packages/tracking-plan/version.ts";
import type { OperatorContext } from "../reconcile/context.ts";
import {
	configMapNamesOf,
	type HeldConfigMap,
} from "../reconcile/named-schemas.ts";
import { documentOf, type PlanFault } from "./document.ts";
import {
	type PlanVersions,
	type PublishedPlans,
	routePlanOf,
} from "./plan-versions.ts";
import type { CheckedPlan, SchemaCheck } from "./schema-check.ts";

/** All that a decision about one TrackingPlan rests on. */
export interface TrackingPlanState {
	plan: TrackingPlan;
	/** What keeps the plan, as it is, from validating. */
	fault: PlanFault | undefined;
	/** The version that validates: the plan as it is, or the last good one. */
	version: string | undefined;
	/** The Sources that name the plan and aren't being deleted. */
	sources: string[];
}

/** What the controller of TrackingPlans works with, beyond {@link OperatorContext}. */
export interface TrackingPlanDeps {
	plans: PlanVersions;
	routes: PublishedPlans;
	check: SchemaCheck;
	/** Plan → what came of the version that was compiled last. */
	compiled: Map<string, { version: string; checked: CheckedPlan }>;
}

/** Compiles the plan if it says something new, and keeps the version if it is good. */
export async function readTrackingPlan(
	context: OperatorContext & TrackingPlanDeps,
	plan: TrackingPlan,
): Promise<TrackingPlanState> {
	const fault = await findFault(context, plan);
	const { informers, plans, routes } = context;
	const key = keyOf(plan);
	const current = routePlanOf(key, plans.good(key), undefined, routes);
	return {
		plan,
		fault,
		version: current.version,
		sources: informers.sources
			.ofTrackingPlan(key.namespace, key.name)
			.filter(({ metadata }) => !metadata.deletionTimestamp)
			.map(({ metadata }) => metadata.name)
			.sort(),
	};
}

async function findFault(
	context: OperatorContext & TrackingPlanDeps,
	plan: TrackingPlan,
): Promise<PlanFault | undefined> {
	const { client, informers, plans, check, compiled } = context;
	const key = keyOf(plan);
	const { namespace } = key;
	const configMaps = new Map<string, HeldConfigMap | undefined>();
	for (const name of configMapNamesOf(plan)) {
		await informers.configMaps.settled(namespace, name);
		if (informers.configMaps.isUnread(namespace, name))
			throw new Error(`ConfigMap "${name}" couldn't be read yet`);
		configMaps.set(
			name,
			informers.configMaps.get(namespace, name) ??
				// For a message to who forgot the label.
				(await client.get(kinds.configMap, name, namespace, {
					metadataOnly: true,
				})),
		);
	}
	const read = documentOf(plan, (name) => configMaps.get(name));
	if ("fault" in read) return read.fault;
	const { document } = read;
	const written = writtenOf(document);
	if (!written)
		return {
			reason: "InvalidSchema",
			message:
				"The plan's schemas are nested too deeply. Split them with $ref.",
		};
	const { text, version } = written;
	if (text.length > maxDocumentLength)
		return {
			reason: "PlanTooLarge",
			message: `The plan has ${text.length} characters as JSON, and ${maxDocumentLength} is the most. Make its schemas smaller: let them refer to what they share in common.`,
		};
	let known = compiled.get(textOf(key));
	if (known?.version !== version) {
		known = { version, checked: await check.check(document) };
		compiled.set(textOf(key), known);
	}
	const { checked } = known;
	if ("fault" in checked)
		return { reason: "InvalidSchema", message: checked.fault };
	const { bytes } = checked;
	const others = plans.bytesOf(namespace) - (plans.good(key)?.bytes ?? 0);
	const tooLarge = memoryFault(bytes, others);
	if (tooLarge) return tooLarge;
	plans.set(key, { version, text, bytes });
	return undefined;
}

/** Undefined if it is nested too deeply to write. */
function writtenOf(
	document: PlanDocument,
): { text: string; version: string } | undefined {
	try {
		return { text: JSON.stringify(document), version: planVersion(document) };
	} catch (error) {
		if (error instanceof RangeError) return undefined;
		throw error;
	}
}

/** NATS takes it as one message. */
const maxDocumentLength = 2 * 1024 * 1024;

/** @param others What the account's other plans take in a receiver. */
export function memoryFault(
	bytes: number,
	others: number,
): PlanFault | undefined {
	const reason = "PlanTooLarge";
	const advice =
		"Make its schemas smaller: let them refer to what they share in common.";
	if (bytes > maxPlanBytes)
		return {
			reason,
			message: `The plan takes ${mebi(bytes)} of memory once it is compiled, and ${mebi(maxPlanBytes)} is the most. ${advice}`,
		};
	if (bytes + others > maxAccountPlanBytes)
		return {
			reason,
			message: `The namespace's other plans take ${mebi(others)} of memory, and this one takes ${mebi(bytes)}; together ${mebi(maxAccountPlanBytes)} is the most. Delete plans, or make this one smaller.`,
		};
	return undefined;
}

function mebi(bytes: number): string {
	return `${(bytes / 1024 ** 2).toFixed(1)} MiB`;
}
