import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { oneAtATime } from "../fair/fair-limit.ts";

export interface ThreadLimits {
	/** Processor time for one piece of work. */
	cpuMs: number;
	/** The heap of the thread. */
	maxMegabytes: number;
}

/** What libraries keep of each piece of work would otherwise count against the ones after it. */
const maxPieces = 100;

/** A piece of work took more than it may. */
export class BeyondLimits extends Error {
	override name = "BeyondLimits";
}

/**
 * Does work that strangers can make long or large, one piece at a time, in a thread with limits of time and memory. A piece
 * beyond them fails alone: its thread is ended, the next piece gets a new one, and the process notices nothing.
 */
export class LimitedThread<Question, Answer> {
	readonly #file: URL;
	readonly #limits: ThreadLimits;
	#thread: Worker | undefined;
	/** That the thread has done. */
	#pieces = 0;
	readonly #inTurn = oneAtATime();

	/** @param file answers each message with one message. */
	constructor(file: URL, limits: ThreadLimits) {
		this.#file = file;
		this.#limits = limits;
	}

	/** Rejects with {@link BeyondLimits}, whose message says which limit. */
	ask(question: Question): Promise<Answer> {
		return this.#inTurn(() => this.#ask(question));
	}

	async #ask(question: Question): Promise<Answer> {
		const { cpuMs, maxMegabytes } = this.#limits;
		if (this.#pieces === maxPieces) await this.#end();
		const thread = this.#thread ?? (await this.#start());
		this.#pieces++;
		const answered = new AbortController();
		const { signal } = answered;
		try {
			thread.postMessage(question);
			return await Promise.race([
				once(thread, "message", { signal }).then(
					([answer]) => answer as Answer,
				),
				outOfTime(thread, cpuMs, signal),
			]);
		} catch (error) {
			await this.#end();
			const { code } = error as NodeJS.ErrnoException;
			if (code === "ERR_WORKER_OUT_OF_MEMORY")
				throw new BeyondLimits(`more than ${maxMegabytes} MB`);
			throw error;
		} finally {
			answered.abort();
		}
	}

	async #end(): Promise<void> {
		const thread = this.#thread;
		this.#thread = undefined;
		this.#pieces = 0;
		await thread?.terminate();
	}

	async #start(): Promise<Worker> {
		const thread = new Worker(this.#file, {
			resourceLimits: { maxOldGenerationSizeMb: this.#limits.maxMegabytes },
		});
		// It must not keep the process alive, nor end it when no work waits for it.
		thread.unref();
		thread.on("error", () => undefined);
		await once(thread, "online");
		this.#thread = thread;
		return thread;
	}
}

/** Rejects when the thread has worked that long. By the wall clock, a busy machine would make good work fail. */
async function outOfTime(
	thread: Worker,
	cpuMs: number,
	signal: AbortSignal,
): Promise<never> {
	// A thread that is gone has told why by its event `error`.
	const used = () =>
		thread.cpuUsage().then(
			({ user, system }) => (user + system) / 1_000,
			() => 0,
		);
	const fromMs = await used();
	for (;;) {
		await sleep(Math.min(cpuMs, 200), undefined, { signal });
		if ((await used()) - fromMs > cpuMs)
			throw new BeyondLimits(`more than ${cpuMs / 1_000} s of processor time`);
	}
}
