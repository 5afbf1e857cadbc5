// Types only: the shapes of objects in Kubernetes' OpenAPI.
import type {
	EventsV1Event,
	V1ConfigMap,
	V1Deployment,
	V1Job,
	V1Lease,
	V1Namespace,
	V1Node,
	V1PersistentVolumeClaim,
	V1Pod,
	V1RoleBinding,
	V1Secret,
	V1ServiceAccount,
} from "@kubernetes/client-node";
import type { KubeObject, ObjectMeta, ResourceKind } from "./resource.ts";

/** The built-in kinds of Kubernetes that Tidemill uses. */
export const kinds = {
	configMap: core<ConfigMap>("ConfigMap", "configmaps"),
	namespace: {
		...core<Namespace>("Namespace", "namespaces"),
		namespaced: false,
	},
	node: { ...core<Node>("Node", "nodes"), namespaced: false },
	persistentVolumeClaim: core<PersistentVolumeClaim>(
		"PersistentVolumeClaim",
		"persistentvolumeclaims",
	),
	pod: core<Pod>("Pod", "pods"),
	secret: core<Secret>("Secret", "secrets"),
	serviceAccount: core<ServiceAccount>("ServiceAccount", "serviceaccounts"),
	deployment: grouped<Deployment>("apps", "Deployment", "deployments"),
	job: grouped<Job>("batch", "Job", "jobs"),
	lease: grouped<Lease>("coordination.k8s.io", "Lease", "leases"),
	roleBinding: grouped<RoleBinding>(
		"rbac.authorization.k8s.io",
		"RoleBinding",
		"rolebindings",
	),
	kubeEvent: grouped<KubeEvent>("events.k8s.io", "Event", "events"),
};

export type ConfigMap = WireForm<V1ConfigMap>;
export type Deployment = WireForm<V1Deployment>;
export type Namespace = WireForm<V1Namespace>;
export type Node = WireForm<V1Node>;
export type PersistentVolumeClaim = WireForm<V1PersistentVolumeClaim>;
export type Pod = WireForm<V1Pod>;
export type Secret = WireForm<V1Secret>;
export type RoleBinding = WireForm<V1RoleBinding>;
export type ServiceAccount = WireForm<V1ServiceAccount>;
export type Job = WireForm<V1Job>;
export type JobCondition = NonNullable<
	NonNullable<Job["status"]>["conditions"]
>[number];
export type Lease = WireForm<V1Lease>;
/** Kubernetes' own Event (events.k8s.io/v1). */
export type KubeEvent = WireForm<EventsV1Event>;

/** A generated type as JSON has it: timestamps are text, where the generated client has dates. */
export type WireForm<T> = Omit<Json<T>, "metadata"> & { metadata: ObjectMeta };

type Json<T> = T extends Date
	? string
	: T extends object
		? { [Field in keyof T]: Json<T[Field]> }
		: T;

function core<T extends KubeObject>(
	kind: string,
	plural: string,
): ResourceKind<T> {
	return { group: "", version: "v1", kind, plural, namespaced: true };
}

function grouped<T extends KubeObject>(
	group: string,
	kind: string,
	plural: string,
): ResourceKind<T> {
	return { group, version: "v1", kind, plural, namespaced: true };
}

/** The condition that says how a Job has ended: it makes no more Pods. */
export function endOf({ status }: Job): JobCondition | undefined {
	return status?.conditions?.find(
		({ type, status }) =>
			(type === "Complete" || type === "Failed") && status === "True",
	);
}

/** A Job that makes no more Pods. */
export function isOver(job: Job): boolean {
	return endOf(job) !== undefined;
}

/** A Pod without processes. */
export function isGone({ status }: Pod): boolean {
	return status?.phase === "Succeeded" || status?.phase === "Failed";
}
