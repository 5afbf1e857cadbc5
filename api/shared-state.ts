import { hash } from "node:crypto";
import {
	DiscardPolicy,
	jetstreamManager,
	StorageType,
} from "@nats-io/jetstream";
// @nats-io/kv: the NATS makers' own key-value API.
import { type KV, Kvm } from "@nats-io/kv";
import { headers, type NatsConnection } from "@nats-io/transport-node";
import { bucket, rates } from "../contracts/nats.ts";
import type { SharedCounter } from "./caller/rate-limit.ts";
import type { KeptRequest, RequestStore } from "./once/request-keys.ts";

const storeTimeoutMs = 2_000;
const requestTtlMs = 24 * 60 * 60_000;
/** Longer than any window of the rate limit. */
const counterTtlMs = 10 * 60_000;
const counterMaxBytes = 64 * 1024 * 1024;
const nanosecondsPerMs = 1_000_000;

/** What the API's replicas share, in NATS. Everything throws at once as long as there is no connection. */
export class SharedState implements SharedCounter, RequestStore {
	readonly #replicas: number;
	readonly #counterTimeoutMs: number;
	#nats: NatsConnection | undefined;
	#requests: KV | undefined;

	/** @param counterTimeoutMs no request waits longer for its count. */
	constructor({
		replicas,
		counterTimeoutMs = 250,
	}: {
		replicas: number;
		counterTimeoutMs?: number;
	}) {
		this.#replicas = replicas;
		this.#counterTimeoutMs = counterTimeoutMs;
	}

	/** From now on there is a connection. */
	connected(nats: NatsConnection): void {
		this.#nats = nats;
	}

	async add(
		window: number,
		subject: string,
		requests: number,
	): Promise<number> {
		// Whoever asks can't choose the subject's characters or length.
		const digest = hash("sha256", subject);
		const address = rates.subject(window, digest.slice(0, 32));
		try {
			return await this.#increment(address, requests);
		} catch {
			// There is no stream yet, or NATS was built anew.
			await this.#createCounters();
			return await this.#increment(address, requests);
		}
	}

	async keep(key: string, request: KeptRequest): Promise<KeptRequest> {
		return this.#inRequests(async (requests) => {
			const kept = await requests.get(key);
			if (kept?.operation === "PUT") return kept.json<KeptRequest>();
			try {
				await requests.create(key, JSON.stringify(request));
				return request;
			} catch (refusal) {
				// The same request has come to another replica meanwhile.
				const twin = await requests.get(key);
				if (twin?.operation === "PUT") return twin.json<KeptRequest>();
				throw refusal;
			}
		});
	}

	async finish(key: string, request: KeptRequest): Promise<void> {
		await this.#inRequests((requests) =>
			requests.put(key, JSON.stringify(request)),
		);
	}

	/** ADR-49: the acknowledgement has the counter's new value. */
	async #increment(address: string, by: number): Promise<number> {
		const increment = headers();
		increment.set("Nats-Incr", `+${by}`);
		const answer = await this.#connection().request(address, "", {
			headers: increment,
			timeout: this.#counterTimeoutMs,
		});
		const { val } = answer.json<{ val?: string }>();
		if (val === undefined) throw new Error(`no counter: ${answer.string()}`);
		return Number(val);
	}

	async #createCounters(): Promise<void> {
		const manager = await jetstreamManager(this.#connection(), {
			checkAPI: false,
			timeout: this.#counterTimeoutMs,
		});
		await manager.streams.add({
			name: rates.stream,
			subjects: [rates.subject("*", "*")],
			allow_msg_counter: true,
			// It is written with every request, and a lost count harms nobody.
			storage: StorageType.Memory,
			max_msgs_per_subject: 1,
			max_age: counterTtlMs * nanosecondsPerMs,
			max_bytes: counterMaxBytes,
			discard: DiscardPolicy.Old,
			num_replicas: this.#replicas,
		});
	}

	async #inRequests<T>(use: (requests: KV) => Promise<T>): Promise<T> {
		try {
			this.#requests ??= await this.#openRequests();
			return await use(this.#requests);
		} catch (error) {
			// NATS may have been built anew, without the bucket: the next one makes it.
			this.#requests = undefined;
			throw error;
		}
	}

	async #openRequests(): Promise<KV> {
		const manager = await jetstreamManager(this.#connection(), {
			timeout: storeTimeoutMs,
		});
		return new Kvm(manager.jetstream()).create(bucket.requests, {
			history: 1,
			ttl: requestTtlMs,
			replicas: this.#replicas,
		});
	}

	#connection(): NatsConnection {
		if (!this.#nats || this.#nats.isClosed())
			throw new Error("there is no connection to NATS yet");
		return this.#nats;
	}
}
