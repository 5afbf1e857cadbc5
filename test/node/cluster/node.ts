import { execFile } from "node:child_process";
import { existsSync, readdirSync, rmdirSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { resolveBinaries } from "../../../local/binaries/resolve.ts";
import { startChild, untilReady } from "../../../local/machine/child.ts";
import {
	type ChildRecord,
	ChildRecords,
	hasEnded,
} from "../../../local/machine/child-records.ts";
import { LocalError } from "../../../local/machine/errors.ts";
import { readState, writeState } from "../../../local/machine/home.ts";
import { isRunning } from "../../../local/machine/identity.ts";
import type { ChildProgram } from "../../../local/machine/program.ts";
import type { Terminal } from "../../../local/machine/terminal.ts";
import { network } from "./addresses.ts";
import { makeCgroups, removeCgroups } from "./cgroups.ts";
import type { NodeHome } from "./node-home.ts";
import { type Plan, programs } from "./plan.ts";
import { containerdSocket } from "./servers/containerd.ts";

const stopTimeoutMs = 30_000;
/** In Debian, root's programs aren't in everybody's PATH. */
const path = `${process.env.PATH}:/usr/sbin:/sbin`;
/** The node sees others in their place. */
const hidden = ["/var/lib/cni", "/var/lib/kubelet"];

/**
 * Starts a cluster of one real node, which runs until {@link stopNode}. It has namespaces of its own, so that it gets along
 * with whatever else runs on this machine and leaves nothing behind.
 */
export async function startNode(
	home: NodeHome,
	pauseImage: string,
	terminal: Terminal,
): Promise<void> {
	await stopNode(home);
	if (existsSync(`/sys/class/net/${network.device}`))
		throw new LocalError(
			`The network device ${network.device} exists: a node of another folder runs on this machine. Stop it there with \`make e2e-down\`.`,
		);
	const commands = await resolveBinaries([...programs], {
		report: (text) => terminal.update("programs", text),
	});
	await mkdir(home.sysctl, { recursive: true, mode: 0o700 });
	writeState(home.plan, { commands, pauseImage } satisfies Plan);
	makeCgroups();
	const program = namespaces(home);
	const logFile = join(home.logs, "node.log");
	terminal.update("node", "starting");
	const child = await startChild(program, { logFile, ownGroup: true });
	new ChildRecords(home.children).add({ name: "node", ...child.identity });
	await untilReady(program, child, { logFile, timeoutMs: 180_000 });
	terminal.done("node", "ready");
}

/** Ends the node, also one whose parent was killed, and removes all it has made but its logs. */
export async function stopNode(home: NodeHome): Promise<void> {
	const records = readState<ChildRecord[]>(home.children) ?? [];
	for (const record of records.filter(isRunning)) {
		process.kill(record.pid, "SIGKILL");
		await hasEnded(record, stopTimeoutMs);
	}
	// The kernel may keep a network for minutes, for the sake of connections that aren't quite closed.
	if (records.length > 0 && existsSync(`/sys/class/net/${network.device}`))
		await promisify(execFile)("ip", ["link", "delete", network.device], {
			env: { ...process.env, PATH: path },
		});
	await until("its cgroups are gone", removeCgroups);
	for (const folder of hidden)
		if (existsSync(folder) && readdirSync(folder).length === 0)
			rmdirSync(folder);
	const kept = [home.logs, home.podLogs];
	const left = existsSync(home.directory) ? readdirSync(home.directory) : [];
	for (const entry of left.map((name) => join(home.directory, name)))
		if (!kept.includes(entry))
			// The last processes may still be ending.
			await rm(entry, { recursive: true, force: true, maxRetries: 10 });
}

/** Whether the node of this folder serves. */
export function isReady(home: NodeHome): boolean {
	const records = new ChildRecords(home.children);
	return records.running().length > 0 && existsSync(home.ready);
}

/** Makes an image of a docker-archive known to the node. */
export async function importImage(
	home: NodeHome,
	archive: string,
): Promise<void> {
	await containerdClient(home, "images", "import", archive);
}

/** Kills a program of the node; its supervisor starts it again. */
export async function killProgram(
	home: NodeHome,
	name: "kubelet" | "kube-proxy" | "containerd" | "coredns",
): Promise<void> {
	const running = readState<ChildRecord[]>(home.programs) ?? [];
	const found = running.find((program) => program.name === name);
	if (!found) throw new Error(`the node runs no ${name}`);
	await inside(home, "kill", "-KILL", String(found.pid));
}

/** Ends a container's process by SIGKILL, so that it can't say goodbye. `id` is that of its Pod's status. */
export async function killContainer(home: NodeHome, id: string): Promise<void> {
	const name = id.replace("containerd://", "");
	await containerdClient(home, "tasks", "kill", "--signal=SIGKILL", name);
}

/** Adds rules for the Pods' traffic, as iptables-restore reads them. */
export async function loadFirewall(
	home: NodeHome,
	file: string,
): Promise<void> {
	await inside(home, "iptables-restore", "--noflush", file);
}

function containerdClient(home: NodeHome, ...args: string[]) {
	const client = [
		"ctr",
		"--address",
		containerdSocket,
		"--namespace",
		"k8s.io",
	];
	return inside(home, ...client, ...args);
}

/** Runs a command in the node's namespaces. */
async function inside(home: NodeHome, ...command: string[]): Promise<string> {
	const [node] = new ChildRecords(home.children).running();
	if (!node) throw new LocalError("No node runs. Start it with `make e2e-up`.");
	const of = (kind: string) => `/proc/${node.pid}/ns/${kind}`;
	const { stdout } = await promisify(execFile)(
		"nsenter",
		[
			`--mount=${of("mnt")}`,
			`--net=${of("net")}`,
			// The process that made the namespace stays outside of it.
			`--pid=${of("pid_for_children")}`,
			"--",
			...command,
		],
		{ env: { ...process.env, PATH: path } },
	);
	return stdout;
}

function namespaces(home: NodeHome): ChildProgram {
	const script = join(import.meta.dirname, "namespaces.sh");
	const main = join(import.meta.dirname, "inside.ts");
	return {
		name: "node",
		command: "unshare",
		args: [
			"--net",
			"--mount",
			"--propagation=private",
			"bash",
			script,
			"cable",
			process.execPath,
			main,
		],
		env: {
			PATH: path,
			// That of a test run goes with the run.
			TMPDIR: "/tmp",
			TIDEMILL_E2E_HOME: home.directory,
			DEVICE: network.device,
			MACHINE: network.machine,
			NODE: network.node,
			PODS: network.pods,
			SERVICES: network.services,
			SYSCTL: home.sysctl,
			HIDDEN: hidden.join(" "),
		},
		isReady: async () => existsSync(home.ready),
		stopTimeoutMs: 1_000,
	};
}

async function until(what: string, isSo: () => boolean): Promise<void> {
	const deadline = Date.now() + stopTimeoutMs;
	while (!isSo()) {
		if (Date.now() > deadline)
			throw new LocalError(
				`The node was stopped ${stopTimeoutMs / 1000} s ago, and it is still not so that ${what}.`,
			);
		await delay(50);
	}
}
