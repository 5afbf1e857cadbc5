import { maxFrameBytes } from "../../packages/contracts/nats.ts";
import type {
	ShardBacklog,
	ShardReading,
} from "../../packages/service/backlog-metrics.ts";
import type { Logger } from "../../packages/service/log.ts";
import { pause } from "../../packages/service/pause.ts";

/** As the alert TidemillBufferFills has it. */
const fillingShare = 0.6;
/** Lower, so that a shard at the edge doesn't change the status of all its Sources again and again. */
const calmShare = 0.4;
/** What a full one must have free again, for the same reason. */
const roomyShare = 0.2;
/** As the alert TidemillArchiveLags has it, and lower once it was so. */
const laggingSeconds = 300;
const promptSeconds = 60;
const readEveryMs = 15_000;

/** Which shards' buffers in NATS fill, and whose events wait too long for the bucket, as last read. */
export class ShardBacklogs {
	readonly #read: () => Promise<ShardReading[]>;
	readonly #log: Logger;
	readonly #filling = new Map<number, boolean>();
	readonly #full = new Map<number, boolean>();
	readonly #lagging = new Map<number, boolean>();
	/** Shards that didn't answer the last time. */
	readonly #silent = new Set<number>();
	readonly #handlers: ((shard: number) => void)[] = [];

	constructor(read: () => Promise<ShardReading[]>, log: Logger) {
		this.#read = read;
		this.#log = log;
	}

	/** Whether the shard's buffer fills; undefined before it was read. */
	fills(shard: number): boolean | undefined {
		return this.#filling.get(shard);
	}

	/** Whether the shard's buffer is full, so that senders get 503; undefined before it was read. */
	isFull(shard: number): boolean | undefined {
		return this.#full.get(shard);
	}

	/** The shards whose buffer is full. */
	get full(): number[] {
		return [...this.#full].flatMap(([shard, isFull]) => (isFull ? shard : []));
	}

	/** Those of the shards whose events wait too long for the bucket; undefined before all were read. */
	laggingOf(shards: readonly number[]): number[] | undefined {
		if (!shards.every((shard) => this.#lagging.has(shard))) return undefined;
		return shards.filter((shard) => this.#lagging.get(shard));
	}

	/** Whether new Sources keep off the shard: its buffer fills, or it doesn't answer. */
	isFilling(shard: number): boolean {
		return this.#silent.has(shard) || this.#filling.get(shard) === true;
	}

	/** Whether one of so many shards takes new Sources. */
	isRoomIn(shards: number): boolean {
		return Array.from({ length: shards }, (_, n) => n).some(
			(shard) => !this.isFilling(shard),
		);
	}

	/** Called when a shard was read first, begins to fill or to lag, is full, has room again, is prompt again, is silent or answers again. */
	onChange(handler: (shard: number) => void): void {
		this.#handlers.push(handler);
	}

	/** Reads again and again until the signal. Never throws: while NATS doesn't answer, what it said last stands. */
	async run(signal: AbortSignal): Promise<void> {
		while (!signal.aborted) {
			await this.readOnce();
			await pause(readEveryMs, signal);
		}
	}

	async readOnce(): Promise<void> {
		let readings: ShardReading[];
		try {
			readings = await this.#read();
		} catch (err) {
			this.#log.debug({ err }, "the shards' backlogs can't be read");
			return;
		}
		for (const { shard, backlog, error } of readings) {
			if (backlog) this.take(shard, backlog);
			if ((error !== undefined) === this.#silent.has(shard)) continue;
			if (error === undefined) this.#silent.delete(shard);
			else {
				this.#silent.add(shard);
				this.#log.warn(
					{ err: error, shard },
					"the shard's stream doesn't answer",
				);
			}
			this.#changed(shard);
		}
	}

	take(shard: number, { bytes, limitBytes, lagSeconds }: ShardBacklog): void {
		const [filled, wasFull, lagged] = [
			this.#filling.get(shard),
			this.#full.get(shard),
			this.#lagging.get(shard),
		];
		// Its own limit, or the narrowest of NATS: then it may have no room with nothing in it.
		const limit = limitBytes ?? Infinity;
		const free = limit - bytes;
		const isFull =
			free <= 0 ||
			(free < limit * roomyShare &&
				(wasFull === true || free < leastRoom(limit)));
		const fills = isFull || bytes / limit > (filled ? calmShare : fillingShare);
		const lags = lagSeconds > (lagged ? promptSeconds : laggingSeconds);
		if (fills === filled && isFull === wasFull && lags === lagged) return;
		this.#filling.set(shard, fills);
		this.#full.set(shard, isFull);
		this.#lagging.set(shard, lags);
		this.#changed(shard);
	}

	#changed(shard: number): void {
		for (const handler of this.#handlers) handler(shard);
	}
}

/** Under load a frame may be as large as it can be. */
function leastRoom(limitBytes: number): number {
	return Math.min(maxFrameBytes, limitBytes / 20);
}
