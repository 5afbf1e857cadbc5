import { hash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { MemoryStore } from "./memory-store.ts";

/** A {@link MemoryStore} that has objects of bytes, too. */
export class MemoryFileStore extends MemoryStore {
	readonly files = new Map<string, Buffer>();

	async setFile(key: string, bytes: Buffer): Promise<void> {
		this.files.set(key, bytes);
		await this.put(key, "");
	}

	override async putFile(key: string, file: string): Promise<void> {
		await this.setFile(key, await readFile(file));
	}

	/** Conditional as {@link MemoryStore.putNew}. */
	override async putNewFile(key: string, file: string) {
		const bytes = await readFile(file);
		const existing = this.files.get(key);
		if (!existing) await this.setFile(key, bytes);
		return (existing ?? bytes).equals(bytes) ? "created" : "exists";
	}

	override async getFile(
		key: string,
		file: string,
	): Promise<string | undefined> {
		const bytes = this.files.get(key);
		if (bytes) await writeFile(file, bytes);
		return bytes && hash("sha256", bytes);
	}

	override async remove(keys: readonly string[]): Promise<void> {
		await super.remove(keys);
		for (const key of keys) this.files.delete(key);
	}
}
