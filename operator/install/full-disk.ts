import { statfs } from "node:fs/promises";
import type { Logger } from "../../packages/service/log.ts";
import { pause } from "../../packages/service/pause.ts";

const lookEveryMs = 10_000;
/** As the alert TidemillVolumeFull has it. */
const leastFreeShare = 0.05;

/** nats-server's answer to `/healthz?details=true`, with what matters here. */
export interface NatsHealth {
	error?: string;
	errors?: { error?: string }[];
}

/**
 * Whether nats-server has given up to write, and does so until it is started again: after one write that failed a stream takes no
 * more and can't be purged, and in a cluster all of JetStream is off (nats-server 2.15.2, filestore.go, `setWriteErr`, and
 * jetstream.go, `handleOutOfSpace`).
 */
export function hasGivenUpWriting({ error, errors = [] }: NatsHealth): boolean {
	return [error, ...errors.map(({ error }) => error)].some(
		(text) => text && /write error|JetStream not enabled/i.test(text),
	);
}

/** A restart on a full disk would fail again, and Kubernetes would wait longer after each. */
export function hasRoom(disk: { blocks: number; bavail: number }): boolean {
	return disk.bavail >= disk.blocks * leastFreeShare;
}

/**
 * Until the signal: ends a nats-server that has given up to write, once its disk has room. Kubernetes starts it again at once, and it
 * has all that it acknowledged.
 */
export async function endAfterFullDisk(
	nats: {
		/** URL of the monitoring port. */
		monitor: string;
		/** A folder on the disk. */
		data: string;
		/** Of the process; undefined while there is none. */
		pid(): number | undefined;
		log: Logger;
	},
	signal: AbortSignal,
): Promise<void> {
	const { monitor, data, pid, log } = nats;
	let hasSaid = false;
	for (; !signal.aborted; await pause(lookEveryMs, signal)) {
		const health = await healthOf(monitor);
		if (!health || !hasGivenUpWriting(health)) {
			hasSaid = false;
			continue;
		}
		if (hasRoom(await statfs(data))) {
			const found = pid();
			if (found === undefined) continue;
			log.error(
				{ health },
				"nats-server can't write since its disk was full, and the disk has room again; nats-server is ended, to be started anew",
			);
			process.kill(found, "SIGTERM");
		} else if (!hasSaid) {
			hasSaid = true;
			log.error(
				{ health, data },
				"nats-server can't write, and its disk is full. Enlarge the volume, or remove from it what isn't NATS's; nats-server is then started anew",
			);
		}
	}
}

/** Undefined if it doesn't answer. */
async function healthOf(monitor: string): Promise<NatsHealth | undefined> {
	try {
		const signal = AbortSignal.timeout(lookEveryMs);
		const answer = await fetch(`${monitor}/healthz?details=true`, { signal });
		return (await answer.json()) as NatsHealth;
	} catch {
		return undefined;
	}
}
