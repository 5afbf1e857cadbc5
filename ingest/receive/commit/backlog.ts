interface StoredEvent {
	account: string;
	bytes: number;
}

/** What a stream holds and can hold. */
export interface StreamFill {
	stream: string;
	/** Less than 0 when its limit was lowered; Infinity without a limit. */
	freeBytes: number;
	firstSequence: number;
	lastSequence: number;
}

/** What was stored between two looks at the stream. */
interface Segment {
	/** The last that can be in it. */
	lastSequence: number;
	bytes: Map<string, number>;
}

/** Beyond this many, the oldest are joined, so that an archive that is away for days costs no memory. */
const maxSegments = 1_000;

/** An account alone may fill four fifths of a stream. */
const maxTimesFree = 4;

/**
 * Keeps a flood into one account's Sources from filling the stream for all while archive is behind. Of what this receiver
 * has stored and archive hasn't taken yet, an account may have four times what is still free in the stream (the dynamic
 * threshold of Choudhury and Hahne, IEEE/ACM Transactions on Networking 6(2), 1998), so something is always free for the others.
 * Each receiver counts what it stored itself: n receivers together leave an account's flood at most 4n times what is free.
 */
export class Backlog {
	#stream: string | undefined;
	#freeBytes = Infinity;
	#isRefusing = false;
	#segments: Segment[] = [];
	#latest = new Map<string, number>();
	/** The sum of all segments. */
	readonly #bytes = new Map<string, number>();

	/** Whether an account was refused since the stream was last looked at. */
	get isRefusing(): boolean {
		return this.#isRefusing;
	}

	hasRoomFor(account: string): boolean {
		const bytes = this.#bytes.get(account);
		if (!bytes || bytes <= maxTimesFree * this.#freeBytes) return true;
		this.#isRefusing = true;
		return false;
	}

	/** These events are in the stream now. */
	stored(events: readonly StoredEvent[]): void {
		for (const { account, bytes } of events) {
			add(this.#latest, account, bytes);
			add(this.#bytes, account, bytes);
			this.#freeBytes -= bytes;
		}
	}

	/** The stream was looked at. What archive has taken is gone from its beginning. */
	inspected(fill: StreamFill): void {
		if (fill.stream !== this.#stream) this.#clear();
		this.#stream = fill.stream;
		this.#freeBytes = fill.freeBytes;
		this.#isRefusing = false;
		if (this.#latest.size > 0) {
			const { lastSequence } = fill;
			this.#segments.push({ lastSequence, bytes: this.#latest });
			this.#latest = new Map();
		}
		while (
			this.#segments[0] &&
			this.#segments[0].lastSequence < fill.firstSequence
		)
			for (const [account, bytes] of this.#segments.shift()!.bytes)
				add(this.#bytes, account, -bytes);
		if (this.#segments.length > maxSegments) {
			const [oldest, next] = this.#segments.splice(0, 2);
			for (const [account, bytes] of oldest!.bytes)
				add(next!.bytes, account, bytes);
			this.#segments.unshift(next!);
		}
	}

	#clear(): void {
		this.#segments = [];
		this.#latest.clear();
		this.#bytes.clear();
	}
}

function add(sums: Map<string, number>, account: string, bytes: number): void {
	const sum = (sums.get(account) ?? 0) + bytes;
	if (sum === 0) sums.delete(account);
	else sums.set(account, sum);
}
