import { randomUUID } from "node:crypto";
import type { Gauge } from "prom-client";
import type { Logger } from "../../packages/service/log.ts";
import {
	isNoRoom,
	natsReason,
} from "../../packages/service/nats/connection.ts";
import { backoffMs, pause } from "../../packages/service/pause.ts";
import {
	type BucketMark,
	judgeBucket,
	type KnownBucket,
	refusalOf,
} from "./decide/bucket-verdict.ts";
import type { BucketMarks } from "./write/bucket-marks.ts";
import type { NatsProgress } from "./write/nats-progress.ts";

type BucketProgress = Pick<NatsProgress, "bucket" | "noteBucket">;

export interface BucketGuardOptions {
	marks: BucketMarks;
	progress: () => Promise<BucketProgress>;
	/** Names the bucket and the folder. */
	place: string;
	metrics: { bucketRefused: Pick<Gauge, "set"> };
	log: Logger;
	pollMs?: number;
	/** How often the number grows. A copy that is older by more than that is found, in any case. */
	growEveryMs?: number;
}

/** The bucket isn't the one any more that this process began with, so all that it remembers may be wrong. */
export class BucketChanged extends Error {
	override name = "BucketChanged";
}

/** Of NATS, while nothing happens; and of both while the bucket is refused. */
const pollMs = 10_000;
/** $0.14 a year on S3. A copy that is newer is told apart by the cut records that it lacks. */
const growEveryMs = 3_600_000;
const backoff = { baseMs: 200, maxMs: 10_000 };

/**
 * Lets archive work on the bucket that NATS knows, and on no other: neither an older copy nor another one, until a person has
 * accepted it. See docs/decisions/0053-a-bucket-has-an-id-and-a-number.md.
 */
export class BucketGuard {
	readonly #options: BucketGuardOptions;
	#notReady: string | undefined = "the bucket isn't looked at yet";
	#isRefused = false;
	#opened: BucketProgress | undefined;

	constructor(options: BucketGuardOptions) {
		this.#options = options;
	}

	/** Why archive doesn't use the bucket; undefined if it does. */
	get notReady(): string | undefined {
		return this.#notReady;
	}

	/** Whether a person must act. */
	get isRefused(): boolean {
		return this.#isRefused;
	}

	/**
	 * Does the work once the bucket is archive's. Throws {@link BucketChanged} when it is no longer, or a person has accepted another state
	 * of it: then the process must begin anew.
	 */
	async whileAccepted(
		signal: AbortSignal,
		work: () => Promise<unknown>,
	): Promise<void> {
		const begun = await this.#untilAccepted(signal);
		if (begun) await Promise.all([work(), this.#keep(begun, signal)]);
	}

	async #untilAccepted(signal: AbortSignal): Promise<KnownBucket | undefined> {
		const { place, log } = this.#options;
		for (let failures = 0; !signal.aborted; ) {
			try {
				const { mark, refusal } = await this.#judge();
				this.#tell(refusal);
				if (mark) {
					log.info({ bucket: mark.id, number: mark.number }, `uses ${place}`);
					return mark;
				}
				failures = 0;
				await pause(this.#options.pollMs ?? pollMs, signal);
			} catch (error) {
				if (signal.aborted) break;
				this.#opened = undefined;
				this.#notReady = natsReason(error);
				log.warn({ reason: this.#notReady }, "can't look at the bucket");
				await pause(backoffMs(++failures, backoff), signal);
			}
		}
		return undefined;
	}

	/** Raises the number, and notices what changes meanwhile. */
	async #keep(begun: KnownBucket, signal: AbortSignal): Promise<void> {
		const { marks, log } = this.#options;
		const dueMs = this.#options.growEveryMs ?? growEveryMs;
		let { number } = begun;
		let lookedMs = performance.now();
		for (;;) {
			await pause(this.#options.pollMs ?? pollMs, signal);
			if (signal.aborted) return;
			try {
				const known = await (await this.#progress()).bucket();
				if (known?.accepted !== undefined && known.accepted !== begun.accepted)
					this.#end("a person has accepted another state of the bucket");
				const isDue = performance.now() - lookedMs >= dueMs;
				// A NATS that doesn't know the bucket had no room.
				if (known && !isDue) continue;
				const { mark, refusal } = await this.#judge();
				if (refusal !== undefined) this.#end(refusal);
				// Another archive may have raised it meanwhile.
				if (mark!.number === number) {
					if (!isDue) continue;
					const next = { id: mark!.id, number: number + 1 };
					if (await marks.write(next)) await this.#note(next);
				}
				number = Math.max(mark!.number, number + 1);
				lookedMs = performance.now();
			} catch (error) {
				if (error instanceof BucketChanged) throw error;
				if (signal.aborted) return;
				this.#opened = undefined;
				log.warn({ err: error }, "can't look at the bucket; trying again");
			}
		}
	}

	async #progress(): Promise<BucketProgress> {
		this.#opened ??= await this.#options.progress();
		return this.#opened;
	}

	#end(reason: string): never {
		this.#tell(reason);
		throw new BucketChanged(reason);
	}

	/** The bucket's mark if archive may use it, or why it may not. */
	async #judge(): Promise<{ mark?: KnownBucket; refusal?: string }> {
		const { marks, place } = this.#options;
		const known = await (await this.#progress()).bucket();
		const found = await marks.newest();
		const refusal = refusalOf(known, found, place);
		if (refusal !== undefined) return { refusal };
		if (judgeBucket(known, found) === "New") {
			await marks.write({ id: randomUUID(), number: 1 });
			return this.#judge();
		}
		const isNoted = await this.#note(found!);
		// Another archive may have told NATS of another bucket.
		if (!known && isNoted) return this.#judge();
		return { mark: { ...known, ...found! } };
	}

	/** Returns false if NATS has no room. What makes room must not wait for it. */
	async #note(mark: BucketMark): Promise<boolean> {
		try {
			await (await this.#progress()).noteBucket(mark);
			return true;
		} catch (error) {
			if (!isNoRoom(error)) throw error;
			return false;
		}
	}

	#tell(refusal: string | undefined): void {
		const { metrics, log } = this.#options;
		if (refusal !== undefined && refusal !== this.#notReady) log.error(refusal);
		this.#notReady = refusal;
		this.#isRefused = refusal !== undefined;
		metrics.bucketRefused.set(this.#isRefused ? 1 : 0);
	}
}
