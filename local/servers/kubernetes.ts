import type { Pki } from "./pki.ts";
import { answersOk } from "../process/probe.ts";
import type { Program } from "../machine/program.ts";

export interface ApiserverSettings {
	command: string;
	port: number;
	etcdPort: number;
	pki: Pki;
	/** More flags, such as those of another way to sign in. */
	flags?: string[] | undefined;
}

/** The Kubernetes API on loopback, with RBAC, Node authorization and admission as in a cluster. */
export function kubeApiserver(settings: ApiserverSettings): Program {
	const { pki, port } = settings;
	return {
		name: "kube-apiserver",
		command: settings.command,
		args: [
			"--bind-address=127.0.0.1",
			"--advertise-address=127.0.0.1",
			// Endpoints may not be loopback addresses, so the `kubernetes` Service has none here.
			"--endpoint-reconciler-type=none",
			`--secure-port=${port}`,
			`--tls-cert-file=${pki.apiserver.certFile}`,
			`--tls-private-key-file=${pki.apiserver.keyFile}`,
			`--client-ca-file=${pki.ca.certFile}`,
			`--etcd-servers=https://127.0.0.1:${settings.etcdPort}`,
			`--etcd-cafile=${pki.etcdCA.certFile}`,
			`--etcd-certfile=${pki.etcdClient.certFile}`,
			`--etcd-keyfile=${pki.etcdClient.keyFile}`,
			"--authorization-mode=Node,RBAC",
			"--enable-admission-plugins=NodeRestriction",
			"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
			`--service-account-key-file=${pki.serviceAccount.publicKeyFile}`,
			`--service-account-signing-key-file=${pki.serviceAccount.keyFile}`,
			"--service-cluster-ip-range=10.0.0.0/24",
			// The apiserver fetches `kubectl logs` from the process node.
			"--kubelet-preferred-address-types=InternalIP",
			`--kubelet-certificate-authority=${pki.ca.certFile}`,
			`--kubelet-client-certificate=${pki.kubeletClient.certFile}`,
			`--kubelet-client-key=${pki.kubeletClient.keyFile}`,
			// A day, so that a morning can read the events of the night.
			"--event-ttl=24h",
			"--profiling=false",
			...(settings.flags ?? []),
		],
		env: {},
		isReady: () =>
			answersOk(`https://127.0.0.1:${port}/readyz`, {
				ca: pki.ca.cert,
				cert: pki.admin.cert,
				key: pki.admin.key,
			}),
		stopTimeoutMs: 10_000,
	};
}
