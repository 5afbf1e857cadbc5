import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { ChildRecords } from "../../../local/machine/child-records.ts";
import { readState, writeWhole } from "../../../local/machine/home.ts";
import type { ChildProgram } from "../../../local/machine/program.ts";
import { Supervisor } from "../../../local/machine/supervisor.ts";
import { createTerminal } from "../../../local/machine/terminal.ts";
import { kubeconfig } from "../../../local/servers/kubeconfig.ts";
import {
	etcd,
	kubeApiserver,
	kubeControllerManager,
} from "../../../local/servers/kubernetes.ts";
import { type ClusterSubject, ensurePki } from "../../../local/servers/pki.ts";
import { kubectlOf } from "../../../local/servers/resources.ts";
import { network, nodeName, ports } from "./addresses.ts";
import { authenticationConfig } from "./authentication.ts";
import { locateNodeHome } from "./node-home.ts";
import type { Plan } from "./plan.ts";
import {
	cniConfig,
	containerd,
	containerdConfig,
} from "./servers/containerd.ts";
import { coredns, corefile } from "./servers/coredns.ts";
import { kubeProxy, kubeProxyConfig } from "./servers/kube-proxy.ts";
import { kubeScheduler } from "./servers/kube-scheduler.ts";
import { kubelet, kubeletConfig } from "./servers/kubelet.ts";
import { makeVolumes } from "./volumes.ts";

/*
 * Runs in the node's namespaces: a whole cluster of one node. It restarts what crashes, and never stops by itself, because the
 * part outside ends the namespaces.
 */
const home = locateNodeHome();
const { commands, pauseImage } = readState<Plan>(home.plan)!;
const subject = (name: string, hosts?: string[]): ClusterSubject => ({
	issuer: "ca",
	name,
	...(hosts && { hosts }),
});
const pki = await ensurePki(home.pki, Date.now(), {
	apiserver: subject("CN=kube-apiserver", [
		"127.0.0.1",
		network.node,
		network.kubernetesService,
		"kubernetes.default.svc",
		"kubernetes.default.svc.cluster.local",
	]),
	node: subject(`CN=system:node:${nodeName},O=system:nodes`),
	nodeServing: subject(`CN=system:node:${nodeName},O=system:nodes`, [
		network.node,
		nodeName,
	]),
	kubeProxy: subject("CN=system:kube-proxy"),
	dns: subject("CN=tidemill:dns"),
});
const configs = await writeConfigs();
const kubectl = kubectlOf(commands.kubectl, configs.admin);

const terminal = createTerminal();
const supervisor = new Supervisor(
	home,
	new ChildRecords(home.programs),
	terminal,
);
const start = (program: ChildProgram) => supervisor.start(program);

const containers = start(containerd(configs.containerd));
await start(
	etcd({
		command: commands.etcd,
		dataDirectory: home.etcd,
		clientPort: ports.etcd,
		peerPort: ports.etcdPeer,
		pki,
		// Nothing of it outlives the machine.
		fsync: false,
	}),
);
await start(
	kubeApiserver({
		command: commands["kube-apiserver"],
		port: ports.apiserver,
		etcdPort: ports.etcd,
		pki,
		flags: [
			// Of the node's network, which only this machine reaches.
			"--bind-address=0.0.0.0",
			`--advertise-address=${network.node}`,
			"--endpoint-reconciler-type=lease",
			`--service-cluster-ip-range=${network.services}`,
			`--authentication-config=${configs.authentication}`,
		],
	}),
);
await Promise.all([
	kubectl(
		"apply",
		"--server-side",
		`--filename=${join(import.meta.dirname, "resources.yaml")}`,
	).then(() =>
		start(coredns({ command: commands.coredns, configFile: configs.coredns })),
	),
	makeVolumes(kubectl, home.volumes),
	start(
		kubeControllerManager({
			command: commands["kube-controller-manager"],
			kubeconfigFile: configs.controllerManager,
			apiserverPort: ports.apiserver,
			pki,
			flags: [
				"--allocate-node-cidrs",
				`--cluster-cidr=${network.pods}`,
				`--service-cluster-ip-range=${network.services}`,
			],
		}),
	),
	start(
		kubeScheduler({
			command: commands["kube-scheduler"],
			kubeconfigFile: configs.scheduler,
			certificate: { ...pki.apiserver, ca: pki.ca.cert },
		}),
	),
	start(
		kubeProxy({
			command: commands["kube-proxy"],
			configFile: configs.kubeProxy,
		}),
	),
	containers.then(() =>
		start(
			kubelet({
				command: commands.kubelet,
				configFile: configs.kubelet,
				kubeconfigFile: configs.node,
				directory: home.kubelet,
			}),
		),
	),
]);
await kubectl(
	"wait",
	"--for=condition=Ready",
	"--timeout=120s",
	`node/${nodeName}`,
);
terminal.settle();
writeWhole(home.ready, "");

/** Writes the files that the programs read; returns their paths. */
async function writeConfigs() {
	for (const directory of [home.config, home.kube, home.kubelet, home.podLogs])
		await mkdir(directory, { recursive: true, mode: 0o700 });
	const cni = join(home.config, "cni");
	await mkdir(cni, { recursive: true });
	const config = (name: string, text: string) => {
		const file = join(home.config, name);
		writeWhole(file, text);
		return file;
	};
	const user = (
		name: string,
		{ cert, key }: { cert: string; key: string },
		host: string = "127.0.0.1",
	) => {
		const file = join(home.kube, `${name}.yaml`);
		const cluster = {
			name: nodeName,
			server: `https://${host}:${ports.apiserver}`,
			ca: pki.ca.cert,
		};
		writeWhole(file, kubeconfig({ ...cluster, user: { name, cert, key } }));
		return file;
	};
	config(
		"cni/pods.conflist",
		cniConfig({
			// The controller manager gives the first node the first part of the Pods' addresses.
			subnet: network.pods.replace("/16", "/24"),
			directory: join(home.directory, "cni"),
		}),
	);
	return {
		// The apiserver reads it again when a test has added a provider.
		authentication: config("authentication.json", authenticationConfig([])),
		admin: user("admin", pki.admin, network.node),
		controllerManager: user("controller-manager", pki.controllerManager),
		scheduler: user("scheduler", pki.scheduler),
		node: user("node", pki.node),
		containerd: config(
			"containerd.toml",
			containerdConfig({
				directory: home.containerd,
				cniDirectory: cni,
				pauseImage,
			}),
		),
		kubelet: config(
			"kubelet.yaml",
			kubeletConfig({
				directory: home.kubelet,
				podLogs: home.podLogs,
				resolvConf: config("resolv.conf", `nameserver ${network.node}\n`),
				serving: pki.nodeServing,
				clientCAFile: pki.ca.certFile,
			}),
		),
		kubeProxy: config(
			"kube-proxy.yaml",
			kubeProxyConfig(user("kube-proxy", pki.kubeProxy)),
		),
		coredns: config("Corefile", corefile(user("dns", pki.dns))),
	};
}
