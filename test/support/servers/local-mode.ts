import { execFile, spawn } from "node:child_process";
import { copyFileSync, openSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { inject, vi } from "vitest";
import { locateHome, readState } from "../../../local/machine/home.ts";
import type { ProcessIdentity } from "../../../local/machine/identity.ts";
import type { LocalPorts } from "../../../local/machine/ports.ts";
import type { LocalSecrets } from "../../../local/secrets.ts";
import { KubeClient } from "../../../packages/kube/client/client.ts";
import { loadKubeConfig } from "../../../packages/kube/client/kube-config.ts";
import { sparingGo, temporaryDirectory } from "./test-server.ts";

const project = join(import.meta.dirname, "../../..");

/** The local Tidemill that all files of a room share, from inside one namespace. */
export interface LocalMode {
	/** Its $TIDEMILL_HOME. */
	home: string;
	/** The namespace, where kubectl and tidemill look unless they are told another. */
	namespace: string;
	/** Runs a command as in a shell that has sourced `$TIDEMILL_HOME/env`, and returns what it prints. Throws if it fails. */
	run(command: string, ...args: string[]): Promise<string>;
	/** For what is asked again and again: each kubectl burns a tenth of a second. */
	client: KubeClient;
	/** `kubectl … -o json`, read. */
	resource<T>(...args: string[]): Promise<T>;
	/**
	 * Sends SIGKILL to a child (`receive`, `archive`, `nats`, `s3`, …) and waits until the supervisor has it ready again.
	 * Returns when it died, in milliseconds since the epoch.
	 */
	killAndAwait(name: string): Promise<number>;
	/** Does something while a child is away: it is killed, and started again only afterwards. Returns when it is ready again. */
	whileAway(name: string, action: () => Promise<void>): Promise<void>;
	/** Process id of a child as it runs now. */
	pidOf(name: string): number;
	/** Connects to NATS as the user who may do everything. */
	connectNats(): Promise<NatsConnection>;
}

/** A whole local Tidemill with its state in a temporary folder. */
export interface StartedLocalMode {
	home: string;
	/** Stops all of it, does something to its state, and starts all of it again. */
	restart(change: () => Promise<void>): Promise<void>;
	/** Ends it and removes its state. */
	stop(): Promise<void>;
}

/**
 * Starts a whole local Tidemill, as `make up` does.
 * @param env for its supervisor, beside that of the test.
 */
export async function startLocalMode(
	env: Record<string, string> = {},
): Promise<StartedLocalMode> {
	const home = await temporaryDirectory("local");
	const output = openSync(outputOf(home), "a");
	const ready = "Tidemill is ready";
	let end: () => Promise<unknown>;
	const start = async () => {
		const times = timesSaid(home, ready) + 1;
		const supervisor = spawn(process.execPath, ["local/up.ts"], {
			cwd: project,
			env: { ...process.env, ...sparingGo, ...env, TIDEMILL_HOME: home },
			stdio: ["ignore", output, output],
		});
		const ended = new Promise((resolve) => supervisor.on("exit", resolve));
		end = () => {
			supervisor.kill("SIGTERM");
			return ended;
		};
		await says(home, ready, times);
	};
	const stop = async () => {
		await end();
		await rm(home, { recursive: true, force: true });
	};
	try {
		await start();
	} catch (error) {
		await stop();
		throw error;
	}
	const restart = async (change: () => Promise<void>) => {
		await end();
		await change();
		await start();
	};
	return { home, restart, stop };
}

/**
 * @param namespace a new one, unless it is the one that local mode has at its start.
 * @param home of the local mode, unless it is the one that all promises share.
 */
export async function openLocalMode(
	namespace = "default",
	home = inject("localMode"),
): Promise<LocalMode> {
	const kube = locateHome({ TIDEMILL_HOME: home }).kube;
	const kubeconfig = join(kube, `${namespace}.kubeconfig`);
	copyFileSync(join(kube, "admin.yaml"), kubeconfig);
	const local = localModeIn(home, namespace, kubeconfig);
	await local.run(
		"kubectl",
		"config",
		"set-context",
		"--current",
		`--namespace=${namespace}`,
	);
	if (namespace !== "default")
		await local.run("kubectl", "create", "namespace", namespace);
	return local;
}

function localModeIn(
	home: string,
	namespace: string,
	kubeconfig: string,
): LocalMode {
	const run: LocalMode["run"] = async (command, ...args) => {
		const { stdout } = await promisify(execFile)(
			"sh",
			[
				"-ec",
				'. "$0/env"; KUBECONFIG=$1; shift; exec "$@"',
				home,
				kubeconfig,
				command,
				...args,
			],
			{ maxBuffer: 1024 ** 3, cwd: project },
		);
		return stdout;
	};
	return {
		home,
		namespace,
		run,
		client: KubeClient.fromConfig(loadKubeConfig(kubeconfig)),
		resource: async (...args) =>
			JSON.parse(await run("kubectl", ...args, "-o", "json")),
		killAndAwait: async (name) => {
			const back = `${name} is ready again`;
			const times = timesSaid(home, back) + 1;
			// It may just be coming back from a death of its own.
			await vi.waitFor(() => process.kill(pidOf(home, name), "SIGKILL"), {
				timeout: 120_000,
			});
			const diedAtMs = Date.now();
			await says(home, back, times);
			return diedAtMs;
		},
		whileAway: async (name, action) => {
			const back = `${name} is ready again`;
			const times = timesSaid(home, back) + 1;
			const { lock } = locateHome({ TIDEMILL_HOME: home });
			const supervisor = readState<ProcessIdentity>(lock)!.pid;
			// A supervisor that sleeps starts nobody.
			process.kill(supervisor, "SIGSTOP");
			try {
				process.kill(pidOf(home, name), "SIGKILL");
				await action();
			} finally {
				process.kill(supervisor, "SIGCONT");
			}
			await says(home, back, times);
		},
		pidOf: (name) => pidOf(home, name),
		connectNats: () => {
			const { ports, secrets } = locateHome({ TIDEMILL_HOME: home });
			const { nats: port } = readState<LocalPorts>(ports)!;
			const { nats: passwords } = readState<LocalSecrets>(secrets)!;
			return connect({ port, user: "admin", pass: passwords.admin });
		},
	};
}

/** Where the supervisor's output goes. */
function outputOf(home: string): string {
	return join(home, "output");
}

function timesSaid(home: string, text: string): number {
	return readFileSync(outputOf(home), "utf8").split(text).length - 1;
}

/** Without vitest's own wait, which a global setup can't use. */
async function says(home: string, text: string, times = 1): Promise<void> {
	const deadline = Date.now() + 240_000;
	while (timesSaid(home, text) < times) {
		if (Date.now() > deadline) {
			const said = readFileSync(outputOf(home), "utf8");
			throw new Error(`local mode has not said "${text}":\n${said}`);
		}
		await delay(50);
	}
}

function pidOf(home: string, name: string): number {
	const children = JSON.parse(
		readFileSync(join(home, "children.json"), "utf8"),
	) as { name: string; pid: number }[];
	return children.find((child) => child.name === name)!.pid;
}
