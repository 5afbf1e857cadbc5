import type { S3Client } from "@aws-sdk/client-s3";

/** One try of a request: the SDK repeats some. */
export interface StoreRequest {
	/** S3's name of it, such as PutObject. */
	operation: string;
	/** Of HTTP; 0 if no answer came. */
	status: number;
	/** Until the head of the answer, or until it was given up. */
	seconds: number;
}

/** A PUT of 16 MiB takes as long at 0.8 MB/s. */
const silentMs = 20_000;
/** Longer than a shard waits until it tries again. After that, silence may be want of work. */
const rememberedMs = 120_000;

/** What the requests to a bucket come to, and whether it answers at all. */
export class StoreRequests {
	readonly #tell: (request: StoreRequest) => void;
	#waiting = 0;
	/** Since the oldest request that waits or failed after the last answer. */
	#silentSinceMs: number | undefined;
	#failedMs = Number.NEGATIVE_INFINITY;

	/** @param tell learns each try. */
	constructor(tell: (request: StoreRequest) => void = () => {}) {
		this.#tell = tell;
	}

	/** Why the bucket can't be used, while it leaves requests without an answer. @param nowMs of performance.now(). */
	notReady(nowMs = performance.now()): string | undefined {
		const isRecent = this.#waiting > 0 || nowMs - this.#failedMs < rememberedMs;
		const forMs = isRecent ? nowMs - (this.#silentSinceMs ?? nowMs) : 0;
		return forMs < silentMs
			? undefined
			: `the bucket's server hasn't answered for ${Math.round(forMs / 1_000)} s; see its address, and the network between`;
	}

	/** Sends one try. What the process itself gives up, as when it stops, isn't told. */
	async send<R extends { response: unknown }>(
		operation: string,
		send: () => Promise<R>,
	): Promise<R> {
		const startMs = performance.now();
		const tell = (status: number) =>
			this.#tell({
				operation,
				status,
				seconds: (performance.now() - startMs) / 1_000,
			});
		const isForgotten =
			this.#waiting === 0 && startMs - this.#failedMs >= rememberedMs;
		this.#silentSinceMs = isForgotten
			? startMs
			: (this.#silentSinceMs ?? startMs);
		this.#waiting++;
		try {
			const result = await send();
			this.#waiting--;
			this.#silentSinceMs = this.#waiting > 0 ? performance.now() : undefined;
			tell((result.response as { statusCode?: number }).statusCode ?? 0);
			return result;
		} catch (error) {
			this.#waiting--;
			if ((error as Error).name === "AbortError") throw error;
			this.#failedMs = performance.now();
			tell(0);
			throw error;
		}
	}

	/**
	 * Takes part in each request of the client, closest to the network of the SDK's middlewares, so that it sees what the SDK makes an error of, or
	 * repeats (AWS SDK for JavaScript v3, "Middleware stack").
	 */
	observe(client: S3Client): void {
		client.middlewareStack.add(
			(next, { commandName = "" }) =>
				(args) =>
					this.send(commandName.replace(/Command$/, ""), () => next(args)),
			{ step: "deserialize", priority: "low", name: "observeRequests" },
		);
	}
}
