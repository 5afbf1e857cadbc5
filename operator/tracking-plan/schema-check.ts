import { once } from "node:events";
import { extname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import type { TrackingPlanSpec } from "../../crds/generated/types.ts";

export interface SchemaLimits {
	/** Processor time for one plan. */
	cpuMs: number;
	/** The heap of the thread. */
	maxMegabytes: number;
}

/**
 * Compiles the schemas of plans, one plan at a time, in a thread with limits of time and memory: strangers write them, and a
 * few kilobytes of schema can take minutes and gigabytes. A plan beyond the limits is a fault of that plan; operator and
 * its lease notice nothing.
 */
export class SchemaCheck {
	readonly #limits: SchemaLimits;
	#thread: Worker | undefined;
	#last: Promise<unknown> = Promise.resolve();

	constructor(limits: SchemaLimits = { cpuMs: 10_000, maxMegabytes: 256 }) {
		this.#limits = limits;
	}

	/** What is wrong with the first invalid schema of a plan, for people; undefined if all are valid. */
	faultOf(spec: TrackingPlanSpec): Promise<string | undefined> {
		const turn = this.#last.then(() => this.#ask(spec));
		this.#last = turn.catch(() => undefined);
		return turn;
	}

	async #ask(spec: TrackingPlanSpec): Promise<string | undefined> {
		const { cpuMs, maxMegabytes } = this.#limits;
		const thread = this.#thread ?? (await this.#start());
		const answered = new AbortController();
		const { signal } = answered;
		try {
			thread.postMessage(spec);
			return await Promise.race([
				once(thread, "message", { signal }).then(([fault]) => fault as string),
				outOfTime(thread, cpuMs, signal),
			]);
		} catch (error) {
			this.#thread = undefined;
			await thread.terminate();
			const { code, message } = error as NodeJS.ErrnoException;
			if (message === "out of time")
				return `The plan's schemas take more than ${cpuMs / 1_000} s of processor time to compile. Make them smaller, or use fewer references.`;
			if (code === "ERR_WORKER_OUT_OF_MEMORY")
				return `The plan's schemas take more than ${maxMegabytes} MB to compile. Make them smaller, or use fewer references.`;
			throw error;
		} finally {
			answered.abort();
		}
	}

	async #start(): Promise<Worker> {
		// The image has JavaScript in place of TypeScript.
		const file = `schema-worker${extname(import.meta.url)}`;
		const thread = new Worker(new URL(file, import.meta.url), {
			resourceLimits: { maxOldGenerationSizeMb: this.#limits.maxMegabytes },
		});
		// It must not keep the process alive, nor end it when no plan waits for it.
		thread.unref();
		thread.on("error", () => undefined);
		await once(thread, "online");
		this.#thread = thread;
		return thread;
	}
}

/** Rejects when the thread has worked that long. By the wall clock, a busy machine would make a good plan invalid. */
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
		if ((await used()) - fromMs > cpuMs) throw new Error("out of time");
	}
}
