import type { UtcDate } from "../../../packages/contracts/utc-date.ts";
import type { ObjectKeys, SourceName } from "../../archive/s3/object-keys.ts";
import type { ObjectStore } from "../../archive/s3/object-store.ts";

/** A page of keys: what one S3 request lists or deletes. */
const removedAtOnce = 1_000;

/**
 * Deletes all objects with a source's events, oldest date first, while `mayGoOn`. Memory holds two pages of keys. Returns
 * how many objects it deleted and, if some are left, the date of the first of them.
 */
export async function deleteSourceObjects(
	{ store, keys }: { store: ObjectStore; keys: ObjectKeys },
	source: SourceName,
	mayGoOn: () => boolean,
): Promise<{ objects: number; remainsFrom?: UtcDate }> {
	let objects = 0;
	for (;;) {
		const pages = [
			await firstPage(store, keys.eventsOfSource(source)),
			await firstPage(store, keys.quarantineOfSource(source)),
			await firstPage(store, keys.releasesOfSource(source)),
			await firstPage(store, keys.datesOfSource(source)),
			await firstPage(store, keys.importsOfSource(source)),
		];
		const page = pages
			.flat()
			.sort((a, b) => (dateOf(a) < dateOf(b) ? -1 : 1))
			.slice(0, removedAtOnce);
		const [first] = page;
		if (first === undefined) break;
		if (!mayGoOn()) return { objects, remainsFrom: dateOf(first) };
		await store.remove(page);
		objects += page.length;
	}
	// Compaction records: one for each date, so they fit into memory. And how long the events would have stayed.
	const records: string[] = [];
	for (const prefix of [
		keys.compactionsOfSource(source),
		keys.retentionsOfSource(source),
	])
		for await (const { key } of store.list(prefix)) records.push(key);
	await store.remove(records);
	return { objects };
}

async function firstPage(
	store: ObjectStore,
	prefix: string,
): Promise<string[]> {
	const page: string[] = [];
	for await (const { key } of store.list(prefix))
		if (page.push(key) === removedAtOnce) break;
	return page;
}

function dateOf(key: string): UtcDate {
	return /\/date=(\d{4}-\d\d-\d\d)\//.exec(key)?.[1] ?? "";
}
