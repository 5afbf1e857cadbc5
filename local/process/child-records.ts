import { setTimeout as delay } from "node:timers/promises";
import { readState, writeState } from "../home/state-file.ts";
import { isRunning, type ProcessIdentity } from "./identity.ts";

/** A child as it is written down, in the order of starting. */
export interface ChildRecord extends ProcessIdentity {
	name: string;
}

/** The file that says which children run, so that a supervisor's sudden death leaves no unknown process behind. */
export class ChildRecords {
	readonly #path: string;
	#records: ChildRecord[];

	constructor(path: string) {
		this.#path = path;
		this.#records = readState<ChildRecord[]>(path) ?? [];
	}

	/** Those that still run: of a supervisor that was killed. */
	running(): ChildRecord[] {
		return this.#records.filter(isRunning);
	}

	/** A restarted child takes its former place, so that the order of stopping stays. */
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

/** Stops processes one after another, the last started first: SIGTERM, and SIGKILL for the whole group after `timeoutMs`. */
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

/** True once the process is gone; false when it is still there after `timeoutMs`. */
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
		// It ended by itself just now.
		if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
	}
}
