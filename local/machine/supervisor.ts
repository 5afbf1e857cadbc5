import { copyFile, stat, truncate } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type RunningChild, startChild, untilReady } from "./child.ts";
import type { ChildRecords } from "./child-records.ts";
import type { LocalHome } from "./home.ts";
import type { ChildProgram } from "./program.ts";
import type { Terminal } from "./terminal.ts";

const readyTimeoutMs = 120_000;
/** A child that ran this long is not in a crash loop. */
const steadyMs = 60_000;
const maxLogBytes = 16 * 1024 * 1024;
const logCheckMs = 10_000;

interface Supervised {
	program: ChildProgram;
	child: RunningChild;
	startedMs: number;
}

/** Starts programs, restarts those that crash, and stops all in reverse order. */
export class Supervisor {
	readonly #home: LocalHome;
	readonly #records: ChildRecords;
	readonly #terminal: Terminal;
	/** In the order of starting. */
	readonly #running = new Map<string, Supervised>();
	readonly #stop = new AbortController();
	readonly #logCheck: NodeJS.Timeout;

	constructor(home: LocalHome, records: ChildRecords, terminal: Terminal) {
		this.#home = home;
		this.#records = records;
		this.#terminal = terminal;
		this.#logCheck = setInterval(() => void this.#boundLogs(), logCheckMs);
	}

	/**
	 * Starts a program and waits until it is ready. From then on a crash leads to a restart. Throws a LocalError when the
	 * program doesn't get ready the first time: a restart wouldn't help.
	 */
	async start(program: ChildProgram): Promise<void> {
		this.#terminal.update(program.name, "starting");
		const supervised = await this.#spawn(program);
		await this.#untilReady(supervised);
		this.#terminal.done(program.name, "ready");
		void this.#keepRunning(program, supervised);
	}

	/** Stops all programs, the last started first, each within its stopTimeoutMs. */
	async stop(): Promise<void> {
		this.#stop.abort();
		clearInterval(this.#logCheck);
		for (const { program, child } of [...this.#running.values()].toReversed()) {
			this.#terminal.update(program.name, "stopping");
			await child.stop();
			this.#terminal.done(program.name, "stopped");
		}
		this.#records.clear();
	}

	async #spawn(program: ChildProgram): Promise<Supervised> {
		this.#stop.signal.throwIfAborted();
		const child = await startChild(program, {
			logFile: this.#logFile(program),
			ownGroup: true,
		});
		const supervised = { program, child, startedMs: Date.now() };
		this.#records.add({ name: program.name, ...child.identity });
		this.#running.set(program.name, supervised);
		// `stop` was called meanwhile and has not seen this child.
		if (this.#stop.signal.aborted) await child.stop();
		return supervised;
	}

	#untilReady({ program, child }: Supervised): Promise<void> {
		return untilReady(program, child, {
			logFile: this.#logFile(program),
			timeoutMs: readyTimeoutMs,
		});
	}

	async #keepRunning(program: ChildProgram, first: Supervised): Promise<void> {
		const { signal } = this.#stop;
		let failures = 0;
		for (let current = first; ; ) {
			const how = await current.child.ended;
			if (signal.aborted) return;
			const ranMs = Date.now() - current.startedMs;
			failures = ranMs >= steadyMs ? 1 : failures + 1;
			const delayMs = restartDelayMs(failures);
			this.#terminal.say(
				`${program.name} ended with ${how}. Restarting it in ${delayMs / 1000} s. Its log is ${this.#logFile(program)}.`,
			);
			try {
				await delay(delayMs, undefined, { signal });
				current = await this.#spawn(program);
				await this.#untilReady(current);
				this.#terminal.say(`${program.name} is ready again.`);
			} catch (error) {
				if (signal.aborted) return;
				this.#terminal.say((error as Error).message);
				await current.child.stop();
			}
		}
	}

	#logFile({ name }: ChildProgram): string {
		return join(this.#home.logs, `${name}.log`);
	}

	/** Keeps at most one former log. Children hold the log open, so it is truncated, not renamed. */
	async #boundLogs(): Promise<void> {
		for (const { program } of this.#running.values()) {
			const file = this.#logFile(program);
			const size = await stat(file).then(
				(found) => found.size,
				() => 0,
			);
			if (size < maxLogBytes) continue;
			// A full disk must not end the supervisor. The next check tries again.
			await copyFile(file, `${file}.1`).catch(() => {});
			await truncate(file).catch(() => {});
		}
	}
}

/** Half a second, then doubling up to half a minute. */
export function restartDelayMs(failures: number): number {
	return Math.min(500 * 2 ** (failures - 1), 30_000);
}
