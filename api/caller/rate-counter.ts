import { hash } from "node:crypto";
import { headers, type NatsConnection } from "@nats-io/transport-node";
import { rates } from "../../packages/contracts/nats.ts";
import { haveMade } from "../../packages/streams/made-streams.ts";
import type { SharedCounter } from "./rate-limit.ts";

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
			await haveMade(
				this.#connection(),
				rates.stream,
				this.#replicas,
				this.#timeoutMs,
			);
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
}
