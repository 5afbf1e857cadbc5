/** What Tidemill uses of Kubernetes' ObjectMeta (meta/v1), as JSON. */
export interface ObjectMeta {
	name: string;
	namespace?: string;
	uid?: string;
	resourceVersion?: string;
	/** Rises whenever the spec changes. */
	generation?: number;
	/** RFC 3339, as all times. */
	creationTimestamp?: string;
	/** Set when deletion was asked for and finalizers hold it up. */
	deletionTimestamp?: string;
	labels?: Record<string, string>;
	annotations?: Record<string, string>;
	finalizers?: string[];
	ownerReferences?: OwnerReference[];
}

export interface OwnerReference {
	apiVersion: string;
	kind: string;
	name: string;
	uid: string;
	controller?: boolean;
	blockOwnerDeletion?: boolean;
}
