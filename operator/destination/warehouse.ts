import { join } from "node:path";
import type { DestinationInput } from "../../contracts/job.ts";
import type { Destination } from "../../crds/generated/types.ts";
import type { Warehouse } from "../job-template.ts";

/**
 * The volume that a Destination's DuckDB file is on; undefined when the Destination names none and none is given.
 * @param localWarehouse local mode's directory: each namespace has a folder of its own in it.
 */
export function warehouseOf(
	{ metadata, spec }: Destination,
	localWarehouse: string | undefined,
): Warehouse | undefined {
	if (spec.duckDB?.volumeClaimName)
		return { volumeClaimName: spec.duckDB.volumeClaimName };
	if (localWarehouse === undefined) return undefined;
	return { hostPath: join(localWarehouse, metadata.namespace!) };
}

/** What a Job must know of a Destination; undefined for a type that this version doesn't load into. */
export function destinationInput({
	spec,
}: Destination): DestinationInput | undefined {
	return spec.duckDB && { type: "DuckDB", path: spec.duckDB.path };
}
