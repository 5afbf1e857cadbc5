import type { Logger } from "../../../service/log.ts";
import type { ShardBacklog } from "../../../service/metrics/backlog.ts";
import { pause } from "../../../service/pause.ts";

/** As the alert TidemillBufferFills has it. */
const fillingShare = 0.6;
/** Lower, so that a shard at the edge doesn't change the status of all its Sources again and again. */
const calmShare = 0.4;
const readEveryMs = 15_000;

/** Which shards' buffers in NATS fill, as last read. */
export class ShardBacklogs {
	readonly #read: () => Promise<ShardBacklog[]>;
	readonly #log: Logger;
	readonly #filling = new Set<number>();
	readonly #handlers: ((shard: number) => void)[] = [];

	constructor(read: () => Promise<ShardBacklog[]>, log: Logger) {
		this.#read = read;
		this.#log = log;
	}

	isFilling(shard: number): boolean {
		return this.#filling.has(shard);
	}

	/** Called when a shard's buffer begins to fill, and when it has room again. */
	onChange(handler: (shard: number) => void): void {
		this.#handlers.push(handler);
	}

	/** Reads again and again until the signal. Never throws: while NATS doesn't answer, what it said last stands. */
	async run(signal: AbortSignal): Promise<void> {
		while (!signal.aborted) {
			try {
				for (const backlog of await this.#read()) this.take(backlog);
			} catch (error) {
				this.#log.debug({ err: error }, "the shards' backlogs can't be read");
			}
			await pause(readEveryMs, signal);
		}
	}

	take({ shard, bytes, limitBytes }: ShardBacklog): void {
		if (limitBytes === undefined) return;
		const was = this.isFilling(shard);
		const share = bytes / limitBytes;
		const is = share > (was ? calmShare : fillingShare);
		if (is === was) return;
		if (is) this.#filling.add(shard);
		else this.#filling.delete(shard);
		for (const handler of this.#handlers) handler(shard);
	}
}
