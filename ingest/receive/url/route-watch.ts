import { setTimeout as delay } from "node:timers/promises";
// @nats-io/kv: the NATS makers' own key-value client.
import { type KV, Kvm, type KvWatchEntry } from "@nats-io/kv";
import type { NatsConnection, QueuedIterator } from "@nats-io/transport-node";
import { bucket } from "../../../contracts/nats.ts";
import type { Logger } from "../../../service/log.ts";
import type { RouteTable } from "./route-table.ts";

const compareEveryMs = 5_000;
const retryDelayMs = 500;

/**
 * Keeps a route table in step with the bucket that operator writes, and waits until the bucket exists. It reads the whole
 * bucket again after {@link readAgain}, and when the bucket changed but the watch heard nothing: a recreated bucket starts
 * at revision 1, and a watch of the old one stays silent.
 */
export class RouteWatch {
	readonly #connection: NatsConnection;
	readonly #table: RouteTable;
	readonly #log: Logger;
	#watch: QueuedIterator<KvWatchEntry> | undefined;

	constructor(connection: NatsConnection, table: RouteTable, log: Logger) {
		this.#connection = connection;
		this.#table = table;
		this.#log = log;
	}

	/** Call it after a reconnect: the server may have dropped the watch. */
	readAgain(): void {
		this.#watch?.stop();
	}

	/** Watches until the signal fires. */
	async run(signal: AbortSignal): Promise<void> {
		signal.addEventListener("abort", () => this.#watch?.stop());
		const kv = await new Kvm(this.#connection).open(bucket.routes);
		while (!signal.aborted) {
			try {
				await this.#readAndFollow(kv);
			} catch (error) {
				this.#log.debug(
					{ err: error },
					"failed to watch the routes bucket; trying again",
				);
				await delay(retryDelayMs);
			}
		}
	}

	/** Returns when the bucket must be read again. */
	async #readAndFollow(kv: KV): Promise<void> {
		const { values, streamInfo } = await kv.status();
		const watch = await kv.watch();
		this.#watch = watch;
		let revision = streamInfo.state.last_seq;
		const comparing = setInterval(async () => {
			const heard = revision;
			const now = await kv.status().catch(() => undefined);
			if (!now) return;
			const { created, state } = now.streamInfo;
			const isSame = created === streamInfo.created;
			// The watch may be about to deliver the latest write.
			if (isSame && state.last_seq > heard) await delay(retryDelayMs);
			if (isSame && state.last_seq <= revision) this.#table.seenCurrent();
			else watch.stop();
		}, compareEveryMs);
		try {
			this.#table.begin();
			if (values === 0) this.#table.complete();
			for await (const entry of watch) {
				this.#apply(entry);
				revision = Math.max(revision, entry.revision);
				if (entry.isUpdate) this.#table.complete();
			}
		} finally {
			clearInterval(comparing);
			watch.stop();
		}
	}

	#apply(entry: KvWatchEntry): void {
		const isPut = entry.operation === "PUT";
		try {
			this.#table.set(entry.key, isPut ? entry.string() : undefined);
		} catch (error) {
			this.#log.error({ err: error, key: entry.key }, "failed to read a route");
		}
	}
}
