import type { Pki } from "./pki.ts";
import { answersOk } from "../process/probe.ts";
import type { Program } from "../machine/program.ts";

export interface EtcdSettings {
	command: string;
	dataDirectory: string;
	clientPort: number;
	peerPort: number;
	pki: Pki;
	/** False only in tests: without flushing, etcd is faster and survives anything but a crash of the machine. */
	fsync?: boolean;
}

/** Kubernetes' storage. It listens on loopback and requires a certificate of etcd's own authority. */
export function etcd(settings: EtcdSettings): Program {
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
