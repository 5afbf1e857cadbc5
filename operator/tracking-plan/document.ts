import type { TrackingPlanSchemaFrom } from "../../crds/generated/types.ts";
import { label } from "../../crds/labels.ts";
import type {
	EventSchema,
	PlanDocument,
} from "../../packages/contracts/tracking-plan.ts";
import { parseExact } from "../../packages/json/json-reader.ts";
import type { ConfigMap } from "../../packages/kube/kinds.ts";
import { type ObjectKey, textOf } from "../../packages/kube/resource.ts";
import type { Informers } from "../reconcile/informers.ts";
import {
	configMapNamesOf,
	type HeldConfigMap,
	type HeldPlan,
	specOf,
} from "../reconcile/named-schemas.ts";
import type { Reason } from "../reconcile/reasons.ts";

/** Why a plan can't validate. Becomes its Ready condition. */
export interface PlanFault {
	reason: Exclude<Reason<"TrackingPlan">, "Valid">;
	message: string;
}

/**
 * What receivers get of a plan, unless a schema can't be read.
 * @param configMapOf A ConfigMap of the plan's namespace, with or without the label; undefined if it doesn't exist.
 */
export function documentOf(
	plan: HeldPlan,
	configMapOf: (name: string) => HeldConfigMap | undefined,
): { document: PlanDocument } | { fault: PlanFault } {
	const { metadata, tooLarge } = plan;
	if (tooLarge !== undefined)
		return { fault: { reason: "PlanTooLarge", message: tooLarge } };
	const spec = specOf(plan);
	const namespace = metadata.namespace!;
	const read = (
		field: string,
		inline: Record<string, unknown> | undefined,
		from: TrackingPlanSchemaFrom | undefined,
	): EventSchema | undefined =>
		from
			? schemaIn(
					configMapOf(from.configMapKeyRef.name),
					from.configMapKeyRef,
					`${field}.configMapKeyRef`,
					namespace,
				)
			: inline;
	try {
		const common = read("spec.commonFrom", spec.common, spec.commonFrom);
		const events = (spec.events ?? []).map((event, index) => {
			const field = `spec.events[${index}].schemaFrom`;
			const schema = read(field, event.schema, event.schemaFrom);
			return { type: event.type, ...(schema !== undefined && { schema }) };
		});
		const { onUnplannedEvent, onViolation, onUnplannedProperty } = spec;
		return {
			document: {
				version: 1,
				account: namespace,
				plan: metadata.name,
				// The CRD makes sure that exactly one field is set.
				eventType: spec.eventType as PlanDocument["eventType"],
				...(common !== undefined && { common }),
				events,
				onUnplannedEvent,
				onViolation,
				onUnplannedProperty,
			},
		};
	} catch (error) {
		if (!(error instanceof Unreadable)) throw error;
		return { fault: error.fault };
	}
}

class Unreadable extends Error {
	readonly fault: PlanFault;

	constructor(reason: PlanFault["reason"], message: string) {
		super(message);
		this.fault = { reason, message };
	}
}

function schemaIn(
	configMap: HeldConfigMap | undefined,
	{ name, key }: { name: string; key: string },
	field: string,
	namespace: string,
): EventSchema {
	if (!configMap)
		throw new Unreadable(
			"ConfigMapNotFound",
			`There is no ConfigMap "${name}" in namespace "${namespace}", which ${field} names. Create it with the label ${label.use}: "true".`,
		);
	if (configMap.metadata.labels?.[label.use] !== "true")
		throw new Unreadable(
			"ConfigMapNotLabelled",
			`ConfigMap "${name}" lacks the label ${label.use}: "true", so Tidemill does not read it. Run: kubectl label configmap ${name} ${label.use}=true -n ${namespace}`,
		);
	if (configMap.tooLarge !== undefined)
		throw new Unreadable("PlanTooLarge", configMap.tooLarge);
	const text = configMap.data?.[key];
	if (text === undefined)
		throw new Unreadable(
			"ConfigMapKeyNotFound",
			`ConfigMap "${name}" has no key "${key}" in its data. Add the key, or correct ${field}.key.`,
		);
	const place = `Key "${key}" of ConfigMap "${name}"`;
	const schema = parse(text, place);
	if (
		typeof schema !== "boolean" &&
		(typeof schema !== "object" || schema === null || Array.isArray(schema))
	)
		throw new Unreadable(
			"InvalidSchema",
			`${place} is not a JSON Schema. It must be a JSON object.`,
		);
	return schema as EventSchema;
}

function parse(text: string, place: string): unknown {
	try {
		return parseExact(text);
	} catch (error) {
		throw new Unreadable(
			"InvalidSchema",
			`${place} is not JSON: ${(error as Error).message}.`,
		);
	}
}

/** What a plan says about events and where their type is, or why it can't be read, in words that are a sentence. */
export type PlannedEvents =
	| Pick<PlanDocument, "eventType" | "common" | "events">
	| { fault: string };

/**
 * The plan's schemas as they are written, whether they compile or not. Undefined if there is no such plan. A schema in a
 * ConfigMap may have a megabyte, and a thousand Pipelines may ask for it, so it is parsed once for each of its versions, as long as
 * few others are asked for.
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
	const text = textOf({ namespace, name });
	const before = known.get(text);
	if (
		before?.plan === plan &&
		before.configMaps.every((each, index) => each === found[index])
	)
		return before.events;
	const read = documentOf(plan, (name) => configMaps.get(namespace, name));
	const events: PlannedEvents =
		"fault" in read ? { fault: read.fault.message } : read.document;
	const texts = found.flatMap((each) => Object.values(each?.data ?? {}));
	const length = [plan.schemas ?? "", ...texts].join("").length;
	keep(text, { plan, configMaps: found, events, length });
	return events;
}

/** The latest, by namespace and name. */
const known = new Map<string, KnownPlan>();

interface KnownPlan {
	/** Informers replace an object when it changes. */
	plan: HeldPlan;
	configMaps: (ConfigMap | undefined)[];
	events: PlannedEvents;
	length: number;
}

/** In characters: as objects, schemas may take ten times as much. One plan is kept whatever it has. */
const keptLength = 2 * 1024 ** 2;

function keep(name: string, plan: KnownPlan): void {
	known.delete(name);
	known.set(name, plan);
	let length = 0;
	for (const [each, { length: own }] of [...known].reverse()) {
		length += own;
		if (length > keptLength && each !== name) known.delete(each);
	}
}
