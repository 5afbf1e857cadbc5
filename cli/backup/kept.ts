import {
	destinationKind,
	pipelineKind,
	sourceKind,
	type TrackingPlan,
	trackingPlanKind,
} from "../../crds/generated/types.ts";
import { label } from "../../crds/labels.ts";
import type { KubeClient } from "../../packages/kube/client/client.ts";
import { hasReason, unless } from "../../packages/kube/client/errors.ts";
import { kinds } from "../../packages/kube/kinds.ts";
import {
	apiVersionOf,
	type KubeObject,
	type ResourceKind,
} from "../../packages/kube/resource.ts";
import { listAll } from "../../packages/kube/watch/reflector.ts";
import {
	type KeptObject,
	merged,
	type Needed,
	neededBy,
	readBuckets,
} from "./needed.ts";

/** An object as `kubectl apply` takes it: what people say, and nothing of the cluster it was in. */
export interface BackedUpObject {
	apiVersion: string;
	kind: string;
	metadata: {
		name: string;
		namespace?: string;
		labels?: Record<string, string>;
		annotations?: Record<string, string>;
	};
	spec?: object;
	data?: object;
	binaryData?: object;
}

/** What must be kept of an installation beside its bucket. */
export interface Kept {
	/** The only one that it is about; undefined for all. */
	namespace: string | undefined;
	/** In the order in which they are applied. */
	manifests: BackedUpObject[];
	needed: Needed[];
}

/**
 * Runs and Operations aren't kept: one that is applied again would load or erase again. Neither is any status: it has the Sources'
 * URLs, which are credentials, and the operator finds the rest again.
 */
const keptKinds: ResourceKind<KubeObject>[] = [
	trackingPlanKind,
	destinationKind,
	sourceKind,
	pipelineKind,
];

/** Kinds that a backup may hold, in the order in which they are applied. */
export const backedUpKinds: readonly ResourceKind<KubeObject>[] = [
	kinds.namespace,
	kinds.configMap,
	...keptKinds,
];

/**
 * Reads what must be kept, with the person's own rights. Of a Secret it asks whether it is there, never what it has.
 * @param namespace the only one; undefined for all, and then with the namespaces themselves and the bucket.
 */
export async function readKept(
	client: KubeClient,
	namespace: string | undefined,
): Promise<Kept> {
	const scope = namespace === undefined ? {} : { namespace };
	const lists = await Promise.all(
		keptKinds.map((kind) =>
			// Lists don't repeat the type for each object.
			listAll(client, kind, scope, (one) => ({ ...one, ...typeOf(kind) })),
		),
	);
	const objects = lists.flatMap(({ items }) => items) as KeptObject[];
	const schemas = await readSchemas(client, objects);
	const accounts = [
		...new Set(objects.map(({ metadata }) => metadata.namespace)),
	].sort();
	const namespaces =
		namespace === undefined
			? await readNamespaces(client, accounts)
			: { manifests: [], unread: [] };
	return {
		namespace,
		manifests: [
			...namespaces.manifests,
			...schemas.manifests,
			...objects.map(manifestOf),
		].sort(inOrder),
		needed: [
			...namespaces.unread,
			...schemas.unread,
			...(await neededBy(client, objects)),
			...(namespace === undefined ? await readBuckets(client) : []),
		],
	};
}

/** The ConfigMaps that TrackingPlans name, which aren't secret; those that the person may not read are needed. */
async function readSchemas(
	client: KubeClient,
	objects: readonly KeptObject[],
): Promise<{ manifests: BackedUpObject[]; unread: Needed[] }> {
	const manifests: BackedUpObject[] = [];
	const unread: Needed[] = [];
	for (const one of merged(objects.flatMap(schemasOf))) {
		try {
			const { name, namespace } = one;
			const found = await client.get(kinds.configMap, name, namespace);
			if (found)
				manifests.push(manifestOf({ ...found, ...typeOf(kinds.configMap) }));
		} catch (error) {
			if (!hasReason(error, "Forbidden")) throw error;
			unread.push(one);
		}
	}
	return { manifests, unread };
}

function schemasOf({ kind, metadata, spec }: KeptObject): Needed[] {
	if (kind !== "TrackingPlan") return [];
	const { commonFrom, events = [] } = spec as TrackingPlan["spec"];
	const all = [commonFrom, ...events.map((event) => event.schemaFrom)];
	return all
		.filter((from) => from !== undefined)
		.map(({ configMapKeyRef: { name } }) => ({
			...{ kind: "ConfigMap", namespace: metadata.namespace, name },
			use: `trackingplan/${metadata.name}`,
		}));
}

/** With their labels, such as those of Pod security; those of namespaces that the person may not read are needed. */
async function readNamespaces(
	client: KubeClient,
	names: readonly string[],
): Promise<{ manifests: BackedUpObject[]; unread: Needed[] }> {
	const found = await Promise.all(
		names.map(async (name) => {
			const read = client.get(kinds.namespace, name);
			const namespace = await unless(read, "Forbidden");
			const { "kubernetes.io/metadata.name": _, ...labels } =
				namespace?.metadata.labels ?? {};
			const metadata = { name, labels };
			return {
				isRead: namespace !== undefined,
				manifest: manifestOf({ ...typeOf(kinds.namespace), metadata }),
			};
		}),
	);
	return {
		manifests: found.map(({ manifest }) => manifest),
		unread: found
			.filter(({ isRead }) => !isRead)
			.map(({ manifest: { metadata } }) => ({
				kind: "Namespace",
				namespace: "",
				name: metadata.name,
				use: "its labels",
			})),
	};
}

function typeOf(kind: ResourceKind<KubeObject>) {
	return { apiVersion: apiVersionOf(kind), kind: kind.kind };
}

/** What Tidemill, Kubernetes and kubectl have written for themselves is theirs to write again. */
export function manifestOf(object: KubeObject): BackedUpObject {
	const { name, namespace, labels, annotations } = object.metadata;
	const { spec, data, binaryData } = object as Partial<BackedUpObject>;
	const ownLabels = without(
		labels,
		(key) => isReserved(key) && key !== label.use,
	);
	const ownAnnotations = without(
		annotations,
		(key) =>
			isReserved(key) ||
			key === "kubectl.kubernetes.io/last-applied-configuration",
	);
	return {
		apiVersion: object.apiVersion!,
		kind: object.kind!,
		metadata: {
			name,
			...(namespace && { namespace }),
			...(ownLabels && { labels: ownLabels }),
			...(ownAnnotations && { annotations: ownAnnotations }),
		},
		...(spec && { spec }),
		...(data && { data }),
		...(binaryData && { binaryData }),
	};
}

function isReserved(key: string): boolean {
	return /^([^/]*\.)?tidemill\.dev\//.test(key);
}

function without(
	entries: Record<string, string> | undefined,
	isLeft: (key: string) => boolean,
): Record<string, string> | undefined {
	const kept = Object.entries(entries ?? {}).filter(([key]) => !isLeft(key));
	return kept.length > 0 ? Object.fromEntries(kept) : undefined;
}

/** By kind, then by namespace and name. */
function inOrder(a: BackedUpObject, b: BackedUpObject): number {
	const rank = ({ kind }: BackedUpObject) =>
		backedUpKinds.findIndex((each) => each.kind === kind);
	const name = ({ metadata }: BackedUpObject) =>
		`${metadata.namespace ?? ""}/${metadata.name}`;
	return rank(a) - rank(b) || (name(a) < name(b) ? -1 : 1);
}
