import { answersOk, type ChildProgram } from "../machine/program.ts";
import type { Pki } from "./pki.ts";

/** The Kubernetes API on loopback, with RBAC, Node authorization and admission as in a cluster. */
export function kubeApiserver(settings: {
	command: string;
	port: number;
	etcdPort: number;
	pki: Pki;
	/** More flags, such as those of another way to sign in. */
	flags?: string[] | undefined;
}): ChildProgram {
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

/** Kubernetes' storage. It listens on loopback and requires a certificate of etcd's own authority. */
export function etcd(settings: {
	command: string;
	dataDirectory: string;
	clientPort: number;
	peerPort: number;
	pki: Pki;
	/** False only in tests: without flushing, etcd is faster and survives anything but a crash of the machine. */
	fsync?: boolean;
}): ChildProgram {
	const { pki, clientPort, peerPort } = settings;
	const client = `https://127.0.0.1:${clientPort}`;
	const peer = `https://127.0.0.1:${peerPort}`;
	return {
		name: "etcd",
		command: settings.command,
		args: [
			"--name=local",
			`--data-dir=${settings.dataDirectory}`,
			`--listen-client-urls=${client}`,
			`--advertise-client-urls=${client}`,
			`--listen-peer-urls=${peer}`,
			`--initial-advertise-peer-urls=${peer}`,
			`--initial-cluster=local=${peer}`,
			"--client-cert-auth",
			`--trusted-ca-file=${pki.etcdCA.certFile}`,
			`--cert-file=${pki.etcd.certFile}`,
			`--key-file=${pki.etcd.keyFile}`,
			"--peer-client-cert-auth",
			`--peer-trusted-ca-file=${pki.etcdCA.certFile}`,
			`--peer-cert-file=${pki.etcd.certFile}`,
			`--peer-key-file=${pki.etcd.keyFile}`,
			"--auto-compaction-mode=periodic",
			"--auto-compaction-retention=1h",
			"--log-level=warn",
			...(settings.fsync === false ? ["--unsafe-no-fsync"] : []),
		],
		env: {},
		isReady: () =>
			answersOk(`${client}/health`, {
				ca: pki.etcdCA.cert,
				cert: pki.etcdClient.cert,
				key: pki.etcdClient.key,
			}),
		stopTimeoutMs: 5_000,
	};
}

/** Kubernetes' own controllers: Jobs, garbage collection, namespaces, ServiceAccounts and the other defaults. */
export function kubeControllerManager(settings: {
	command: string;
	kubeconfigFile: string;
	apiserverPort: number;
	pki: Pki;
	/** More flags, such as those of a cluster whose Pods have addresses. */
	flags?: string[] | undefined;
}): ChildProgram {
	const { pki } = settings;
	return {
		name: "kube-controller-manager",
		command: settings.command,
		args: [
			`--kubeconfig=${settings.kubeconfigFile}`,
			"--use-service-account-credentials",
			`--service-account-private-key-file=${pki.serviceAccount.keyFile}`,
			`--root-ca-file=${pki.ca.certFile}`,
			"--leader-elect=false",
			// At the first start each controller requests its own credentials; the default limits stretch that to 5 s.
			"--kube-api-qps=500",
			"--kube-api-burst=500",
			// No port of its own: it is ready when its work shows.
			"--secure-port=0",
			"--profiling=false",
			...(settings.flags ?? []),
		],
		env: {},
		isReady: () =>
			answersOk(
				`https://127.0.0.1:${settings.apiserverPort}/api/v1/namespaces/default/serviceaccounts/default`,
				{ ca: pki.ca.cert, cert: pki.admin.cert, key: pki.admin.key },
			),
		stopTimeoutMs: 5_000,
	};
}
