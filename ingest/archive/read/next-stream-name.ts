import { randomBytes } from "node:crypto";
import { StorageType } from "@nats-io/jetstream";
import { type KV, Kvm } from "@nats-io/kv";
import type { NatsConnection } from "@nats-io/transport-node";
import { bucket, streamName } from "../../../packages/contracts/nats.ts";
import { isConflict } from "../../../packages/service/nats/connection.ts";

/**
 * The name of a shard's next stream. Archivers that create it at the same time agree on the name first: nats-server 2.15.2
 * writes both of two streams with one subject to disk. It refuses the second, but after a restart it may recover that one
 * instead of the first, and stays unhealthy.
 */
export class NextStreamName {
	readonly #kv: KV;
	readonly #key: string;
	readonly #shard: number;

	private constructor(kv: KV, shard: number) {
		this.#kv = kv;
		this.#key = `next-stream.${shard}`;
		this.#shard = shard;
	}

	static async open(
		connection: NatsConnection,
		shard: number,
		replicas: number,
	): Promise<NextStreamName> {
		const kv = await new Kvm(connection).create(bucket.objectsDone, {
			replicas,
			history: 1,
			storage: StorageType.File,
		});
		return new NextStreamName(kv, shard);
	}

	/** The same name for all callers until it is used. Its epoch is new. */
	async get(): Promise<string> {
		for (;;) {
			const current = await this.#current();
			if (current) return current.name;
			const name = streamName(this.#shard, randomBytes(8).toString("hex"));
			try {
				await this.#kv.create(this.#key, name);
				return name;
			} catch (error) {
				if (!isConflict(error)) throw error;
			}
		}
	}

	/** A stream of this name exists now, so the next stream gets another name. */
	async use(name: string): Promise<void> {
		const current = await this.#current();
		if (current?.name !== name) return;
		try {
			await this.#kv.delete(this.#key, { previousSeq: current.revision });
		} catch (error) {
			if (!isConflict(error)) throw error;
		}
	}

	async #current(): Promise<{ name: string; revision: number } | undefined> {
		const entry = await this.#kv.get(this.#key);
		return entry?.operation === "PUT"
			? { name: entry.string(), revision: entry.revision }
			: undefined;
	}
}
