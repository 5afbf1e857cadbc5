import type { StoredRelease } from "../release/release-store.ts";
import type { EventObject } from "./date-objects.ts";

/** The objects of Imports that these records name. */
export function importedObjects(
	releases: readonly StoredRelease[],
): EventObject[] {
	return releases
		.filter(({ record }) => record.imported)
		.map(({ record: { key, date, stream, first }, timeMs }) => ({
			key,
			name: key.slice(key.lastIndexOf("/") + 1),
			date,
			quarantined: false,
			stream,
			first,
			isOfOneCut: false,
			importedMs: timeMs,
		}));
}
