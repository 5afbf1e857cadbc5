import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/**
 * Identifies a process beyond its lifetime. A process id alone may later belong to another process.
 * `startedAt` is opaque and constant for a process.
 */
export interface ProcessIdentity {
	pid: number;
	startedAt: string;
}

/** The identity of a running process; undefined when no process has this id, or only a zombie. */
export function identifyProcess(pid: number): ProcessIdentity | undefined {
	const startedAt =
		process.platform === "linux" ? linuxStart(pid) : portableStart(pid);
	return startedAt === undefined ? undefined : { pid, startedAt };
}

export function isRunning(identity: ProcessIdentity): boolean {
	return identifyProcess(identity.pid)?.startedAt === identity.startedAt;
}

/** proc_pid_stat(5): field 22 is the start in ticks since boot, field 3 the state; field 2 is any text in parentheses. */
function linuxStart(pid: number): string | undefined {
	try {
		const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
		const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
		return fields[0] === "Z" ? undefined : `${bootId()}-${fields[19]}`;
	} catch {
		return undefined;
	}
}

/** Ticks count from boot, so the boot is part of the identity. */
function bootId(): string {
	return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").slice(0, 8);
}

/** As ps tells it, which every system has; undefined where it is missing. */
export function portableStart(pid: number): string | undefined {
	try {
		const text = execFileSync("ps", ["-o", "lstart=", "-p", String(pid)], {
			// The same text whoever asks.
			env: { ...process.env, LC_ALL: "C", TZ: "UTC0" },
			stdio: ["ignore", "pipe", "ignore"],
			encoding: "utf8",
		});
		return text.trim() || undefined;
	} catch {
		return undefined;
	}
}
