import { setTimeout as delay } from "node:timers/promises";
import { readState, writeState } from "./home.ts";
import { isRunning, type ProcessIdentity } from "./identity.ts";

/** A running child, as the file records it. */
export interface ChildRecord extends ProcessIdentity {
	name: string;
}

/** The file that lists the running children, in the order of their start. With it, no child of a killed supervisor gets lost. */
export class ChildRecords {
	readonly #path: string;
	#records: ChildRecord[];

	constructor(path: string) {
		this.#path = path;
		this.#records = readState<ChildRecord[]>(path) ?? [];
	}

	/** The children that still run: those of a killed supervisor. */
	running(): ChildRecord[] {
		return this.#records.filter(isRunning);
	}

	/** A restarted child keeps its place, and with it the order of stopping. */
	add(record: ChildRecord): void {
		const place = this.#records.findIndex(({ name }) => name === record.name);
		if (place === -1) this.#records.push(record);
		else this.#records[place] = record;
		writeState(this.#path, this.#records);
	}

	clear(): void {
		this.#records = [];
		writeState(this.#path, []);
	}
}

/** Stops processes one by one, the last started first: SIGTERM, then SIGKILL to the whole group after `timeoutMs`. */
export async function stopOrphans(
	orphans: ChildRecord[],
	timeoutMs = 10_000,
): Promise<void> {
	for (const orphan of orphans.toReversed()) {
		signal(orphan.pid, "SIGTERM");
		if (!(await hasEnded(orphan, timeoutMs))) {
			signal(-orphan.pid, "SIGKILL");
			await hasEnded(orphan, timeoutMs);
		}
	}
}

/** Waits for a process to end. Returns false when it still runs after `timeoutMs`. */
export async function hasEnded(
	identity: ProcessIdentity,
	timeoutMs: number,
): Promise<boolean> {
	const deadline = Date.now() + timeoutMs;
	while (isRunning(identity)) {
		if (Date.now() > deadline) return false;
		await delay(50);
	}
	return true;
}

function signal(pid: number, name: NodeJS.Signals): void {
	try {
		process.kill(pid, name);
	} catch (error) {
		// It has just ended by itself.
		if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
	}
}
