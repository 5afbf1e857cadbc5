/** What every object of Kubernetes has. Timestamps are RFC 3339 text, as on the wire. */
export interface KubeObject {
	apiVersion?: string;
	kind?: string;
	metadata: ObjectMeta;
}

export interface ObjectMeta {
	name: string;
	/** Absent for cluster-scoped kinds. */
	namespace?: string;
	uid?: string;
	resourceVersion?: string;
	generation?: number;
	creationTimestamp?: string;
	deletionTimestamp?: string;
	deletionGracePeriodSeconds?: number;
	labels?: Record<string, string>;
	annotations?: Record<string, string>;
	ownerReferences?: OwnerReference[];
	finalizers?: string[];
	/** Who last wrote which fields, and when. Informers drop it. */
	managedFields?: { manager: string; time?: string; fieldsV1?: unknown }[];
}

export interface OwnerReference {
	apiVersion: string;
	kind: string;
	name: string;
	uid: string;
	controller?: boolean;
	blockOwnerDeletion?: boolean;
}

/** Where the API serves the objects of one type. */
export interface ResourceKind<T extends KubeObject> {
	/** Empty for the core group. */
	group: string;
	version: string;
	kind: string;
	plural: string;
	namespaced: boolean;
	/** Never set. It ties the kind to the type of its objects. */
	readonly object?: T;
}

/** A new object as its caller writes it. The apiserver fills in the rest. */
export type ObjectDraft<T extends KubeObject> = Omit<T, "metadata"> & {
	metadata: Omit<ObjectMeta, "name"> &
		({ name: string } | { generateName: string });
};

/** A name within a kind; the namespace is empty for cluster-scoped kinds. */
export interface ObjectKey {
	namespace: string;
	name: string;
}

export function keyOf({ metadata }: KubeObject): ObjectKey {
	return { namespace: metadata.namespace ?? "", name: metadata.name };
}

/** A key as text, for maps and queues. No name has a slash. */
export function textOf({ namespace, name }: ObjectKey): string {
	return `${namespace}/${name}`;
}

/** A sort key: older objects first, then by name within the same second. */
export function ageOf({ metadata }: KubeObject): string {
	return `${metadata.creationTimestamp} ${metadata.name}`;
}

export function apiVersionOf(
	kind: Pick<ResourceKind<KubeObject>, "group" | "version">,
): string {
	return kind.group ? `${kind.group}/${kind.version}` : kind.version;
}

/** Makes `object` the controller of whatever carries this reference, which is then garbage collected with it. */
export function controllerReference<T extends KubeObject>(
	kind: ResourceKind<T>,
	object: T,
): OwnerReference {
	return {
		apiVersion: apiVersionOf(kind),
		kind: kind.kind,
		name: object.metadata.name,
		uid: object.metadata.uid!,
		controller: true,
		blockOwnerDeletion: true,
	};
}

/**
 * Whether the object with this uid is the controller, which made the other object. Plain owners prove nothing: many owners
 * may share an object that none of them made.
 */
export function isControlledBy(
	{ metadata }: KubeObject,
	uid: string | undefined,
): boolean {
	return Boolean(
		uid &&
			metadata.ownerReferences?.some(
				(owner) => owner.uid === uid && owner.controller,
			),
	);
}

/** Whether an object has the owner with this uid. */
export function isOwnedBy(
	{ metadata }: KubeObject,
	uid: string | undefined,
): boolean {
	return Boolean(
		uid && metadata.ownerReferences?.some((owner) => owner.uid === uid),
	);
}

/** The path of a collection, or of one object in it. */
export function resourcePath<T extends KubeObject>(
	kind: ResourceKind<T>,
	namespace?: string,
	name?: string,
	subresource?: string,
): string {
	const parts = [kind.group ? "apis" : "api", apiVersionOf(kind)];
	if (kind.namespaced && namespace) parts.push("namespaces", namespace);
	parts.push(kind.plural);
	if (name !== undefined) parts.push(encodeURIComponent(name));
	if (subresource !== undefined) parts.push(subresource);
	return `/${parts.join("/")}`;
}

/** metav1.Time: whole seconds, as Kubernetes itself writes them. */
export function rfc3339(instantMs: number): string {
	return new Date(instantMs).toISOString().replace(/\.\d+Z$/, "Z");
}

/** metav1.MicroTime: RFC 3339 with exactly six decimals. The apiserver refuses any other number. */
export function microTime(instantMs: number): string {
	return new Date(instantMs).toISOString().replace("Z", "000Z");
}
