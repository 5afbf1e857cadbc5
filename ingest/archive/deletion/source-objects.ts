import type { UtcDate } from "../../../contracts/utc-date.ts";
import type { ObjectKeys, SourceName } from "../s3/object-keys.ts";
import type { ObjectStore } from "../s3/object-store.ts";

/** A page of keys: what one S3 request lists or deletes. */
const removedAtOnce = 1_000;

/**
 * Deletes all objects with a source's events, oldest date first, while `mayGoOn`. Memory holds one page of keys. Returns
 * how many objects it deleted and, if some are left, the date of the first of them.
 */
export async function deleteSourceObjects(
	{ store, keys }: { store: ObjectStore; keys: ObjectKeys },
	source: SourceName,
	mayGoOn: () => boolean,
): Promise<{ objects: number; remainsFrom?: UtcDate }> {
	let objects = 0;
	for (;;) {
		const page: string[] = [];
		for await (const { key } of store.list(keys.eventsOfSource(source)))
			if (page.push(key) === removedAtOnce) break;
		const [first] = page;
		if (first === undefined) break;
		if (!mayGoOn()) return { objects, remainsFrom: dateOf(first) };
		await store.remove(page);
		objects += page.length;
	}
	// Compaction records: one for each date, so they fit into memory.
	const records: string[] = [];
	for await (const { key } of store.list(keys.compactionsOfSource(source)))
		records.push(key);
	await store.remove(records);
	return { objects };
}

function dateOf(key: string): UtcDate {
	return /\/date=(\d{4}-\d\d-\d\d)\//.exec(key)?.[1] ?? "";
}
