import { readlinkSync } from "node:fs";
import { setPriority } from "node:os";
import { basename } from "node:path";

/** The weight of a quarter of a core that another thread would use whole (sched(7)). */
const nice = 5;

/**
 * Gives this thread less of a busy core than the event loop has. On Linux a thread has a priority of its own
 * (setpriority(2), "C library/kernel differences"); elsewhere nothing changes.
 */
export function yieldToOthers(): void {
	try {
		const thread = Number(basename(readlinkSync("/proc/thread-self")));
		setPriority(thread, nice);
	} catch {
		// There is no such file, or it isn't allowed.
	}
}
