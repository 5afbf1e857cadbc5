import type { ChildProcess } from "node:child_process";
import { readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";

const pollMs = 20;

/** CPU time that a process has used so far, in milliseconds (proc(5): utime and stime, in ticks of 10 ms). */
export async function cpuMs(pid: number): Promise<number> {
	const stat = await readFile(`/proc/${pid}/stat`, "utf8");
	// Split after the name, which may contain spaces; the next field, the state, is field 3.
	const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
	return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** A process's resident memory now and at its peak, in bytes. */
export async function memory(
	pid: number,
): Promise<{ residentBytes: number; peakBytes: number }> {
	const status = await readFile(`/proc/${pid}/status`, "utf8");
	const bytes = (name: string) =>
		Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024;
	return { residentBytes: bytes("VmRSS"), peakBytes: bytes("VmHWM") };
}

/** For a process that runs from sources: with the bundle's compile cache, Node would run some starts half as fast. */
export function sourcesEnvironment(): NodeJS.ProcessEnv {
	return { ...process.env, NODE_DISABLE_COMPILE_CACHE: "1" };
}

/** What a process took from start to end. */
export interface ProcessCost {
	seconds: number;
	/** User and system time, which neighbours on the machine change less. */
	cpuSeconds: number;
	peakBytes: number;
}

/** Waits for a process to end. Throws if it fails. */
export async function costOf(child: ChildProcess): Promise<ProcessCost> {
	const startMs = performance.now();
	const ended = new Promise<number | null>((resolve) =>
		child.on("exit", resolve),
	);
	let peakBytes = 0;
	let usedMs = 0;
	let exitCode: number | null | undefined;
	while (exitCode === undefined) {
		// The kernel forgets both when a process ends.
		const now = await memory(child.pid!).catch(() => undefined);
		peakBytes = Math.max(peakBytes, now?.peakBytes || 0);
		usedMs = await cpuMs(child.pid!).catch(() => usedMs);
		exitCode = await Promise.race([ended, delay(pollMs, undefined)]);
	}
	if (exitCode !== 0) throw new Error(`A process ended with ${exitCode}`);
	const seconds = (performance.now() - startMs) / 1000;
	return { seconds, cpuSeconds: usedMs / 1000, peakBytes };
}
