import type { Pod } from "../../../packages/kube/kinds.ts";

/** The parts of a Pod, as they are on the wire. */
export type PodSpec = NonNullable<Pod["spec"]>;
export type Container = PodSpec["containers"][number];
export type Volume = NonNullable<PodSpec["volumes"]>[number];

export type PodStatus = NonNullable<Pod["status"]>;
export type PodCondition = NonNullable<PodStatus["conditions"]>[number];
export type ContainerStatus = NonNullable<
	PodStatus["containerStatuses"]
>[number];
