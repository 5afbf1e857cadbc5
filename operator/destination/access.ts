import { join } from "node:path";
import type { Destination } from "../../crds/generated/types.ts";
import type { DestinationInput } from "../../packages/contracts/job.ts";
import type { Secret } from "../../packages/kube/kinds.ts";
import type { Warehouse } from "../jobs/template.ts";
import { defaultLocation } from "./bigquery.ts";

/** What a Job needs to reach a Destination. */
export interface Access {
	input: DestinationInput;
	/** The volume that a DuckDB file is on. */
	warehouse?: Warehouse;
	/** The key of a Google service account in base64, for BigQuery without workload identity. A secret. */
	credentials?: string;
	serviceAccountName?: string;
}

/**
 * How a Job reaches a Destination; undefined if a DuckDB file has no volume, or BigQuery's key is missing.
 * @param localWarehouse Local mode's directory, with a folder for each namespace.
 * @param credentials The Secret that the spec names.
 */
export function accessTo(
	{ metadata, spec }: Destination,
	localWarehouse: string | undefined,
	credentials: Secret | undefined,
): Access | undefined {
	const { bigQuery, duckDB, serviceAccountName } = spec;
	const account = serviceAccountName ? { serviceAccountName } : {};
	if (bigQuery) {
		const { projectId, dataset, createDataset, kmsKeyName } = bigQuery;
		const { apiEndpoint, stagingBucket, storageEndpoint } = bigQuery;
		const { credentials: wanted } = bigQuery;
		const key = wanted && credentials?.data?.[wanted.secretRef.key];
		if (wanted && key === undefined) return undefined;
		return {
			input: {
				type: "BigQuery",
				projectId,
				dataset,
				location: bigQuery.location ?? defaultLocation,
				createDataset,
				...(kmsKeyName && { kmsKeyName }),
				...(apiEndpoint && { apiEndpoint }),
				...(stagingBucket && { stagingBucket }),
				...(storageEndpoint && { storageEndpoint }),
			},
			...(key !== undefined && { credentials: key }),
			...account,
		};
	}
	const { path, volumeClaimName } = duckDB!;
	const input = { type: "DuckDB", path } as const;
	if (volumeClaimName)
		return { input, warehouse: { volumeClaimName }, ...account };
	if (localWarehouse === undefined) return undefined;
	const hostPath = join(localWarehouse, metadata.namespace!);
	return { input, warehouse: { hostPath }, ...account };
}
