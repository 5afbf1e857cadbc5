import { join } from "node:path";
import { CommandError } from "../command/errors.ts";

const named = /^(\d{4}-\d\d-\d\d)-([0-9a-f]+)\.(?:ndjson|parquet)$/;

/**
 * Refuses a folder that has other files of the dates of these: once a date is compacted, other files have the same events, and
 * beside the earlier ones each would be there twice.
 * @param page all files of each date.
 */
export function otherExports(
	folder: string,
	there: readonly string[],
	page: readonly { name: string }[],
): void {
	const digests = new Map<string, Set<string>>();
	for (const { name } of page) {
		const [, date, digest] = named.exec(name) ?? [];
		if (!date || !digest) continue;
		digests.set(date, (digests.get(date) ?? new Set()).add(digest));
	}
	for (const name of there) {
		const [, date, digest] = named.exec(name) ?? [];
		if (!date || !digest) continue;
		if (digests.get(date)?.has(digest) === false)
			throw new CommandError(
				`${join(folder, name)} is of another export: of another source, or archive has put the events of ${date} into other files since, and they would be there twice. Remove the files ${join(folder, `${date}-*`)} and repeat the command, or choose another folder.`,
			);
	}
}
