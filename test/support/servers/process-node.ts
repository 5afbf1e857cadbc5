import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inject } from "vitest";
import { projectDirectory } from "../../../local/machine/home.ts";
import { freePort } from "../../../local/machine/ports.ts";
import { answersOk } from "../../../local/machine/program.ts";
import { kubeconfig } from "../../../local/servers/kubeconfig.ts";
import { loadKubeConfig } from "../../../packages/kube/client/kube-config.ts";
import { compileCacheDirectory } from "../../../packages/service/cache.ts";
import { startServer } from "./test-server.ts";

export interface TestProcessNode {
	/** Its TIDEMILL_HOME. */
	home: string;
	/** Where it serves logs. */
	port: number;
	/** SIGKILL unless another signal is given; settles when it is gone. */
	kill(signal?: NodeJS.Signals): Promise<void>;
	/** Starts it again after `kill`, on the same home and port; settles when it is ready. */
	start(): Promise<void>;
	stop(): Promise<void>;
}

/**
 * The process node as a process of its own, on the control plane of the integration tests and with the users and rights
 * that it has in local mode. It runs every Pod of the image, in all namespaces: choose a name that no other test uses.
 */
export async function startProcessNode(options: {
	image: string;
	/** Path of what runs as `tidemill`; this checkout's when absent. */
	tidemill?: string;
}): Promise<TestProcessNode> {
	const home = await mkdtemp(join(tmpdir(), "tidemill-test-node-"));
	const pki = inject("pki");
	const cluster = loadKubeConfig(inject("kubeconfig")).getCurrentCluster()!;
	const kubeconfigOf = async (user: "node" | "scheduler") => {
		const file = join(home, `${user}.yaml`);
		const { cert, key } = pki[user];
		const text = kubeconfig({
			name: "tidemill-test",
			server: cluster.server,
			ca: pki.ca.cert,
			user: { name: user, cert, key },
		});
		await writeFile(file, text, { mode: 0o600 });
		return file;
	};
	const port = await freePort();
	const healthPort = await freePort();
	const server = await startServer(
		{
			name: "node",
			command: process.execPath,
			args: [join(projectDirectory, "local/node/main.ts")],
			env: {
				KUBECONFIG: await kubeconfigOf("node"),
				NODE_COMPILE_CACHE: compileCacheDirectory(process.env),
				SCHEDULER_KUBECONFIG: await kubeconfigOf("scheduler"),
				TIDEMILL_HOME: home,
				TIDEMILL_IMAGE: options.image,
				...(options.tidemill && { TIDEMILL_COMMAND: options.tidemill }),
				NODE_NAME: "tidemill-local",
				NODE_PORT: String(port),
				NODE_CERT_FILE: pki.nodeServing.certFile,
				NODE_KEY_FILE: pki.nodeServing.keyFile,
				NODE_CLIENT_CA_FILE: pki.ca.certFile,
				HEALTH_PORT: String(healthPort),
				// Children must not get at it.
				TEST_SECRET_OF_THE_NODE: "for the node alone",
			},
			isReady: () => answersOk(`http://127.0.0.1:${healthPort}/readyz`),
			stopTimeoutMs: 20_000,
		},
		home,
	);
	return {
		home,
		port,
		kill: (signal) => server.kill(signal),
		start: () => server.start(),
		stop: async () => {
			await server.stop();
			await rm(home, { recursive: true, force: true });
		},
	};
}
