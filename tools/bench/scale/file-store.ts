import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ObjectKeys } from "../../../ingest/archive/s3/object-keys.ts";
import type { ObjectStore } from "../../../ingest/archive/s3/object-store.ts";

/** A bucket in a folder, so that what it holds isn't in the memory that is measured. Snapshots are all that it takes. */
export class FileStore
	implements Pick<ObjectStore, "keys" | "putNew" | "get" | "list" | "remove">
{
	readonly keys = new ObjectKeys("");
	/** Of each object. */
	readonly bytes = new Map<string, number>();
	nowMs = 0;
	readonly #modifiedMs = new Map<string, number>();
	/** How many objects were written, and what they took together. */
	written = { objects: 0, bytes: 0 };
	/** The largest. */
	mostBytes = 0;
	readonly #folder: string;

	constructor(folder: string) {
		this.#folder = folder;
	}

	async putNew(key: string, text: Uint8Array | string) {
		const body = Buffer.from(text as string);
		const file = join(this.#folder, key);
		await mkdir(dirname(file), { recursive: true });
		await writeFile(file, body);
		this.bytes.set(key, body.length);
		this.#modifiedMs.set(key, this.nowMs);
		this.written.objects++;
		this.written.bytes += body.length;
		this.mostBytes = Math.max(this.mostBytes, body.length);
		return "created" as const;
	}

	get(key: string): Promise<string> {
		return readFile(join(this.#folder, key), "utf8");
	}

	async *list(prefix: string) {
		for (const key of [...this.bytes.keys()].sort())
			if (key.startsWith(prefix))
				yield {
					key,
					bytes: this.bytes.get(key)!,
					modifiedMs: this.#modifiedMs.get(key)!,
				};
	}

	async remove(keys: readonly string[]): Promise<void> {
		for (const key of keys) {
			this.bytes.delete(key);
			await rm(join(this.#folder, key), { force: true });
		}
	}
}
