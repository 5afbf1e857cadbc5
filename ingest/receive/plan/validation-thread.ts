import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { Logger } from "../../../packages/service/log.ts";
import type {
	BatchAnswer,
	EventBatch,
	LearnedPlan,
	ThreadOrder,
} from "./thread-messages.ts";

interface ValidationThreadOptions {
	log: Logger;
	/** Called when the thread can take batches again. */
	onUp(): void;
	/** Milliseconds of a clock that never jumps. */
	now?: () => number;
}

type OnAnswer = (answer: BatchAnswer | undefined) => void;

/** A body takes ten times its bytes as JavaScript values, and code several times its text. */
const maxMegabytes = 256;
/** Look after a batch that takes longer. On a busy machine that needn't mean anything. */
const suspiciousMs = 1_000;
/** A batch may use this much processor time. The fuel of its events allows for far less. */
const maxCpuMs = 2_000;
/** A thread that lived for less is started again only after as long. */
const minLifeMs = 1_000;
const firstPenaltyMs = 1_000;
const maxPenaltyMs = 5 * 60_000;

/**
 * The thread that validates events. Fuel keeps every event short, and bounds keep the plans small. If it dies or hangs in spite
 * of that, it is replaced, and the plan that was validating at that moment is out of service for a while, so that others' events
 * don't die with it again and again.
 */
export class ValidationThread {
	readonly #options: ValidationThreadOptions;
	readonly #now: () => number;
	readonly #plans = new Map<number, LearnedPlan>();
	readonly #awaited: { sentAtMs: number; onAnswer: OnAnswer }[] = [];
	readonly #penalties = new Map<number, { untilMs: number; ms: number }>();
	readonly #current = new Int32Array(new SharedArrayBuffer(4));
	#thread: Worker | undefined;
	#startedAtMs = 0;
	#cpu: { ofBatchSentAtMs: number; ms: number } | undefined;
	#isStopped = false;
	restarts = 0;
	/** How often a plan's code had to be made ready again, since other plans had taken its room. */
	readiedAgain = 0;

	constructor(options: ValidationThreadOptions) {
		this.#options = options;
		this.#now = options.now ?? (() => performance.now());
	}

	/** Whether it takes batches now. */
	get isUp(): boolean {
		return this.#thread !== undefined;
	}

	learn(plan: LearnedPlan): void {
		this.#plans.set(plan.id, plan);
		if (this.#thread) this.#post({ type: "learn", plan });
		else if (this.#startedAtMs === 0) this.#start();
	}

	forget(id: number): void {
		this.#plans.delete(id);
		this.#penalties.delete(id);
		if (this.#thread) this.#post({ type: "forget", id });
	}

	/** Whether the plan is out of service, because the thread died while it validated. */
	isPenalized(id: number): boolean {
		const penalty = this.#penalties.get(id);
		return penalty !== undefined && this.#now() < penalty.untilMs;
	}

	/** Call it while {@link isUp}. @param onAnswer gets undefined if the thread died. */
	validate(batch: EventBatch, onAnswer: OnAnswer): void {
		this.#awaited.push({ sentAtMs: this.#now(), onAnswer });
		this.#post({ type: "validate", batch }, [batch.bytes]);
	}

	/** Call it a few times a second. */
	tick(): void {
		const [oldest] = this.#awaited;
		if (oldest && this.#now() - oldest.sentAtMs > suspiciousMs)
			void this.#check(oldest.sentAtMs);
	}

	async stop(): Promise<void> {
		this.#isStopped = true;
		await this.#thread?.terminate();
	}

	/** Ends the thread if it has used too much processor time for one batch. */
	async #check(sentAtMs: number): Promise<void> {
		const thread = this.#thread;
		const { user, system } = (await thread
			?.cpuUsage()
			.catch(() => undefined)) ?? { user: 0, system: 0 };
		if (!thread || this.#awaited[0]?.sentAtMs !== sentAtMs) return;
		const ms = (user + system) / 1_000;
		if (this.#cpu?.ofBatchSentAtMs !== sentAtMs)
			this.#cpu = { ofBatchSentAtMs: sentAtMs, ms };
		else if (ms - this.#cpu.ms > maxCpuMs) await thread.terminate();
	}

	#post(order: ThreadOrder, transfer: ArrayBuffer[] = []): void {
		this.#thread!.postMessage(order, transfer);
	}

	#start(): void {
		if (this.#isStopped || this.#thread) return;
		this.#startedAtMs = this.#now();
		Atomics.store(this.#current, 0, -1);
		// The image has JavaScript in place of TypeScript.
		const file = `validation-worker${extname(import.meta.url)}`;
		const thread = new Worker(new URL(file, import.meta.url), {
			workerData: this.#current,
			resourceLimits: { maxOldGenerationSizeMb: maxMegabytes },
		});
		thread.unref();
		thread.on("message", (answer: BatchAnswer) => {
			this.readiedAgain += answer.readiedAgain;
			this.#awaited.shift()?.onAnswer(answer);
		});
		let reason: unknown;
		thread.on("error", (error) => {
			reason = error;
		});
		thread.once("exit", () => this.#ended(reason));
		this.#thread = thread;
		for (const plan of this.#plans.values())
			this.#post({ type: "learn", plan });
		this.#options.onUp();
	}

	#ended(reason: unknown): void {
		this.#thread = undefined;
		if (!this.#isStopped) this.#replace(reason);
		for (const { onAnswer } of this.#awaited.splice(0)) onAnswer(undefined);
	}

	#replace(reason: unknown): void {
		const { log } = this.#options;
		const validating = this.#plans.get(Atomics.load(this.#current, 0));
		if (validating) this.#penalize(validating.id);
		log.error(
			{ err: reason, account: validating?.account, plan: validating?.plan },
			"the thread that validates events by tracking plans has died or hung; starting another one",
		);
		this.restarts++;
		if (this.#now() - this.#startedAtMs >= minLifeMs) this.#start();
		else setTimeout(() => this.#start(), minLifeMs).unref();
	}

	#penalize(plan: number): void {
		const last = this.#penalties.get(plan)?.ms ?? firstPenaltyMs / 2;
		const ms = Math.min(2 * last, maxPenaltyMs);
		this.#penalties.set(plan, { untilMs: this.#now() + ms, ms });
	}
}
