import { hash } from "node:crypto";
import {
	DiscardPolicy,
	jetstreamManager,
	StorageType,
} from "@nats-io/jetstream";
import { headers, type NatsConnection } from "@nats-io/transport-node";
import { rates } from "../../packages/contracts/nats.ts";
import type { SharedCounter } from "./rate-limit.ts";

/** Longer than any window of the rate limit. */
const counterTtlMs = 10 * 60_000;
const maxBytes = 64 * 1024 * 1024;
const nanosecondsPerMs = 1_000_000;

/** Counts requests in a JetStream counter, which all replicas share. */
export class NatsRateCounter implements SharedCounter {
	readonly #connection: () => NatsConnection;
	readonly #replicas: number;
	readonly #timeoutMs: number;

	constructor({
		connection,
		replicas,
		timeoutMs = 250,
	}: {
		/** Throws while there is no connection. */
		connection: () => NatsConnection;
		replicas: number;
		/** No request waits longer for its count. */
		timeoutMs?: number;
	}) {
		this.#connection = connection;
		this.#replicas = replicas;
		this.#timeoutMs = timeoutMs;
	}

	async add(
		window: number,
		subject: string,
		requests: number,
	): Promise<number> {
		// Hashed, because callers choose the characters and length of their user names.
		const digest = hash("sha256", subject);
		const address = rates.subject(window, digest.slice(0, 32));
		try {
			return await this.#increment(address, requests);
		} catch {
			// The stream may not exist: on first use, or after NATS has lost its storage.
			await this.#createStream();
			return await this.#increment(address, requests);
		}
	}

	/** ADR-49: the acknowledgement contains the counter's new value. */
	async #increment(address: string, by: number): Promise<number> {
		const increment = headers();
		increment.set("Nats-Incr", `+${by}`);
		const answer = await this.#connection().request(address, "", {
			headers: increment,
			timeout: this.#timeoutMs,
		});
		const { val } = answer.json<{ val?: string }>();
		if (val === undefined) throw new Error(`no counter: ${answer.string()}`);
		return Number(val);
	}

	async #createStream(): Promise<void> {
		const manager = await jetstreamManager(this.#connection(), {
			checkAPI: false,
			timeout: this.#timeoutMs,
		});
		await manager.streams.add({
			name: rates.stream,
			subjects: [rates.subject("*", "*")],
			allow_msg_counter: true,
			// In memory: every request writes it, and a lost count does no harm.
			storage: StorageType.Memory,
			max_msgs_per_subject: 1,
			max_age: counterTtlMs * nanosecondsPerMs,
			max_bytes: maxBytes,
			discard: DiscardPolicy.Old,
			num_replicas: this.#replicas,
		});
	}
}
