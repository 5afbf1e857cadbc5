import { networksOf } from "./networks.ts";
import { type LabelSelector, selects } from "./selector.ts";

/** What of a cluster decides who may reach whom. */
export interface Cluster {
	policies: NetworkPolicy[];
	pods: Pod[];
	namespaces: { metadata: { name: string; labels?: Record<string, string> } }[];
}

export interface NetworkPolicy {
	metadata: { namespace: string };
	spec: {
		podSelector: LabelSelector;
		policyTypes: ("Ingress" | "Egress")[];
		ingress?: { from?: Peer[]; ports?: Port[] }[];
		egress?: { to?: Peer[]; ports?: Port[] }[];
	};
}

interface Peer {
	podSelector?: LabelSelector;
	namespaceSelector?: LabelSelector;
	ipBlock?: { cidr: string; except?: string[] };
}

interface Port {
	port?: number | string;
	endPort?: number;
	protocol?: string;
}

export interface Pod {
	metadata: { namespace: string; labels?: Record<string, string> };
	status: { podIP?: string };
}

const chain = "NETWORK-POLICY";

/** For `iptables-restore --noflush`. */
export interface Firewall {
	text: string;
	/** Undoes it. */
	end: string;
}

/**
 * The cluster's NetworkPolicies as rules: a snapshot, which doesn't follow Pods that come later.
 * https://kubernetes.io/docs/concepts/services-networking/network-policies/
 */
export function firewallRules(cluster: Cluster): Firewall {
	const chains: string[] = [];
	const rules: string[] = [
		`-A ${chain} -m conntrack --ctstate RELATED,ESTABLISHED -j RETURN`,
	];
	const pods = cluster.pods.filter(({ status }) => status.podIP);
	for (const direction of ["Ingress", "Egress"] as const)
		for (const [index, pod] of pods.entries()) {
			const policies = policiesOf(cluster, pod, direction);
			// A Pod that no policy selects is open.
			if (policies.length === 0) continue;
			const own = `NP-${direction}-${index}`;
			const [here, there] =
				direction === "Ingress" ? ["-d", "-s"] : ["-s", "-d"];
			chains.push(own);
			rules.push(`-A ${chain} ${here} ${pod.status.podIP} -j ${own}`);
			for (const policy of policies)
				for (const { peers, ports } of entries(policy, direction))
					for (const address of addresses(cluster, policy, peers))
						for (const match of portMatches(ports))
							rules.push(`-A ${own} ${there} ${address}${match} -j RETURN`);
			rules.push(`-A ${own} -j REJECT`);
		}
	const names = [chain, ...chains].map((name) => `:${name} - [0:0]`);
	return {
		text: restored(...names, ...rules, `-I FORWARD -j ${chain}`),
		end: restored(`-D FORWARD -j ${chain}`),
	};
}

function restored(...lines: string[]): string {
	return ["*filter", ...lines, "COMMIT", ""].join("\n");
}

function policiesOf(
	{ policies }: Cluster,
	{ metadata }: Pod,
	direction: "Ingress" | "Egress",
): NetworkPolicy[] {
	return policies.filter(
		({ metadata: { namespace }, spec }) =>
			namespace === metadata.namespace &&
			spec.policyTypes.includes(direction) &&
			selects(spec.podSelector, metadata.labels),
	);
}

function entries({ spec }: NetworkPolicy, direction: "Ingress" | "Egress") {
	return direction === "Ingress"
		? (spec.ingress ?? []).map(({ from, ports }) => ({ peers: from, ports }))
		: (spec.egress ?? []).map(({ to, ports }) => ({ peers: to, ports }));
}

/** Without peers, everybody. */
function addresses(
	cluster: Cluster,
	policy: NetworkPolicy,
	peers: Peer[] = [],
): string[] {
	if (peers.length === 0) return ["0.0.0.0/0"];
	return peers.flatMap(({ podSelector, namespaceSelector, ipBlock }) => {
		if (ipBlock) return networksOf(ipBlock);
		const namespaces = cluster.namespaces
			.filter(({ metadata }) =>
				namespaceSelector
					? selects(namespaceSelector, metadata.labels)
					: metadata.name === policy.metadata.namespace,
			)
			.map(({ metadata }) => metadata.name);
		return cluster.pods
			.filter(
				({ metadata, status }) =>
					status.podIP &&
					namespaces.includes(metadata.namespace) &&
					selects(podSelector ?? {}, metadata.labels),
			)
			.map(({ status }) => status.podIP!);
	});
}

/** Without ports, all of them. */
function portMatches(ports: Port[] = []): string[] {
	if (ports.length === 0) return [""];
	return ports.map(({ port, endPort, protocol = "TCP" }) => {
		if (typeof port === "string") throw new Error(`port ${port} has a name`);
		const range = port === undefined ? "" : ` --dport ${port}`;
		return ` -p ${protocol.toLowerCase()}${range}${endPort ? `:${endPort}` : ""}`;
	});
}
