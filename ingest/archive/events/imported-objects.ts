import type { UtcDate } from "../../../contracts/utc-date.ts";
import type { DateReleases, ReleaseStore } from "../release/release-store.ts";
import type { EventObject } from "./date-objects.ts";

/** The objects that Imports have added to a date, in the order in which they came. */
export async function importedObjects(
	store: Pick<ReleaseStore, "read">,
	date: UtcDate,
	releases: DateReleases | undefined,
): Promise<EventObject[]> {
	const { records = [] } = releases ?? {};
	const read = await store.read({ records });
	return read.flatMap(({ imported, key, stream, first }, index) =>
		imported
			? {
					key,
					name: key.slice(key.lastIndexOf("/") + 1),
					date,
					quarantined: false,
					stream,
					first,
					isOfOneCut: false,
					importedMs: records[index]!.modifiedMs,
				}
			: [],
	);
}
