import { remember } from "../../packages/fair/recent.ts";
import { RequestError } from "../http/errors.ts";
import {
	RequestBucket,
	type RequestBucketOptions,
} from "../http/idempotency-store.ts";

/** A session's record lives as long as those of requests, which is twice as long. */
export const longestSessionMs = 12 * 60 * 60_000;
/** NATS may restart. Longer than that, nobody knows whether a session was ended elsewhere. */
const trustedMs = 60_000;
const mostTrusted = 10_000;

/** The sessions that visitors have ended, which all replicas share. Each method throws while NATS is away. */
export interface EndedSessions {
	add(id: string): Promise<void>;
	has(id: string): Promise<boolean>;
}

/** In the bucket of the API's own that forgets each entry after a day. No account has such a name. */
export class NatsEndedSessions implements EndedSessions {
	readonly #bucket: RequestBucket;

	constructor(options: RequestBucketOptions) {
		this.#bucket = new RequestBucket(options);
	}

	async add(id: string): Promise<void> {
		await this.#bucket.use((records) => records.put(keyOf(id), ""));
	}

	async has(id: string): Promise<boolean> {
		const found = await this.#bucket.use((records) => records.get(keyOf(id)));
		return found?.operation === "PUT";
	}
}

function keyOf(id: string): string {
	return `_sessions.${id}`;
}

/** Which sessions go on. */
export class LiveSessions {
	readonly #ended: EndedSessions;
	readonly #now: () => number;
	/** When it was last known that they go on. */
	readonly #seen = new Map<string, number>();

	constructor(ended: EndedSessions, now = Date.now) {
		this.#ended = ended;
		this.#now = now;
	}

	/** Throws a 503 if that can't be known: a session that was ended must not come back because NATS is away. */
	async has(id: string): Promise<boolean> {
		try {
			const hasEnded = await this.#ended.has(id);
			if (hasEnded) this.#seen.delete(id);
			else remember(this.#seen, id, this.#now(), mostTrusted);
			return !hasEnded;
		} catch {
			// The log of the NATS connection has the cause.
			const seen = this.#seen.get(id) ?? Number.NEGATIVE_INFINITY;
			if (this.#now() - seen < trustedMs) return true;
			throw new RequestError(
				"Unavailable",
				"Nobody knows whether this session was ended, because NATS does not answer. Retry the request. Programs, which send a token, are answered.",
				{ headers: { "retry-after": "2" } },
			);
		}
	}

	async end(id: string): Promise<void> {
		this.#seen.delete(id);
		await this.#ended.add(id);
	}
}
