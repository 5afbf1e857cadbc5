import type { ListedObject } from "../../../packages/bucket/object-store.ts";
import { dayMs } from "../../../packages/contracts/utc-date.ts";
import { MemoryStore } from "./memory-store.ts";

/** A bucket without lifecycle rules, whose objects have ages, and which counts what is listed and removed. */
export class AgedStore extends MemoryStore {
	readonly atMs: number;
	readonly modifiedMs = new Map<string, number>();
	/** How many keys were listed, by prefix, over all lists. */
	readonly listed = new Map<string, number>();
	/** How many keys each removal had. */
	readonly removals: number[] = [];

	constructor(atMs: number) {
		super("p");
		this.atMs = atMs;
	}

	add(key: string, daysAgo: number, text = "{}"): void {
		this.objects.set(key, text);
		this.modifiedMs.set(key, this.atMs - daysAgo * dayMs);
	}

	override async *list(
		prefix: string,
		after?: string,
	): AsyncGenerator<ListedObject> {
		for (const key of this.keysIn(prefix).sort()) {
			if (after !== undefined && key <= after) continue;
			this.listed.set(prefix, (this.listed.get(prefix) ?? 0) + 1);
			const bytes = Buffer.byteLength(this.objects.get(key) ?? "");
			const modifiedMs = this.modifiedMs.get(key) ?? this.atMs;
			yield { key, bytes, modifiedMs };
		}
	}

	override async remove(keys: readonly string[]): Promise<void> {
		this.removals.push(keys.length);
		await super.remove(keys);
	}

	keysIn(prefix: string): string[] {
		return [...this.objects.keys()].filter((key) => key.startsWith(prefix));
	}
}
