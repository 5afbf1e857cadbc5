import type {
	BigQueryField,
	BigQueryJob,
	BigQueryTable,
} from "../../../../packages/warehouses/bigquery/load/rest/api.ts";
import { invalid } from "./fault.ts";

export type Load = NonNullable<BigQueryJob["configuration"]["load"]>;
export type Copy = NonNullable<BigQueryJob["configuration"]["copy"]>;

export const loadFields = [
	"destinationTable",
	"sourceUris",
	"sourceFormat",
	"writeDisposition",
	"createDisposition",
	"decimalTargetTypes",
	"schemaUpdateOptions",
	"destinationEncryptionConfiguration",
];

/** Jobs write to tables alone (cloud.google.com/bigquery/docs/views-intro#limitations: views are read-only). */
export function requireTable({ type, tableReference }: BigQueryTable): void {
	if (type !== "TABLE")
		throw invalid(
			`${tableReference.datasetId}.${tableReference.tableId} is not allowed for this operation because it is currently a ${type}.`,
		);
}

/** A job replaces an encrypted table with its own key (reference of JobConfigurationLoad, destinationEncryptionConfiguration). */
export function requireKey(
	{ encryptionConfiguration: present }: BigQueryTable,
	{ destinationEncryptionConfiguration: given }: Load | Copy,
): void {
	const key = present?.kmsKeyName?.replace(/\/cryptoKeyVersions\/.*/, "");
	if (given?.kmsKeyName !== key)
		throw invalid(
			`The job's Cloud KMS key ${given?.kmsKeyName} is not the table's, ${key}`,
		);
}

/** The table's columns after the load. Refuses changes that schemaUpdateOptions don't allow (cloud.google.com/bigquery/docs/managing-table-schemas). */
export function mergedSchema(
	table: BigQueryTable,
	loaded: BigQueryField[],
	{ schemaUpdateOptions = [] }: Load,
	isTyped: boolean,
): BigQueryField[] {
	const fields = [...(table.schema?.fields ?? [])];
	for (const { name, type } of loaded) {
		const present = fields.find((field) => sameName(field, name));
		if (!present) {
			if (!schemaUpdateOptions.includes("ALLOW_FIELD_ADDITION"))
				throw invalid(
					`Provided Schema does not match Table. Cannot add fields (field: ${name})`,
				);
			fields.push({ name, type });
		} else if (isTyped && present.type !== type)
			// Also JSON, which Parquet can't carry (cloud.google.com/bigquery/docs/loading-data-cloud-storage-parquet#type_conversions).
			throw invalid(
				`Provided Schema does not match Table. Field ${name} has changed type from ${present.type} to ${type}`,
			);
	}
	return fields;
}

export function sameName(field: BigQueryField, name: string): boolean {
	return field.name.toLowerCase() === name.toLowerCase();
}
