import { TokenBucket } from "../../fair/token-bucket.ts";
import { type BackoffOptions, backoffMs } from "../../service/pause.ts";
import { measureQueue, metrics } from "../metrics.ts";

/**
 * Keys, `namespace/name`, that need work. A waiting key is queued once, however often it is added. A key that is added while
 * a worker has it is queued again when the worker is done, so no key is in work twice at once (as client-go's workqueue).
 * Namespaces take turns: however many keys of one wait, a key of another waits for one key of each.
 */
export class WorkQueue {
	readonly name: string;
	readonly #backoff: BackoffOptions;
	/** Bounds the retries of a namespace's keys together. */
	readonly #retries = new Map<string, TokenBucket>();
	/** By namespace, in their order: when each key was added, in order. */
	readonly #waiting = new Map<string, Map<string, number>>();
	/** When each key was taken. */
	readonly #processing = new Map<string, number>();
	/** Added while being processed. */
	readonly #again = new Set<string>();
	readonly #later = new Map<string, { dueMs: number; timer: NodeJS.Timeout }>();
	readonly #failures = new Map<string, number>();
	readonly #idle: ((key: string | undefined) => void)[] = [];
	#stopped = false;

	/** @param name for metrics. */
	constructor(
		name: string,
		backoff: BackoffOptions = { baseMs: 5, maxMs: 300_000 },
	) {
		this.name = name;
		this.#backoff = backoff;
		measureQueue(this);
	}

	/** How many keys are waiting. */
	get length(): number {
		let length = 0;
		for (const keys of this.#waiting.values()) length += keys.size;
		return length;
	}

	/** Whether fewer than `most` keys wait, or fewer of the namespace than its share of them. */
	hasRoom(namespace: string, most: number): boolean {
		if (this.length < most) return true;
		const { size = 0 } = this.#waiting.get(namespace) ?? {};
		return size < most / (this.#waiting.size + (size === 0 ? 1 : 0));
	}

	/** For each key in work, for how long, in milliseconds. */
	get workingMs(): number[] {
		const nowMs = performance.now();
		return Array.from(this.#processing.values(), (sinceMs) => nowMs - sinceMs);
	}

	add(key: string): void {
		const namespace = namespaceOf(key);
		const keys = this.#waiting.get(namespace) ?? new Map<string, number>();
		if (this.#stopped || keys.has(key)) return;
		if (this.#processing.has(key)) {
			this.#again.add(key);
			return;
		}
		metrics.queueAdds.inc({ name: this.name });
		keys.set(key, performance.now());
		this.#waiting.set(namespace, keys);
		const worker = this.#idle.shift();
		if (worker) worker(this.#next());
	}

	/** Adds the key after the delay. The earliest of several delays counts. */
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

	/** Counts a failure of the key and adds it after its backoff. Returns the wait in milliseconds. */
	addAfterFailure(key: string): number {
		const failures = (this.#failures.get(key) ?? 0) + 1;
		this.#failures.set(key, failures);
		const delayMs = Math.max(
			backoffMs(failures, this.#backoff),
			this.#retriesOf(key).reserve(performance.now()),
		);
		metrics.queueRetries.inc({ name: this.name });
		this.addAfter(key, delayMs);
		return delayMs;
	}

	/** Resets the key's backoff. */
	forget(key: string): void {
		this.#failures.delete(key);
	}

	/** Waits for the next key; undefined once the queue has stopped. Return each key with {@link done}. */
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

	/** Drops waiting keys and accepts no more. Keys in work are left to finish. */
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
		const [namespace, keys] = first;
		const [[key, addedMs] = ["", 0]] = keys;
		const nowMs = performance.now();
		metrics.queueSeconds.observe({ name: this.name }, (nowMs - addedMs) / 1000);
		keys.delete(key);
		// Behind the other namespaces.
		this.#waiting.delete(namespace);
		if (keys.size > 0) this.#waiting.set(namespace, keys);
		this.#processing.set(key, nowMs);
		return key;
	}

	#retriesOf(key: string): TokenBucket {
		const namespace = namespaceOf(key);
		const retries =
			this.#retries.get(namespace) ??
			new TokenBucket({ perSecond: 10, burst: 100 });
		this.#retries.set(namespace, retries);
		return retries;
	}
}

/** A timer holds 31 bits of milliseconds and fires at once beyond that. An early wake-up costs only another look. */
const longestTimerMs = 86_400_000;

function namespaceOf(key: string): string {
	return key.slice(0, key.indexOf("/"));
}
