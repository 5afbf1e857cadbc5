import type { KubeObject } from "../../../packages/kube/resource.ts";

/** An object of the chart, with what tests read of the fields of its kind. */
export interface Rendered extends KubeObject {
	kind: string;
	spec: RenderedSpec;
	data: Record<string, string>;
	rules: unknown;
	roleRef: { name: string };
	subjects?: { name: string }[];
}

export type Labels = Record<string, string>;

export interface Selector {
	matchLabels?: Labels;
	matchExpressions?: { key: string; operator: "In"; values: string[] }[];
}

/** Of a NetworkPolicy. */
export interface Peer {
	podSelector?: Selector;
	namespaceSelector?: Selector;
	ipBlock?: { cidr: string; except?: string[] };
}

/** Of a NetworkPolicy. */
export interface Rule {
	ports?: { port: number; protocol?: string }[];
	from?: Peer[];
	to?: Peer[];
}

interface RenderedSpec extends RenderedPod {
	revisionHistoryLimit?: number;
	template: {
		metadata?: { labels: Labels; annotations?: Labels };
		spec: RenderedPod;
	};
	/** A Service's is labels alone. */
	selector: Labels | Selector;
	podSelector: Selector;
	policyTypes: string[];
	egress: Rule[];
	ingress?: Rule[];
	/** An Ingress's. */
	tls?: { hosts: string[]; secretName: string }[];
	/** An Ingress's. */
	// biome-ignore lint/suspicious/noExplicitAny: tests compare it as a whole.
	rules: any;
	/** An HTTPRoute's. */
	hostnames?: string[];
	/** A StatefulSet's. */
	persistentVolumeClaimRetentionPolicy?: object;
	volumeClaimTemplates?: {
		spec: { resources: { requests: { storage: string } } };
	}[];
}

interface RenderedPod {
	shareProcessNamespace?: boolean;
	/** At least one, as the apiserver demands. */
	containers: [RenderedContainer, ...RenderedContainer[]];
	initContainers?: RenderedContainer[];
	automountServiceAccountToken?: boolean;
	securityContext?: object;
	terminationGracePeriodSeconds?: number;
	serviceAccountName?: string;
	nodeSelector?: Labels;
	imagePullSecrets?: object[];
	volumes?: object[];
}

interface RenderedContainer {
	name: string;
	image: string;
	/** `Always` of an initial container that runs beside the others. */
	restartPolicy?: string;
	args: string[];
	ports?: { name: string; containerPort: number }[];
	env: { name: string; value?: string }[];
	volumeMounts: object[];
	securityContext?: object;
	resources: Record<"requests" | "limits", { cpu?: string; memory?: string }>;
}
