import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { objectKeys } from "../../../packages/bucket/object-keys.ts";
import type {
	ListedObject,
	Store,
} from "../../../packages/bucket/object-store.ts";
import type { ObjectServer } from "../../support/doubles/object-server.ts";

/**
 * A bucket in memory with a clock of its own, whose links an object server serves. Like S3, `putNew` writes only a new key
 * (docs.aws.amazon.com, "Add preconditions to S3 operations with conditional requests"), and lists are sorted by key (API
 * reference, ListObjectsV2).
 */
export class DatedStore implements Store {
	readonly keys = objectKeys("");
	readonly #server: ObjectServer;
	readonly #nowMs: () => number;
	readonly #objects = new Map<
		string,
		{ body: Uint8Array | string; modifiedMs: number }
	>();

	constructor(server: ObjectServer, nowMs: () => number) {
		this.#server = server;
		this.#nowMs = nowMs;
	}

	async putNew(key: string, body: Uint8Array | string) {
		const existing = this.#objects.get(key)?.body;
		if (existing === undefined)
			this.#objects.set(key, { body, modifiedMs: this.#nowMs() });
		const isSame = Buffer.from(existing ?? body).equals(Buffer.from(body));
		return isSame ? "created" : "exists";
	}

	async get(key: string): Promise<string | undefined> {
		const found = this.#objects.get(key);
		return found && Buffer.from(found.body).toString();
	}

	async putNewFile(key: string, file: string) {
		return this.putNew(key, await readFile(file));
	}

	async getFile(key: string, file: string): Promise<string | undefined> {
		const found = this.#objects.get(key);
		if (!found) return undefined;
		await writeFile(file, found.body);
		return createHash("sha256").update(found.body).digest("hex");
	}

	async *list(prefix: string, after = ""): AsyncGenerator<ListedObject> {
		const keys = [...this.#objects.keys()].filter(
			(key) => key.startsWith(prefix) && key > after,
		);
		for (const key of keys.sort()) {
			const { body, modifiedMs } = this.#objects.get(key)!;
			yield { key, bytes: Buffer.byteLength(body), modifiedMs };
		}
	}

	async presign(key: string): Promise<string> {
		return this.#server.put(key, this.#objects.get(key)?.body ?? "");
	}

	async presignPut(key: string) {
		return { url: `memory:${key}`, headers: {} };
	}

	async put(key: string, body: Uint8Array | string): Promise<void> {
		this.#objects.set(key, { body, modifiedMs: this.#nowMs() });
	}

	async putFile(key: string, file: string): Promise<void> {
		await this.put(key, await readFile(file));
	}

	/** All of it. */
	async getPart(key: string) {
		const found = this.#objects.get(key);
		const bytes = Uint8Array.from(Buffer.from(found?.body ?? ""));
		return found && { bytes, totalBytes: bytes.length };
	}

	lifecycleRules = async () => undefined;
	setLifecycleRules = async () => false;
	abortUploads = async () => undefined;

	async linkSeconds(wanted: number): Promise<number> {
		return wanted;
	}

	async remove(keys: readonly string[]): Promise<void> {
		for (const key of keys) this.#objects.delete(key);
	}
}
