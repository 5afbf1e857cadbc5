import { randomBytes } from "node:crypto";
import { StorageType } from "@nats-io/jetstream";
import { type KV, Kvm } from "@nats-io/kv";
import type { NatsConnection } from "@nats-io/transport-node";
import { bucket, streamName } from "../../../contracts/nats.ts";
import { isConflict } from "../../../service/nats.ts";

/**
 * The name of a shard's stream before there is the stream, so that archivers that miss it at the same time make the same
 * one. Two streams of one subject that are made at the same time both come to nats-server's disk (seen with 2.15.2):
 * it refuses the second, and when it starts again, it may recover that one in place of the first, and stays unhealthy.
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

	/** The same for all who ask, until it is used; with an epoch that no stream had before. */
	async get(): Promise<string> {
		for (;;) {
			const standing = await this.#standing();
			if (standing) return standing.name;
			const name = streamName(this.#shard, randomBytes(8).toString("hex"));
			try {
				await this.#kv.create(this.#key, name);
				return name;
			} catch (error) {
				if (!isConflict(error)) throw error;
			}
		}
	}

	/** There is a stream of this name: the one after it gets another. */
	async use(name: string): Promise<void> {
		const standing = await this.#standing();
		if (standing?.name !== name) return;
		try {
			await this.#kv.delete(this.#key, { previousSeq: standing.revision });
		} catch (error) {
			if (!isConflict(error)) throw error;
		}
	}

	async #standing(): Promise<{ name: string; revision: number } | undefined> {
		const entry = await this.#kv.get(this.#key);
		return entry?.operation === "PUT"
			? { name: entry.string(), revision: entry.revision }
			: undefined;
	}
}
