import {
	type Operation,
	type TrackingPlan,
	type TrackingPlanSpec,
	trackingPlanKind,
} from "../../crds/generated/types.ts";
import { hasEnded } from "../../crds/run.ts";
import { parseExact } from "../../packages/json/json-reader.ts";
import type { KubeClient } from "../../packages/kube/client/client.ts";
import { type ConfigMap, kinds } from "../../packages/kube/kinds.ts";
import { keyOf, textOf } from "../../packages/kube/resource.ts";
import type { Informer } from "../../packages/kube/watch/informer.ts";
import {
	type NoRoom,
	PartInformer,
} from "../../packages/kube/watch/part-informer.ts";
import type { Logger } from "../../packages/service/log.ts";
import type { PlanOutline } from "./held.ts";
import { fetchLabelled, keyNamer, type NamedKeys } from "./named-keys.ts";

/** In characters, of all plans of a namespace, and as many of its ConfigMaps. A receiver takes no more, either. */
const room = 8 * 1024 ** 2;

/** A plan whose schemas are text: as objects they could take ten times as much. */
export type HeldPlan = PlanOutline & {
	/** JSON of the plan's `common`, and of the schemas of its `events`. */
	schemas?: string;
	tooLarge?: string;
};

export type HeldConfigMap = ConfigMap & { tooLarge?: string };

/** The plans with the schemas that stand in them. */
export function plansWithSchemas(
	client: KubeClient,
	objects: Informer<PlanOutline>,
	log: Logger,
): PartInformer<HeldPlan, string> {
	return new PartInformer<HeldPlan, string>({
		objects,
		wanted: ({ hasSchemas }) => (hasSchemas ? "all" : undefined),
		versionOf: ({ metadata: { uid, generation } }) => `${uid} ${generation}`,
		async read({ metadata: { namespace, name } }) {
			const plan = await client.get<TrackingPlan>(
				trackingPlanKind,
				name,
				namespace,
			);
			if (!plan) return undefined;
			const { common, events = [] } = plan.spec;
			const part = JSON.stringify([common, events.map(({ schema }) => schema)]);
			return { part, size: part.length };
		},
		joined: (plan, schemas, noRoom) => ({
			...plan,
			...(schemas !== undefined && { schemas }),
			...(noRoom && { tooLarge: fullText("plans", noRoom) }),
		}),
		room,
		after: [],
		log,
	});
}

/** What a plan says, its schemas among it. */
export function specOf({ spec, schemas }: HeldPlan): TrackingPlanSpec {
	if (schemas === undefined) return spec;
	const [common, ofEvents] = parseExact(schemas) as [object, unknown[]];
	return {
		...spec,
		...(common && { common }),
		...(spec.events && {
			events: spec.events.map((event, index) => {
				const schema = ofEvents[index];
				return schema === null ? event : { ...event, schema };
			}),
		}),
	} as TrackingPlanSpec;
}

/** The ConfigMaps with the label, and of them the keys that plans name. */
export function namedSchemas(
	client: KubeClient,
	objects: Informer<ConfigMap>,
	{
		operations,
		trackingPlans,
	}: { operations: Informer<Operation>; trackingPlans: Informer<TrackingPlan> },
	log: Logger,
): PartInformer<HeldConfigMap, Record<string, string>> {
	const inlineOf = (operation: Operation) =>
		hasEnded(operation) ? undefined : operation.spec.plan?.inline;
	const namers = [
		keyNamer(trackingPlans, ({ spec }) => configMapRefs(spec)),
		keyNamer(operations, (operation) => configMapRefs(inlineOf(operation))),
	];
	const keysOf = (configMap: ConfigMap): string[] => {
		const text = textOf(keyOf(configMap));
		return [...new Set(namers.flatMap(({ keysOf }) => keysOf(text)))].sort();
	};
	const configMaps = new PartInformer<HeldConfigMap, Record<string, string>>({
		objects,
		wanted: (configMap) => keysOf(configMap).join() || undefined,
		versionOf: ({ metadata }) => metadata.resourceVersion!,
		async read(configMap) {
			const key = keyOf(configMap);
			const found = await fetchLabelled(client, kinds.configMap, key, {
				notOlderThan: configMap.metadata.resourceVersion,
			});
			if (!found) return undefined;
			const part = Object.fromEntries(
				keysOf(configMap).flatMap((key) => {
					const text = found.data?.[key];
					return text === undefined ? [] : [[key, text]];
				}),
			);
			const texts = Object.values(part);
			return { part, size: texts.reduce((sum, { length }) => sum + length, 0) };
		},
		joined: (configMap, data, noRoom) => ({
			...configMap,
			...(data && { data }),
			...(noRoom && { tooLarge: fullText("ConfigMaps with schemas", noRoom) }),
		}),
		room,
		after: [operations, trackingPlans],
		log,
	});
	for (const { onNames } of namers) onNames((key) => configMaps.look(key));
	return configMaps;
}

type SchemaRefs = Pick<TrackingPlanSpec, "commonFrom"> & {
	events?: Pick<
		NonNullable<TrackingPlanSpec["events"]>[number],
		"schemaFrom"
	>[];
};

/** The places in ConfigMaps that a plan names. */
function configMapRefs(spec: SchemaRefs = {}): NamedKeys[] {
	const events = spec.events ?? [];
	const all = [spec.commonFrom, ...events.map(({ schemaFrom }) => schemaFrom)];
	return all
		.flatMap((from) => from?.configMapKeyRef ?? [])
		.map(({ name, key }) => ({ name, keys: [key] }));
}

/** The names of the ConfigMaps that hold a plan's schemas. */
export function configMapNamesOf({ spec }: TrackingPlan): string[] {
	return [...new Set(configMapRefs(spec).map(({ name }) => name))];
}

function fullText(what: string, { size, others, room }: NoRoom): string {
	return `The namespace's other ${what} have ${others} characters, and this one has ${size}; together ${room} is the most. Delete some, or make them smaller: let them refer to what they share in common.`;
}
