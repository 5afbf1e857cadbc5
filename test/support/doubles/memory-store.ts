import { ObjectKeys } from "../../../ingest/archive/s3/object-keys.ts";
import type {
	ListedObject,
	ListStore,
	ObjectStore,
} from "../../../ingest/archive/s3/object-store.ts";

/**
 * A store in memory that records what is read. Like S3, `putNew` writes only a new key (docs.aws.amazon.com, "Add
 * preconditions to S3 operations with conditional requests"), and lists are sorted by key (API reference, ListObjectsV2).
 */
export class MemoryStore implements ObjectStore, ListStore {
	readonly keys: ObjectKeys;
	readonly objects = new Map<string, string>();
	/** Of the store's clock. */
	nowMs = 0;
	readonly #modifiedMs = new Map<string, number>();
	readonly reads: string[] = [];
	/** Prefixes. */
	readonly lists: string[] = [];

	constructor(prefix = "") {
		this.keys = new ObjectKeys(prefix);
	}

	async putNew(key: string, body: Uint8Array | string) {
		const text = Buffer.from(body).toString();
		const existing = this.objects.get(key);
		if (existing === undefined) await this.put(key, text);
		return (existing ?? text) === text ? "created" : "exists";
	}

	async put(key: string, text: string): Promise<void> {
		this.objects.set(key, text);
		this.#modifiedMs.set(key, this.nowMs);
	}

	async get(key: string): Promise<string | undefined> {
		this.reads.push(key);
		return this.objects.get(key);
	}

	async *list(prefix: string, after = ""): AsyncGenerator<ListedObject> {
		this.lists.push(prefix);
		for (const [key, text] of [...this.objects].sort())
			if (key.startsWith(prefix) && key > after)
				yield {
					key,
					bytes: Buffer.byteLength(text),
					modifiedMs: this.#modifiedMs.get(key) ?? 0,
				};
	}

	async presign(key: string): Promise<string> {
		return `memory:${key}`;
	}

	async presignPut(key: string) {
		return { url: `memory:${key}`, headers: {} };
	}

	async linkSeconds(wanted: number): Promise<number> {
		return wanted;
	}

	async remove(keys: readonly string[]): Promise<void> {
		for (const key of keys) this.objects.delete(key);
	}
}
