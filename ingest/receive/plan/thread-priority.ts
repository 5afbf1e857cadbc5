import { readlinkSync } from "node:fs";
import { constants, setPriority } from "node:os";
import { basename } from "node:path";

/**
 * Gives this thread a tenth of a busy core, so that its work costs the event loop little. On Linux a thread has a
 * priority of its own (setpriority(2), "C library/kernel differences"); elsewhere nothing changes.
 */
export function yieldToOthers(): void {
	try {
		const thread = Number(basename(readlinkSync("/proc/thread-self")));
		setPriority(thread, constants.priority.PRIORITY_BELOW_NORMAL);
	} catch {
		// There is no such file, or it isn't allowed.
	}
}
