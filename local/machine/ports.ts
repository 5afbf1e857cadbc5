import { randomInt } from "node:crypto";
import { createServer } from "node:net";
import { join } from "node:path";
import { problem } from "./errors.ts";
import { tryLock } from "./lock.ts";

/** The usual ports of a local Tidemill, all on the loopback. 0 stands for any free port. */
export const usualPorts = {
	apiserver: 6443,
	etcd: 2379,
	etcdPeer: 2380,
	nats: 4222,
	s3: 7070,
	receive: 8080,
	api: 8090,
	node: 10250,
	receiveHealth: 0,
	archiveHealth: 0,
	operatorHealth: 0,
	apiHealth: 0,
	notifyHealth: 0,
	nodeHealth: 0,
} as const;

type PortName = keyof typeof usualPorts;
export type LocalPorts = Record<PortName, number> & Record<string, number>;

/**
 * Chooses the remembered ports, since webhook URLs and kubeconfigs name them; else the usual ports; else any free ones.
 * Throws a LocalError when a remembered port is taken. `file` is where they are remembered.
 * @param others Programs beside the usual ones, each with any free port.
 */
export async function choosePorts(
	remembered: Partial<LocalPorts>,
	file: string,
	probe: {
		isFree: (port: number) => Promise<boolean>;
		freePort: () => Promise<number>;
	} = { isFree, freePort },
	others: string[] = [],
): Promise<LocalPorts> {
	const chosen: Record<string, number> = {};
	for (const name of [...Object.keys(usualPorts), ...others]) {
		const before = remembered[name];
		if (before !== undefined) {
			if (!(await probe.isFree(before)))
				throw problem.portTaken(name, before, file);
			chosen[name] = before;
			continue;
		}
		const usual = usualPorts[name as PortName] ?? 0;
		chosen[name] =
			usual !== 0 && (await probe.isFree(usual))
				? usual
				: await unusedPort(probe.freePort, Object.values(chosen));
	}
	return chosen as LocalPorts;
}

/** Whether nothing listens on this port of the loopback. */
function isFree(port: number): Promise<boolean> {
	return new Promise((resolve) => {
		const server = createServer();
		server.once("error", () => resolve(false));
		server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
	});
}

/**
 * Like {@link isFree}, and reserves the port among the Tidemills of this machine for as long as this process lives: two that
 * start at once would find the same ports free. Reservations are files in `directory`.
 */
export async function reservePort(
	port: number,
	directory: string,
): Promise<boolean> {
	if (!(await isFree(port))) return false;
	return "release" in (await tryLock(join(directory, String(port))));
}

/**
 * Above the usual ports, below the ephemeral ports (from 32768 in Linux), which another program may get between our choice
 * and our listening, and below the node ports of Kubernetes Services (30000 to 32767).
 */
const free = { from: 16_384, below: 30_000 };
const given = new Set<number>();

/** A port that was free a moment ago and that this process has not been given before. */
export async function freePort(): Promise<number> {
	for (;;) {
		const port = randomInt(free.from, free.below);
		if (given.has(port) || !(await isFree(port))) continue;
		given.add(port);
		return port;
	}
}

async function unusedPort(
	freePort: () => Promise<number>,
	chosen: number[],
): Promise<number> {
	for (;;) {
		const port = await freePort();
		if (!chosen.includes(port)) return port;
	}
}
