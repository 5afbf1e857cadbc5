import { type Backoff, backoffMs } from "./backoff.ts";

/**
 * Keys that need work. A key that is added while it waits is there once; one that is added while it is worked on comes
 * again after that, so no key is ever worked on twice at the same time (as client-go's workqueue).
 */
export class WorkQueue {
	readonly #backoff: Backoff;
	/** In the order of their turn. */
	readonly #waiting = new Set<string>();
	readonly #processing = new Set<string>();
	/** Added while being processed. */
	readonly #again = new Set<string>();
	readonly #later = new Map<string, { dueMs: number; timer: NodeJS.Timeout }>();
	readonly #failures = new Map<string, number>();
	readonly #idle: ((key: string | undefined) => void)[] = [];
	#stopped = false;

	constructor(backoff: Backoff = { baseMs: 5, maxMs: 300_000 }) {
		this.#backoff = backoff;
	}

	/** Keys that wait for their turn now. */
	get length(): number {
		return this.#waiting.size;
	}

	add(key: string): void {
		if (this.#stopped) return;
		if (this.#processing.has(key)) {
			this.#again.add(key);
			return;
		}
		const worker = this.#waiting.has(key) ? undefined : this.#idle.shift();
		if (worker) {
			this.#processing.add(key);
			worker(key);
		} else this.#waiting.add(key);
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
		const delayMs = backoffMs(failures, this.#backoff);
		this.addAfter(key, delayMs);
		return delayMs;
	}

	/** The key's failures are past. */
	forget(key: string): void {
		this.#failures.delete(key);
	}

	/** The next key, or undefined when the queue is stopped. Each key must be given back with {@link done}. */
	async take(): Promise<string | undefined> {
		const [key] = this.#waiting;
		if (key !== undefined) {
			this.#waiting.delete(key);
			this.#processing.add(key);
			return key;
		}
		if (this.#stopped) return undefined;
		return new Promise((resolve) => this.#idle.push(resolve));
	}

	done(key: string): void {
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
}

/** Timers take 31 bits of milliseconds and fire at once beyond; who is woken early just looks again. */
const longestTimerMs = 86_400_000;
