import {
	answersOk,
	type ChildProgram,
} from "../../../../local/machine/program.ts";
import { network, ports } from "../addresses.ts";

/** The cluster's DNS, at the node's address. */
export function coredns(settings: {
	command: string;
	configFile: string;
}): ChildProgram {
	return {
		name: "coredns",
		command: settings.command,
		args: ["-conf", settings.configFile],
		env: {},
		isReady: () => answersOk(`http://127.0.0.1:${ports.dnsReady}/ready`),
		stopTimeoutMs: 5_000,
	};
}

/** The node has no way into the internet, so there is no name outside the cluster. */
export function corefile(kubeconfigFile: string): string {
	return `cluster.local in-addr.arpa ip6.arpa {
	bind ${network.node}
	errors
	ready 127.0.0.1:${ports.dnsReady}
	kubernetes cluster.local in-addr.arpa ip6.arpa {
		kubeconfig "${kubeconfigFile}"
	}
	cache 5
}
. {
	bind ${network.node}
	errors
	template ANY ANY {
		rcode NXDOMAIN
	}
}
`;
}
