import { type Backoff, backoffMs } from "../backoff.ts";
import { measureQueue, metrics } from "../metrics.ts";
import { TokenBucket } from "./token-bucket.ts";

/**
 * Keys that need work. A key that is added while it waits is there once; one that is added while it is worked on comes
 * again after that, so no key is ever worked on twice at the same time (as client-go's workqueue).
 */
export class WorkQueue {
	readonly name: string;
	readonly #backoff: Backoff;
	/** Holds back failures of many keys together, of which each alone would come back soon. */
	readonly #retries = new TokenBucket({ perSecond: 10, burst: 100 });
	/** When each was added, in the order of their turn. */
	readonly #waiting = new Map<string, number>();
	/** When each was taken. */
	readonly #processing = new Map<string, number>();
	/** Added while being processed. */
	readonly #again = new Set<string>();
	readonly #later = new Map<string, { dueMs: number; timer: NodeJS.Timeout }>();
	readonly #failures = new Map<string, number>();
	readonly #idle: ((key: string | undefined) => void)[] = [];
	#stopped = false;

	/** @param name for metrics. */
	constructor(name: string, backoff: Backoff = { baseMs: 5, maxMs: 300_000 }) {
		this.name = name;
		this.#backoff = backoff;
		measureQueue(this);
	}

	/** Keys that wait for their turn now. */
	get length(): number {
		return this.#waiting.size;
	}

	/** For each key in work, for how long it has been, in milliseconds. */
	get workingMs(): number[] {
		const nowMs = performance.now();
		return Array.from(this.#processing.values(), (sinceMs) => nowMs - sinceMs);
	}

	add(key: string): void {
		if (this.#stopped || this.#waiting.has(key)) return;
		if (this.#processing.has(key)) {
			this.#again.add(key);
			return;
		}
		metrics.queueAdds.inc({ name: this.name });
		this.#waiting.set(key, performance.now());
		const worker = this.#idle.shift();
		if (worker) worker(this.#next());
	}

	/** Adds the key when the time has passed; of several times the earliest counts. */
	addAfter(key: string, delayMs: number): void {
		if (this.#stopped) return;
		const dueMs = performance.now() + delayMs;
		const planned = this.#later.get(key);
		if (planned && planned.dueMs <= dueMs) return;
		clearTimeout(planned?.timer);
		const timer = setTimeout(
			() => {
				this.#later.delete(key);
				this.add(key);
			},
			Math.min(delayMs, longestTimerMs),
		);
		this.#later.set(key, { dueMs, timer });
	}

	/** Adds the key after the backoff of its failures, of which this is one more. Returns the wait in milliseconds. */
	addAfterFailure(key: string): number {
		const failures = (this.#failures.get(key) ?? 0) + 1;
		this.#failures.set(key, failures);
		const delayMs = Math.max(
			backoffMs(failures, this.#backoff),
			this.#retries.reserve(performance.now()),
		);
		metrics.queueRetries.inc({ name: this.name });
		this.addAfter(key, delayMs);
		return delayMs;
	}

	/** The key's failures are past. */
	forget(key: string): void {
		this.#failures.delete(key);
	}

	/** The next key, or undefined when the queue is stopped. Each key must be given back with {@link done}. */
	async take(): Promise<string | undefined> {
		const key = this.#next();
		if (key !== undefined || this.#stopped) return key;
		return new Promise((resolve) => this.#idle.push(resolve));
	}

	done(key: string): void {
		const takenMs = this.#processing.get(key);
		if (takenMs === undefined) return;
		const workSeconds = (performance.now() - takenMs) / 1000;
		metrics.workSeconds.observe({ name: this.name }, workSeconds);
		this.#processing.delete(key);
		if (this.#again.delete(key)) this.add(key);
	}

	/** Takes nothing more in and drops what waits; what is being worked on ends as it will. */
	stop(): void {
		this.#stopped = true;
		this.#waiting.clear();
		for (const { timer } of this.#later.values()) clearTimeout(timer);
		this.#later.clear();
		for (const worker of this.#idle.splice(0)) worker(undefined);
	}

	#next(): string | undefined {
		const [first] = this.#waiting;
		if (!first) return undefined;
		const [key, addedMs] = first;
		const nowMs = performance.now();
		metrics.queueSeconds.observe({ name: this.name }, (nowMs - addedMs) / 1000);
		this.#waiting.delete(key);
		this.#processing.set(key, nowMs);
		return key;
	}
}

/** Timers take 31 bits of milliseconds and fire at once beyond; who is woken early just looks again. */
const longestTimerMs = 86_400_000;
