import type { SourceName } from "../../archive/s3/object-keys.ts";
import type { Tombstones } from "../../archive/write/tombstones.ts";
import { RequestFailure } from "./errors.ts";

/** Throws {@link RequestFailure} SourceDeleted if the source is deleted, as of the last refresh of the tombstones. */
export function requireUndeleted(
	tombstones: Tombstones,
	source: SourceName,
): void {
	if (tombstones.has(source))
		throw new RequestFailure(
			"SourceDeleted",
			`The events of source ${source.sourceKey} of ${source.account} are deleted`,
		);
}
