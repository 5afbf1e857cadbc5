import type {
	ListedObject,
	ReadStore,
	Store,
} from "../../../packages/bucket/object-store.ts";
import { NumberedRecords } from "./numbered-records.ts";

/** The most keys of one answer (API reference, ListObjectsV2). */
const pageKeys = 1_000;

/**
 * Goes through folders in which the oldest objects sort first. Once a page of a folder may stay, the rest of it is left out: it is
 * newer. So this takes some requests for each folder and for what is old, and none for what the bucket holds.
 * @param mayStay whether an object of this age stays.
 */
export async function* fromOldest(
	store: Pick<ReadStore, "list">,
	prefix: string,
	folderOf: (key: string) => string,
	mayStay: (object: ListedObject) => boolean,
): AsyncGenerator<ListedObject> {
	for (let after: string | undefined, isWhole = false; !isWhole; ) {
		isWhole = true;
		let [folder, staying] = ["", 0];
		for await (const object of store.list(prefix, after)) {
			const own = folderOf(object.key);
			staying = mayStay(object) ? (own === folder ? staying + 1 : 1) : 0;
			folder = own;
			yield object;
			if (staying < pageKeys) continue;
			// No key has a character after it.
			after = `${folder}~`;
			isWhole = false;
			break;
		}
	}
}

const cursorDigits = 20;

/**
 * Goes through a part of folders that sort by no time. The next call goes on where this one has ended, whichever process makes it,
 * and begins anew after the end.
 * @param name of the work. Nobody else must do it meanwhile.
 */
export async function listInParts(
	store: Store,
	name: string,
	prefixes: readonly string[],
	{
		mostListed,
		work,
	}: {
		/** Of each prefix. */
		mostListed: number;
		work: (
			some: AsyncIterable<ListedObject>,
			prefix: string,
		) => Promise<unknown>;
	},
): Promise<void> {
	const cursors = new NumberedRecords(
		store,
		store.keys.cursors(name),
		cursorDigits,
	);
	const newest = await cursors.newest();
	const from: Record<string, string> = JSON.parse(newest?.text ?? "{}");
	const to: Record<string, string> = {};
	for (const prefix of prefixes) {
		const listed = store.list(prefix, from[prefix]);
		const some = firstOf(listed, mostListed, (key) => {
			to[prefix] = key;
		});
		await work(some, prefix);
	}
	const hasChanged = JSON.stringify(to) !== JSON.stringify(from);
	if (hasChanged) await cursors.write((newest?.number ?? 0) + 1, to);
}

/** @param cut is called with the last key if there may be more. */
async function* firstOf(
	objects: AsyncIterable<ListedObject>,
	most: number,
	cut: (last: string) => void,
): AsyncGenerator<ListedObject> {
	let count = 0;
	for await (const object of objects) {
		yield object;
		if (++count < most) continue;
		cut(object.key);
		return;
	}
}

/** The folder of the dates of one source, in a key that names a date; otherwise the object's folder. */
export function datesFolderOf(key: string): string {
	return key.slice(0, key.lastIndexOf("/date=") + 1) || folderOf(key);
}

/** The folder of an object. */
export function folderOf(key: string): string {
	return key.slice(0, key.lastIndexOf("/") + 1);
}
