/**
 * The node's network: a cable of its own to the machine, and behind it Pods and Services, which the machine reaches by routes.
 * Ports are the usual ones, as nothing else listens in there.
 */
export const network = {
	/** The machine's end of the cable. While a node runs, it is there. */
	device: "tidemill-e2e",
	machine: "10.213.0.1",
	node: "10.213.0.2",
	pods: "10.214.0.0/16",
	services: "10.215.0.0/16",
	/** The first Service address, which Kubernetes gives to its own API. */
	kubernetesService: "10.215.0.1",
} as const;

export const nodeName = "tidemill-e2e";

export const ports = {
	apiserver: 6443,
	etcd: 2379,
	etcdPeer: 2380,
	kubeletHealth: 10248,
	proxyHealth: 10256,
	schedulerHealth: 10259,
	dnsReady: 8181,
} as const;
