import type { SourceName } from "../../archive/s3/object-keys.ts";
import type { ListedObject } from "../../archive/s3/object-store.ts";

/** The part of a key that names its source. Of two sources, the one with the lower path comes first in each listing. */
export function pathOf({ account, sourceKey }: SourceName): string {
	return `account=${account}/source=${sourceKey}/`;
}

export function sourceAt(path: string): SourceName {
	const [, account = "", sourceKey = ""] =
		/^account=([^/]+)\/source=([^/]+)\/$/.exec(path) ?? [];
	return { account, sourceKey };
}

/**
 * Goes through a listing source by source, beside other listings, so that memory holds one source's objects and not those of a
 * year.
 */
export class SourceCursor {
	readonly #objects: AsyncIterator<ListedObject>;
	#next: { object: ListedObject; path: string } | undefined;
	#isBegun = false;

	constructor(objects: AsyncIterable<ListedObject>) {
		this.#objects = objects[Symbol.asyncIterator]();
	}

	/** The path of the next source; undefined at the end. */
	async path(): Promise<string | undefined> {
		if (!this.#isBegun) await this.#advance();
		this.#isBegun = true;
		return this.#next?.path;
	}

	/** The objects of this source. Leaves out those before it. */
	async take(path: string): Promise<ListedObject[]> {
		const taken: ListedObject[] = [];
		for (;;) {
			const next = await this.path();
			if (next === undefined || next > path) return taken;
			if (next === path) taken.push(this.#next!.object);
			await this.#advance();
		}
	}

	/** Keys that name no source aren't ours. */
	async #advance(): Promise<void> {
		for (;;) {
			const { done, value } = await this.#objects.next();
			const path = done
				? undefined
				: /\/(account=[^/]+\/source=[^/]+\/)/.exec(value.key)?.[1];
			this.#next = path === undefined ? undefined : { object: value, path };
			if (done || path !== undefined) return;
		}
	}
}
