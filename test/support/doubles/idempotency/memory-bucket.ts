import {
	type IdempotencyBucket,
	IdempotencyBucketFull,
	type KeptEntry,
} from "../../../../ingest/wire/idempotency-bucket.ts";
import type { IdempotencyEntry } from "../../../../ingest/wire/idempotency-entry.ts";

/** What a write meets: `lost` reaches NATS but its answer doesn't come back; `away` doesn't reach NATS. */
type Fault = "lost" | "away" | "full";

/** The idempotency bucket in memory, with faults on demand. */
export class MemoryIdempotencyBucket
	implements Pick<IdempotencyBucket, "read" | "write" | "count" | "countOf">
{
	readonly entries = new Map<string, KeptEntry>();
	/** Applied to the next requests, in order; `undefined` lets one pass. */
	readonly writeFaults: (Fault | undefined)[] = [];
	readonly readFaults: ("away" | undefined)[] = [];
	maxKeys = 1_000;
	counts = 0;
	#lastRevision = 0;

	async read(key: string): Promise<KeptEntry | undefined> {
		if (this.readFaults.shift()) throw new Error("NATS is away");
		return this.entries.get(key);
	}

	/**
	 * A write that names another revision than the key's last one is refused: docs.nats.io, "Headers",
	 * Nats-Expected-Last-Subject-Sequence. A stream at max_msgs with discard new refuses every write: docs.nats.io, "Streams", DiscardPolicy.
	 */
	async write(
		key: string,
		entry: IdempotencyEntry,
		revision: number,
	): Promise<number | undefined> {
		const fault = this.writeFaults.shift();
		if (fault === "away") throw new Error("NATS is away");
		if (fault === "full") throw new IdempotencyBucketFull();
		if ((this.entries.get(key)?.revision ?? 0) !== revision) return undefined;
		const written = { entry, revision: ++this.#lastRevision };
		this.entries.set(key, written);
		if (fault === "lost") throw new Error("no answer from NATS");
		return written.revision;
	}

	async count(): Promise<{ keys: number; maxKeys: number }> {
		this.counts++;
		return { keys: this.entries.size, maxKeys: this.maxKeys };
	}

	async countOf(account: string): Promise<number> {
		const keys = [...this.entries.keys()];
		return keys.filter((key) => key.startsWith(`${account}.`)).length;
	}
}
