import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/**
 * A process as one can write it down and find it again: a process id alone may by then belong to another.
 * `startedAt` is opaque and equal for the same process.
 */
export interface ProcessIdentity {
	pid: number;
	startedAt: string;
}

/** The identity of a running process; undefined when there is none with this id (or only its remains). */
export function identifyProcess(pid: number): ProcessIdentity | undefined {
	const startedAt =
		process.platform === "linux" ? linuxStart(pid) : portableStart(pid);
	return startedAt === undefined ? undefined : { pid, startedAt };
}

export function isRunning(identity: ProcessIdentity): boolean {
	return identifyProcess(identity.pid)?.startedAt === identity.startedAt;
}

/** proc_pid_stat(5): field 22 is the start in ticks since boot, field 3 the state; field 2 may hold anything in brackets. */
function linuxStart(pid: number): string | undefined {
	try {
		const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
		const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
		return fields[0] === "Z" ? undefined : `${bootId()}-${fields[19]}`;
	} catch {
		return undefined;
	}
}

/** Ticks count from boot, so the boot belongs to the identity. */
function bootId(): string {
	return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").slice(0, 8);
}

function portableStart(pid: number): string | undefined {
	try {
		const text = execFileSync("ps", ["-o", "lstart=", "-p", String(pid)], {
			stdio: ["ignore", "pipe", "ignore"],
			encoding: "utf8",
		});
		return text.trim() || undefined;
	} catch {
		return undefined;
	}
}
