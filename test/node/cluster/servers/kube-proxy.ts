import { stringify } from "yaml";
import {
	answersOk,
	type ChildProgram,
} from "../../../../local/machine/program.ts";
import { network, nodeName, ports } from "../addresses.ts";

export function kubeProxy(settings: {
	command: string;
	configFile: string;
}): ChildProgram {
	return {
		name: "kube-proxy",
		command: settings.command,
		args: [`--config=${settings.configFile}`],
		env: {},
		isReady: () => answersOk(`http://127.0.0.1:${ports.proxyHealth}/healthz`),
		stopTimeoutMs: 5_000,
	};
}

/** https://kubernetes.io/docs/reference/config-api/kube-proxy-config.v1alpha1/ */
export function kubeProxyConfig(kubeconfigFile: string): string {
	return stringify({
		apiVersion: "kubeproxy.config.k8s.io/v1alpha1",
		kind: "KubeProxyConfiguration",
		clientConnection: { kubeconfig: kubeconfigFile },
		clusterCIDR: network.pods,
		// These are kernel settings of the whole machine.
		conntrack: {
			maxPerCore: 0,
			min: 0,
			tcpCloseWaitTimeout: "0s",
			tcpEstablishedTimeout: "0s",
		},
		healthzBindAddress: `127.0.0.1:${ports.proxyHealth}`,
		hostnameOverride: nodeName,
		mode: "iptables",
	});
}
