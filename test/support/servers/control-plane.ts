import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { rm, writeFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { resolveBinaries } from "../../../local/binaries/resolve.ts";
import { freePort } from "../../../local/machine/ports.ts";
import type { ChildProgram } from "../../../local/machine/program.ts";
import { kubeconfig } from "../../../local/servers/kubeconfig.ts";
import {
	etcd,
	kubeApiserver,
	kubeControllerManager,
} from "../../../local/servers/kubernetes.ts";
import { ensurePki, type Pki } from "../../../local/servers/pki.ts";
import { crdFiles } from "../../../local/servers/resources.ts";
import { sparingGo, startServer, temporaryDirectory } from "./test-server.ts";

export interface TestControlPlane {
	/** Path of an administrator's kubeconfig. */
	kubeconfig: string;
	/** All keys, for a kubeconfig of another user. */
	pki: Pki;
	server: string;
	/** Process ids of the parts that a bench measures. */
	pids: { etcd: number; apiserver: number; controllerManager: number };
	/** Runs kubectl as administrator; resolves with its standard output. */
	kubectl(...args: string[]): Promise<string>;
	/** Kills the apiserver with SIGKILL; etcd and the controllers stay. */
	kill(): Promise<void>;
	/** Starts the apiserver again after `kill`. */
	start(): Promise<void>;
	/** Makes etcd forget all versions but the newest. */
	compact(): Promise<void>;
	/** Ends all and removes their data. */
	stop(): Promise<void>;
}

/** A real etcd, kube-apiserver and kube-controller-manager, with Tidemill's CRDs installed, or those of these files. */
export async function startControlPlane({
	apiserverFlags,
	crds,
}: {
	apiserverFlags?: string[];
	crds?: string[];
} = {}): Promise<TestControlPlane> {
	const directory = await temporaryDirectory("control-plane");
	const commands = await resolveBinaries([
		"etcd",
		"kube-apiserver",
		"kube-controller-manager",
		"kubectl",
	]);
	const pki = await ensurePki(join(directory, "pki"));
	const [clientPort, peerPort, port] = [
		await freePort(),
		await freePort(),
		await freePort(),
	];
	const token = randomBytes(16).toString("hex");
	const tokenFile = join(directory, "tokens.csv");
	await writeFile(tokenFile, `${token},tidemill:admin,admin,system:masters\n`, {
		mode: 0o600,
	});
	const storage = await startServer(
		eager(
			etcd({
				command: commands.etcd,
				dataDirectory: join(directory, "etcd", "data"),
				clientPort,
				peerPort,
				pki,
				fsync: false,
			}),
		),
		join(directory, "etcd"),
	);
	const apiserver = await startServer(
		eager(
			kubeApiserver({
				command: commands["kube-apiserver"],
				port,
				etcdPort: clientPort,
				pki,
				flags: [`--token-auth-file=${tokenFile}`, ...(apiserverFlags ?? [])],
			}),
		),
		join(directory, "apiserver"),
	);
	const server = `https://127.0.0.1:${port}`;
	const kubeconfigOf = async (
		name: string,
		credentials: { token: string } | { cert: string; key: string },
	) => {
		const file = join(directory, `${name}.kubeconfig`);
		const user = { name, ...credentials };
		const ca = pki.ca.cert;
		await writeFile(
			file,
			kubeconfig({ name: "tidemill-test", server, ca, user }),
			{ mode: 0o600 },
		);
		return file;
	};
	// The apiserver verifies a certificate anew at each request, which is a tenth of all that it does for the tests.
	const admin = await kubeconfigOf("admin", { token });
	const kubectl = async (...args: string[]) => {
		const { stdout } = await promisify(execFile)(
			commands.kubectl,
			["--kubeconfig", admin, ...args],
			{ maxBuffer: 64 * 1024 * 1024 },
		);
		return stdout;
	};
	const [controllers] = await Promise.all([
		startServer(
			eager(
				kubeControllerManager({
					command: commands["kube-controller-manager"],
					kubeconfigFile: await kubeconfigOf(
						"controllerManager",
						pki.controllerManager,
					),
					apiserverPort: port,
					pki,
					// A test of autoscaling waits for it.
					flags: ["--horizontal-pod-autoscaler-sync-period=1s"],
				}),
			),
			join(directory, "controller-manager"),
		),
		installCRDs(kubectl, crds ?? (await crdFiles())),
	]);
	return {
		kubeconfig: admin,
		pki,
		server,
		get pids() {
			return {
				etcd: storage.pid,
				apiserver: apiserver.pid,
				controllerManager: controllers.pid,
			};
		},
		kubectl,
		kill: () => apiserver.kill(),
		start: () => apiserver.start(),
		compact: () => compactEtcd(`https://127.0.0.1:${clientPort}`, pki),
		stop: async () => {
			const parts = [controllers, apiserver, storage];
			// Nothing is worth a goodbye of seconds.
			await Promise.all(parts.map((part) => part.kill()));
			await rm(directory, { recursive: true, force: true });
		},
	};
}

function eager(program: ChildProgram): ChildProgram {
	return { ...program, env: { ...program.env, ...sparingGo } };
}

/** By etcd's JSON gateway, whose numbers are text. */
async function compactEtcd(url: string, pki: Pki): Promise<void> {
	const ask = async (path: string, body: object) => {
		const asking = request(new URL(path, url), {
			method: "POST",
			ca: pki.etcdCA.cert,
			...pki.etcdClient,
		});
		const answered = once(asking, "response");
		asking.end(JSON.stringify(body));
		const [response] = (await answered) as [IncomingMessage];
		const answer = await text(response);
		if (response.statusCode !== 200) throw new Error(`etcd: ${answer}`);
		return JSON.parse(answer);
	};
	const { header } = await ask("/v3/kv/range", { key: "AA==" });
	await ask("/v3/kv/compaction", { revision: header.revision, physical: true });
}

async function installCRDs(
	kubectl: TestControlPlane["kubectl"],
	paths: string[],
): Promise<void> {
	const files = paths.map((path) => `--filename=${path}`);
	if (files.length === 0) return;
	await kubectl("apply", "--server-side", ...files);
	await kubectl(
		"wait",
		"--for=condition=Established",
		"--timeout=120s",
		...files,
	);
}
