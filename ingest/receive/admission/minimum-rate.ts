/** A body that is being read. */
export interface ReadBody {
	/** Received so far. */
	readonly bytes: number;
	/** It arrives too slowly. It must end by itself then. */
	tooSlow(): void;
}

/**
 * 1 KiB/s, far less than any network has. A body that brings less in a whole period is refused: a sender must not hold
 * memory by sending most of a body and then a byte at a time.
 */
const periodMs = 5_000;
const minBytesPerPeriod = 5 * 1024;

/** Its place in the list, and what it had when the period began; undefined for a body that began later. */
interface Entry {
	body: ReadBody;
	at: number;
	bytesBefore: number | undefined;
}

/** Ends bodies that arrive slower than 1 KiB/s, after 5 to 10 s. */
export class MinimumRate {
	/** Not a Set, for the reason that {@link file://./concurrency-limit.ts ConcurrencyLimit} gives for its waiters. */
	readonly #entries: Entry[] = [];
	#periodSinceMs = 0;

	/** Watches a body. Call what it returns once, when the body has ended. */
	watch(body: ReadBody): () => void {
		const entries = this.#entries;
		const entry: Entry = { body, at: entries.length, bytesBefore: undefined };
		entries.push(entry);
		return () => {
			const last = entries.pop()!;
			if (last === entry) return;
			entries[entry.at] = last;
			last.at = entry.at;
		};
	}

	/** Call it a few times a second, after the input that is waiting has been read, with a clock that never jumps. */
	tick(nowMs: number): void {
		if (nowMs - this.#periodSinceMs < periodMs) return;
		this.#periodSinceMs = nowMs;
		for (const { body } of this.#entries.filter(isTooSlow)) body.tooSlow();
		for (const entry of this.#entries) entry.bytesBefore = entry.body.bytes;
	}
}

function isTooSlow({ body, bytesBefore }: Entry): boolean {
	return (
		bytesBefore !== undefined && body.bytes - bytesBefore < minBytesPerPeriod
	);
}
