import type {
	Destination,
	Operation,
	PodTemplate,
	TrackingPlan,
	TrackingPlanSpec,
} from "../../crds/generated/types.ts";
import { annotation, label } from "../../crds/labels.ts";
import { hasEnded } from "../../crds/run.ts";
import type { Job, Pod } from "../../packages/kube/kinds.ts";
import type { KubeObject, ObjectMeta } from "../../packages/kube/resource.ts";

/*
 * What the operator holds of each object that it watches. Whoever may write an object of one account may make it as large as etcd
 * takes, and all of them are in one process's memory: so it holds what some code reads, and of that as much as anybody needs.
 */

const labels = new Set<string>(Object.values(label));
const annotations = new Set<string>(Object.values(annotation));
/** Of an annotation. What is longer says nothing: a part of it could say something else. */
const maxLength = 4_096;
/** Of an object's owners: more than one is rare. */
const maxOwners = 16;
/** Of one, in characters of JSON. Kubernetes bounds none of its texts, and no object that exists needs more. */
const maxOwnerLength = 1_024;

/** Of a kind of Tidemill's own: without labels and annotations that are other programs'. */
export function ownKind<T extends KubeObject>(object: T): T {
	const {
		managedFields: _,
		labels: __,
		annotations: ___,
		...metadata
	} = object.metadata;
	return { ...object, metadata: { ...metadata, ...marksOf(object.metadata) } };
}

/** Of a Job's template, in characters of JSON: several times what people need. A CRD takes 815 KB, and cannot take less any more. */
export const maxTemplateLength = 32 * 1024;

/** What is held of a template that is too long: nothing whose length a person chooses. */
export type HeldTemplate = PodTemplate & { tooLong?: number };

/** @param field the template's, in the spec. */
export function withTemplate<F extends string>(field: F) {
	return <T extends KubeObject & { spec: { [name in F]?: PodTemplate } }>(
		object: T,
	): T => {
		const held = ownKind(object);
		const template = held.spec[field];
		const tooLong = JSON.stringify(template ?? {}).length;
		if (tooLong <= maxTemplateLength) return held;
		const cut = { ...limitsOf(template), tooLong };
		return { ...held, spec: { ...held.spec, [field]: cut } };
	};
}

/** A Destination as memory has it. */
export const heldDestination = withTemplate("checkTemplate")<Destination>;

/** Of a template, what a Job that is under way is followed by. */
function limitsOf(template: object = {}) {
	const { retries, activeDeadlineSeconds } =
		template as Operation["spec"]["jobTemplate"];
	return { retries, activeDeadlineSeconds };
}

/** Of what other programs own, too. */
export function metadataAlone<T extends KubeObject>({ metadata }: T): T {
	const { name, namespace, uid, resourceVersion, generation } = metadata;
	const { creationTimestamp, deletionTimestamp, ownerReferences } = metadata;
	return {
		metadata: {
			...{ name, namespace, uid, resourceVersion, generation },
			creationTimestamp,
			...(deletionTimestamp && { deletionTimestamp }),
			...(ownerReferences && {
				ownerReferences: ownerReferences
					.filter((owner) => JSON.stringify(owner).length <= maxOwnerLength)
					.slice(0, maxOwners),
			}),
			...marksOf(metadata),
		},
	} as T;
}

/** Anybody who makes Jobs and Pods can give them our label. */
export function withStatus<T extends Job | Pod>(object: T): T {
	return { ...metadataAlone(object), status: object.status };
}

export function podParts(pod: Pod): Pod {
	const nodeName = pod.spec?.nodeName;
	return {
		...withStatus(pod),
		...(nodeName && { spec: { nodeName } as NonNullable<Pod["spec"]> }),
	};
}

function marksOf(
	metadata: ObjectMeta,
): Pick<ObjectMeta, "labels" | "annotations"> {
	const known = (
		of: "labels" | "annotations",
		names: ReadonlySet<string>,
	): Pick<ObjectMeta, typeof of> => {
		const all = Object.entries(metadata[of] ?? {}).filter(
			([name, value]) => names.has(name) && value.length <= maxLength,
		);
		return all.length > 0 ? { [of]: Object.fromEntries(all) } : {};
	};
	return { ...known("labels", labels), ...known("annotations", annotations) };
}

/** A plan whose schemas are elsewhere. */
export type PlanOutline<T = TrackingPlan> = T & { hasSchemas?: true };

/** A TrackingPlan without the schemas that stand in it. */
export function planOutline(plan: TrackingPlan): PlanOutline {
	const { spec, hasSchemas } = outlineOf(plan.spec);
	return { ...ownKind(plan), spec, ...(hasSchemas && { hasSchemas }) };
}

/** An Operation without the schemas of the plan that it tries, and one that has ended without its result. */
export function operationOutline(operation: Operation): PlanOutline<Operation> {
	const held = withTemplate("jobTemplate")(operation);
	if (hasEnded(operation)) return endedOutline(held);
	const { plan } = operation.spec;
	if (!plan?.inline) return held;
	const { spec, hasSchemas } = outlineOf(plan.inline as TrackingPlanSpec);
	const inline = spec as typeof plan.inline;
	return {
		...held,
		spec: { ...held.spec, plan: { ...plan, inline } },
		...(hasSchemas && { hasSchemas }),
	};
}

/** When it ended, and when it goes: nothing else is read of it, and nobody writes its status again. */
function endedOutline(operation: Operation): Operation {
	const { spec, status } = operation;
	const { type, sourceRef, plan, ttlSecondsAfterFinished } = spec;
	const { phase, completionTime, conditions } = status!;
	return {
		...operation,
		spec: {
			...{ type, sourceRef, ttlSecondsAfterFinished },
			jobTemplate: limitsOf(spec.jobTemplate),
			...(plan?.name !== undefined && { plan: { name: plan.name } }),
		},
		status: {
			...(phase && { phase }),
			...(completionTime && { completionTime }),
			...(conditions && { conditions }),
		},
	};
}

function outlineOf({ common, events, ...spec }: TrackingPlanSpec): {
	spec: TrackingPlanSpec;
	hasSchemas: boolean;
} {
	return {
		spec: {
			...spec,
			...(events && {
				events: events.map(({ schema: _, ...event }) => event),
			}),
		},
		hasSchemas:
			common !== undefined ||
			events?.some(({ schema }) => schema !== undefined) === true,
	};
}
