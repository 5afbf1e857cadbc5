import { mkdtemp, rm, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
	type RunningChild,
	startChild,
	untilReady,
} from "../../../local/machine/child.ts";
import type { ChildProgram } from "../../../local/machine/program.ts";

/** A real server for tests: on a free port of the loopback, with data in a temporary folder that `stop` removes. */
export interface TestServer {
	readonly pid: number;
	/** What it has printed. */
	readonly logFile: string;
	/** Settles when it has ended, with words: `exit status 0`, `SIGKILL`. */
	readonly ended: Promise<string>;
	/** SIGKILL unless another signal is given; settles when it is gone. Data and port stay. */
	kill(signal?: NodeJS.Signals): Promise<void>;
	/** Starts it again after `kill`, with the same port and data; settles when it is ready. */
	start(): Promise<void>;
	/** Ends it and removes its data. */
	stop(): Promise<void>;
}

/** Memory for CPU time: a tenth of what Kubernetes' servers burn is garbage collection, and a quarter of a kubectl (https://go.dev/doc/gc-guide#GOGC). */
export const sparingGo = { GOGC: "400" };

/** Starts a program and waits until it serves. `directory` gets its log, and goes with it. */
export async function startServer(
	program: ChildProgram,
	directory: string,
): Promise<TestServer> {
	const logFile = join(directory, `${program.name}.log`);
	let child: RunningChild;
	const start = async () => {
		child = await startChild(program, { logFile, ownGroup: false });
		running.add(child);
		void child.ended.then(() => running.delete(child));
		await untilReady(program, child, { logFile, timeoutMs: 120_000 });
	};
	await start();
	return {
		logFile,
		get pid() {
			return child.identity.pid;
		},
		get ended() {
			return child.ended;
		},
		kill: (signal = "SIGKILL") => child.kill(signal),
		start,
		stop: async () => {
			await child.stop();
			await rm(directory, { recursive: true, force: true });
		},
	};
}

export function temporaryDirectory(name: string): Promise<string> {
	return mkdtemp(join(tmpdir(), `tidemill-test-${name}-`));
}

/** NATS sets aside what each stream may hold. */
const storeBytes = 8 * 1024 ** 3;

/**
 * The same for a store that syncs every write: in memory where there is room, as a sync waits for whatever else is being
 * written on the machine, and receive doesn't wait for long. Benches measure the disk.
 */
export async function storeDirectory(name: string): Promise<string> {
	const memory = "/dev/shm";
	const found = await statfs(memory).catch(() => undefined);
	const hasRoom = found && found.bavail * found.bsize >= storeBytes;
	if (!process.env.VITEST || !hasRoom) return temporaryDirectory(name);
	return mkdtemp(join(memory, `tidemill-test-${name}-`));
}

/** No test run leaves a server behind, however it ends. */
const running = new Set<RunningChild>();
process.on("exit", () => {
	for (const child of running) void child.kill("SIGKILL");
});
