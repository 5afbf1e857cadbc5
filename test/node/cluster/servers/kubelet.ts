import { join } from "node:path";
import { stringify } from "yaml";
import {
	answersOk,
	type ChildProgram,
} from "../../../../local/machine/program.ts";
import type { KeyPairFiles } from "../../../../local/servers/pki.ts";
import { network, nodeName, ports } from "../addresses.ts";
import { cgroup } from "../cgroups.ts";
import { containerdSocket } from "./containerd.ts";

export function kubelet(settings: {
	command: string;
	configFile: string;
	kubeconfigFile: string;
	directory: string;
}): ChildProgram {
	return {
		name: "kubelet",
		command: settings.command,
		args: [
			`--config=${settings.configFile}`,
			`--kubeconfig=${settings.kubeconfigFile}`,
			`--root-dir=${settings.directory}`,
			`--hostname-override=${nodeName}`,
			`--node-ip=${network.node}`,
		],
		env: {},
		isReady: () => answersOk(`http://127.0.0.1:${ports.kubeletHealth}/healthz`),
		stopTimeoutMs: 5_000,
	};
}

/** https://kubernetes.io/docs/reference/config-api/kubelet-config.v1beta1/ */
export function kubeletConfig(settings: {
	directory: string;
	podLogs: string;
	resolvConf: string;
	serving: KeyPairFiles;
	clientCAFile: string;
}): string {
	return stringify({
		apiVersion: "kubelet.config.k8s.io/v1beta1",
		kind: "KubeletConfiguration",
		address: network.node,
		authentication: {
			anonymous: { enabled: false },
			webhook: { enabled: true },
			x509: { clientCAFile: settings.clientCAFile },
		},
		authorization: { mode: "Webhook" },
		cgroupDriver: "cgroupfs",
		cgroupRoot: `/${cgroup}`,
		clusterDNS: [network.node],
		clusterDomain: "cluster.local",
		containerRuntimeEndpoint: `unix://${containerdSocket}`,
		// How full the machine's disk is isn't the tests' subject.
		evictionHard: {
			"imagefs.available": "0%",
			"nodefs.available": "0%",
			"nodefs.inodesFree": "0%",
		},
		imageGCHighThresholdPercent: 100,
		failCgroupV1: false,
		failSwapOn: false,
		healthzPort: ports.kubeletHealth,
		podLogsDir: settings.podLogs,
		readOnlyPort: 0,
		resolvConf: settings.resolvConf,
		// A changed Secret is in its Pods within one and a half of it, for which tests wait. It is a minute by default.
		syncFrequency: "10s",
		tlsCertFile: settings.serving.certFile,
		tlsPrivateKeyFile: settings.serving.keyFile,
		volumePluginDir: join(settings.directory, "volume-plugins"),
	});
}
