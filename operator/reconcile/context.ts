import type { KubeClient } from "../../packages/kube/client/client.ts";
import type { KubeEventRecorder } from "../../packages/kube/reconcile/kube-events.ts";
import type { Logger } from "../../packages/service/log.ts";
import type { Informers } from "./informers.ts";
import type { NamespacePermissions } from "./namespace-permissions.ts";

/** What every controller works with. */
export interface OperatorContext extends JobSurroundings {
	client: KubeClient;
	kubeEvents: KubeEventRecorder;
	informers: Informers;
	permissions: NamespacePermissions;
	/** Image of the Jobs. */
	image: string;
	podPolicy: PodPolicy;
	log: Logger;
}

/** Where Jobs run. */
export interface JobSurroundings {
	/** Local mode's directory for warehouses that are files. */
	localWarehouse: string | undefined;
	/** How the names of its Services end. */
	clusterDomain: string;
	/** Its own networks, where a name of elsewhere leads no Job. */
	clusterNetworks: readonly string[];
}

/** What the operator's administrator allows about the Pods of Jobs, beyond what Tidemill itself allows. */
export interface PodPolicy {
	/** Keys. A `*` at the end stands for any text. */
	labels: string[];
	/** The same. */
	annotations: string[];
	priorityClasses: string[];
}
