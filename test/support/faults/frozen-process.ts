import { readdir, readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";

/**
 * SIGSTOP. Settles when every thread of the process has stopped. A thread in the middle of a write finishes it first, so
 * a disk may still change right after the signal.
 */
export async function freeze(pid: number): Promise<void> {
	process.kill(pid, "SIGSTOP");
	while (!(await isFrozen(pid))) await delay(1);
}

/** By the state of each thread (proc_pid_stat(5)), where the system has that. */
async function isFrozen(pid: number): Promise<boolean> {
	const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
	for (const thread of threads) {
		const file = `/proc/${pid}/task/${thread}/stat`;
		const stat = await readFile(file, "latin1").catch(() => undefined);
		// Behind the program's name, which may hold anything.
		const state = stat?.slice(stat.lastIndexOf(")") + 2)[0];
		if (state && !"TtZX".includes(state)) return false;
	}
	return true;
}
