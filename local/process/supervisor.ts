import { copyFile, stat, truncate } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Home } from "../home/home.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { type Child, startChild, untilReady } from "./child.ts";
import type { ChildRecords } from "./child-records.ts";
import type { Program } from "./program.ts";

const readyTimeoutMs = 120_000;
/** A child that ran this long before it ended is not in a crash loop. */
const steadyMs = 60_000;
const maxLogBytes = 16 * 1024 * 1024;
const logCheckMs = 10_000;

interface Supervised {
	program: Program;
	child: Child;
	startedMs: number;
}

/** Starts programs, starts them again when they crash, and stops them all in reverse order. */
export class Supervisor {
	readonly #home: Home;
	readonly #records: ChildRecords;
	readonly #terminal: Terminal;
	/** In the order of starting. */
	readonly #running = new Map<string, Supervised>();
	readonly #stop = new AbortController();
	readonly #logCheck: NodeJS.Timeout;

	constructor(home: Home, records: ChildRecords, terminal: Terminal) {
		this.#home = home;
		this.#records = records;
		this.#terminal = terminal;
		this.#logCheck = setInterval(() => void this.#boundLogs(), logCheckMs);
	}

	/**
	 * Starts a program and waits until it is ready; from then on a crash leads to a restart. Throws a LocalError when it
	 * doesn't become ready the first time: then something is wrong that a restart won't mend.
	 */
	async start(program: Program): Promise<void> {
		this.#terminal.update(program.name, "starting");
		const supervised = await this.#spawn(program);
		await this.#untilReady(supervised);
		this.#terminal.done(program.name, "ready");
		void this.#keepRunning(program, supervised);
	}

	/** Stops all, the last started first. Bounded by each program's stopTimeoutMs. */
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

	async #spawn(program: Program): Promise<Supervised> {
		this.#stop.signal.throwIfAborted();
		const child = await startChild(program, {
			logFile: this.#logFile(program),
			ownGroup: true,
		});
		const supervised = { program, child, startedMs: Date.now() };
		this.#records.add({ name: program.name, ...child.identity });
		this.#running.set(program.name, supervised);
		// `stop` was called while it was being started, and has not seen it.
		if (this.#stop.signal.aborted) await child.stop();
		return supervised;
	}

	#untilReady({ program, child }: Supervised): Promise<void> {
		return untilReady(program, child, {
			logFile: this.#logFile(program),
			timeoutMs: readyTimeoutMs,
		});
	}

	async #keepRunning(program: Program, first: Supervised): Promise<void> {
		const { signal } = this.#stop;
		let failures = 0;
		for (let current = first; ; ) {
			const how = await current.child.ended;
			if (signal.aborted) return;
			const ranMs = Date.now() - current.startedMs;
			failures = ranMs >= steadyMs ? 1 : failures + 1;
			const delayMs = restartDelayMs(failures);
			this.#terminal.say(
				`${program.name} ended with ${how}. Starting it again in ${delayMs / 1000} s; its log is ${this.#logFile(program)}.`,
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

	#logFile({ name }: Program): string {
		return join(this.#home.logs, `${name}.log`);
	}

	/** Keeps at most one former log. Children append to an open file, which is therefore emptied, not renamed. */
	async #boundLogs(): Promise<void> {
		for (const { program } of this.#running.values()) {
			const file = this.#logFile(program);
			const size = await stat(file).then(
				(found) => found.size,
				() => 0,
			);
			if (size < maxLogBytes) continue;
			// A full disk must not end the supervisor; the next round tries again.
			await copyFile(file, `${file}.1`).catch(() => {});
			await truncate(file).catch(() => {});
		}
	}
}

/** Half a second, then doubling up to half a minute. */
export function restartDelayMs(failures: number): number {
	return Math.min(500 * 2 ** (failures - 1), 30_000);
}
