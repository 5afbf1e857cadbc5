import type { UtcDate } from "../../../packages/contracts/utc-date.ts";
import type { SourceName } from "../../archive/s3/object-keys.ts";
import type {
	ListedObject,
	ObjectStore,
} from "../../archive/s3/object-store.ts";

/** The part of a key that names its source. Of two sources, the one with the lower path comes first in each listing. */
export function pathOf({ account, sourceKey }: SourceName): string {
	return `account=${account}/source=${sourceKey}/`;
}

export function sourceAt(path: string): SourceName {
	const [, account = "", sourceKey = ""] =
		/^account=([^/]+)\/source=([^/]+)\/$/.exec(path) ?? [];
	return { account, sourceKey };
}

/** The most keys of one answer (API reference, ListObjectsV2). */
const pageKeys = 1_000;

/**
 * Goes through the objects below a prefix source by source, beside other listings, so that memory holds one source's objects and not
 * those of a year. What nobody asks for is passed over, and once that was a page of keys, it is left out: so this takes two
 * requests for each source that is asked for, or one for each page of the whole listing, whichever are fewer.
 */
export class SourceCursor {
	readonly #store: Pick<ObjectStore, "list">;
	readonly #prefix: string;
	#objects: AsyncIterator<ListedObject>;
	#next: { object: ListedObject; path: string } | undefined;
	#isBegun = false;
	#opened = 0;
	#read = 0;

	constructor(store: Pick<ObjectStore, "list">, prefix: string) {
		this.#store = store;
		this.#prefix = prefix;
		this.#objects = this.#listAfter(undefined);
	}

	/** How many this took so far. */
	get requests(): number {
		return this.#opened + Math.floor(this.#read / pageKeys);
	}

	/** The path of the next source; undefined at the end. */
	async path(): Promise<string | undefined> {
		if (!this.#isBegun) await this.#advance();
		this.#isBegun = true;
		return this.#next?.path;
	}

	/** The objects of this source, from a date on or all of them. Leaves out those before them. */
	async take(path: string, from?: UtcDate): Promise<ListedObject[]> {
		const start = `${this.#prefix}${path}${from === undefined ? "" : `date=${from}`}`;
		const taken: ListedObject[] = [];
		for (let passed = 0; ; ) {
			const next = await this.path();
			if (next === undefined || next > path) return taken;
			if (this.#next!.object.key >= start) taken.push(this.#next!.object);
			else if (++passed === pageKeys) {
				await this.#objects.return?.();
				this.#objects = this.#listAfter(start);
			}
			await this.#advance();
		}
	}

	#listAfter(after: string | undefined): AsyncIterator<ListedObject> {
		this.#opened++;
		return this.#store.list(this.#prefix, after)[Symbol.asyncIterator]();
	}

	/** Keys that name no source aren't ours. */
	async #advance(): Promise<void> {
		for (;;) {
			const { done, value } = await this.#objects.next();
			this.#read++;
			const path = done
				? undefined
				: /\/(account=[^/]+\/source=[^/]+\/)/.exec(value.key)?.[1];
			this.#next = path === undefined ? undefined : { object: value, path };
			if (done || path !== undefined) return;
		}
	}
}
