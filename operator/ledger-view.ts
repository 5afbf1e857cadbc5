import { setTimeout as sleep } from "node:timers/promises";
import { type KV, Kvm } from "@nats-io/kv";
import type { NatsConnection } from "@nats-io/transport-node";
import type { DeletedLedger, SourceLedger } from "../contracts/ledger.ts";
import { bucket } from "../contracts/nats.ts";
import type { Logger } from "../service/log.ts";
import { onReconnect } from "./reconnects.ts";

/** What archive says of each Source, as of the last word from NATS. */
export class LedgerView {
	readonly #nats: NatsConnection;
	readonly #log: Logger;
	readonly #ledgers = new Map<string, SourceLedger>();
	readonly #deleted = new Set<string>();
	readonly #handlers: ((sourceKey: string) => void)[] = [];

	constructor(nats: NatsConnection, log: Logger) {
		this.#nats = nats;
		this.#log = log;
	}

	get(sourceKey: string): SourceLedger | undefined {
		return this.#ledgers.get(sourceKey);
	}

	/** Whether archive has deleted the Source's events for good. */
	isDeleted(sourceKey: string): boolean {
		return this.#deleted.has(sourceKey);
	}

	/** Called for every change after it can be read here, with the source key. */
	onChange(handler: (sourceKey: string) => void): void {
		this.#handlers.push(handler);
	}

	/** Follows the bucket until the signal; never throws. The bucket comes with archive's first start. */
	async run(signal: AbortSignal): Promise<void> {
		let entries: Awaited<ReturnType<KV["watch"]>> | undefined;
		const stop = () => entries?.stop();
		signal.addEventListener("abort", stop, { once: true });
		// The bucket may be another one then.
		void onReconnect(this.#nats, stop);
		while (!signal.aborted) {
			try {
				const kv = await new Kvm(this.#nats).open(bucket.ledger);
				entries = await kv.watch();
				for await (const entry of entries)
					if (entry.operation === "PUT") this.#take(entry.json());
			} catch (err) {
				this.#log.debug({ err }, "the ledger can't be read yet");
			}
			await sleep(1_000, undefined, { signal }).catch(() => {});
		}
	}

	#take(ledger: SourceLedger | DeletedLedger): void {
		const { sourceKey } = ledger;
		if ("deletedTime" in ledger) {
			this.#deleted.add(sourceKey);
			this.#ledgers.delete(sourceKey);
		} else this.#ledgers.set(sourceKey, ledger);
		for (const handler of this.#handlers) handler(sourceKey);
	}
}
