import type { BigQueryTable } from "../../../../packages/warehouses/bigquery/load/rest/google-refusal.ts";
import { invalid } from "./fault.ts";

/** Refuses a table that BigQuery would refuse to create, or to become by a patch. @param location of its dataset. */
export function requireValid(table: BigQueryTable, location: string): void {
	requireLabels(table.labels);
	requirePartitioning(table);
	requireClustering(table);
	requireKey(table, location);
}

/** cloud.google.com/bigquery/docs/labels-intro#requirements */
function requireLabels(labels: Record<string, string> = {}): void {
	if (Object.keys(labels).length > 64) throw invalid("Too many labels");
	for (const [key, value] of Object.entries(labels))
		if (
			!/^[a-z][a-z0-9_-]{0,62}$/.test(key) ||
			!/^[a-z0-9_-]{0,63}$/.test(value)
		)
			throw invalid(
				`Label "${key}": "${value}" has characters that are not allowed`,
			);
}

/** cloud.google.com/bigquery/docs/reference/rest/v2/tables#TimePartitioning */
function requirePartitioning(table: BigQueryTable): void {
	const { schema, timePartitioning, requirePartitionFilter } = table;
	if (!timePartitioning) {
		if (requirePartitionFilter)
			throw invalid(
				"require_partition_filter can only be set on a partitioned table",
			);
		return;
	}
	const { type, field, expirationMs = "1" } = timePartitioning;
	const column = schema?.fields?.find(({ name }) => name === field);
	if (type !== "DAY" || !["DATE", "TIMESTAMP"].includes(column?.type ?? ""))
		throw invalid("The field specified for partitioning is not a DATE column");
	if (!/^[1-9]\d*$/.test(expirationMs))
		throw invalid(`Invalid value for expirationMs: ${expirationMs}`);
}

/** cloud.google.com/bigquery/docs/creating-clustered-tables#limitations */
function requireClustering({ schema, clustering }: BigQueryTable): void {
	const { fields = [] } = clustering ?? {};
	if (fields.length > 4)
		throw invalid("Clustering is allowed by at most 4 fields");
	for (const name of fields) {
		const column = schema?.fields?.find((field) => field.name === name);
		if (!column)
			throw invalid(`The field specified for clustering is missing: ${name}`);
		if (["FLOAT", "JSON"].includes(column.type))
			throw invalid(`Clustering is not supported on ${column.type}: ${name}`);
	}
}

/** The key must be where the dataset is (cloud.google.com/bigquery/docs/customer-managed-encryption#key_resource_location). */
function requireKey(
	{ encryptionConfiguration: { kmsKeyName } = {} }: BigQueryTable,
	location: string,
): void {
	if (kmsKeyName === undefined) return;
	const [, where] =
		/^projects\/[^/]+\/locations\/([^/]+)\/keyRings\/[^/]+\/cryptoKeys\/[^/]+(?:\/cryptoKeyVersions\/\d+)?$/.exec(
			kmsKeyName,
		) ?? [];
	const wanted = location === "EU" ? "europe" : location.toLowerCase();
	if (where !== wanted)
		throw invalid(
			`Cloud KMS key ${kmsKeyName} is not in the location of the dataset, ${wanted}`,
		);
}

/** cloud.google.com/bigquery/docs/customer-managed-encryption#change_to_kms */
export function requireKeyChange(
	before: BigQueryTable,
	after: BigQueryTable,
): void {
	if (after.encryptionConfiguration && !before.encryptionConfiguration)
		throw invalid(
			"A table that is encrypted by default can't get a Cloud KMS key. Copy it.",
		);
}
