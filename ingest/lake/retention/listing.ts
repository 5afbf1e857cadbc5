import type {
	ListedObject,
	ObjectStore,
} from "../../archive/s3/object-store.ts";

/** The most keys of one answer (API reference, ListObjectsV2). */
const pageKeys = 1_000;

/**
 * Goes through folders in which the oldest objects sort first. Once a page of a folder may stay, the rest of it is left out: it is
 * newer. So this takes some requests for each folder and for what is old, and none for what the bucket holds.
 * @param mayStay whether an object of this age stays.
 */
export async function* fromOldest(
	store: Pick<ObjectStore, "list">,
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

/** The folder of the dates of one source, in a key that names a date. */
export function datesFolderOf(key: string): string {
	return key.slice(0, key.lastIndexOf("/date=") + 1);
}

/** The folder of an object. */
export function folderOf(key: string): string {
	return key.slice(0, key.lastIndexOf("/") + 1);
}
