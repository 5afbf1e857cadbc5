import { hash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import {
	type ObjectKeys,
	objectKeys,
} from "../../../packages/bucket/object-keys.ts";
import type {
	ListedObject,
	Store,
} from "../../../packages/bucket/object-store.ts";

/**
 * A store in memory that records what is read. Like S3, `putNew` writes only a new key (docs.aws.amazon.com, "Add
 * preconditions to S3 operations with conditional requests"), and lists are sorted by key (API reference, ListObjectsV2).
 */
export class MemoryStore implements Store {
	readonly keys: ObjectKeys;
	readonly objects = new Map<string, string>();
	/** Of the store's clock. */
	nowMs = 0;
	readonly #modifiedMs = new Map<string, number>();
	readonly reads: string[] = [];
	/** Prefixes. */
	readonly lists: string[] = [];

	constructor(prefix = "") {
		this.keys = objectKeys(prefix);
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

	async putFile(key: string, file: string): Promise<void> {
		await this.put(key, await readFile(file, "utf8"));
	}

	async putNewFile(key: string, file: string): Promise<"created" | "exists"> {
		return this.putNew(key, await readFile(file));
	}

	async getFile(key: string, file: string): Promise<string | undefined> {
		const text = await this.get(key);
		if (text !== undefined) await writeFile(file, text);
		return text && hash("sha256", text);
	}

	/** All of it. */
	async getPart(key: string) {
		const text = await this.get(key);
		const bytes = Uint8Array.from(Buffer.from(text ?? ""));
		return text === undefined ? text : { bytes, totalBytes: bytes.length };
	}

	// It has no rules, and nothing unfinished.
	lifecycleRules = async () => undefined;
	setLifecycleRules = async () => false;
	abortUploads = async () => undefined;

	async linkSeconds(wanted: number): Promise<number> {
		return wanted;
	}

	async remove(keys: readonly string[]): Promise<void> {
		for (const key of keys) this.objects.delete(key);
	}
}
