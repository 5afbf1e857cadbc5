import type {
	BigQueryField,
	BigQueryJob,
	BigQueryTable,
} from "../../../../packages/warehouses/bigquery/load/rest/api.ts";
import { invalid } from "./fault.ts";

export type Load = NonNullable<BigQueryJob["configuration"]["load"]>;

export const loadFields = [
	"destinationTable",
	"sourceUris",
	"sourceFormat",
	"writeDisposition",
	"createDisposition",
	"decimalTargetTypes",
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
	{ destinationEncryptionConfiguration: given }: Load,
): void {
	const key = present?.kmsKeyName?.replace(/\/cryptoKeyVersions\/.*/, "");
	if (given?.kmsKeyName !== key)
		throw invalid(
			`The job's Cloud KMS key ${given?.kmsKeyName} is not the table's, ${key}`,
		);
}

/**
 * The table's columns after the load. Refuses new ones, and other types (cloud.google.com/bigquery/docs/managing-table-schemas).
 * With WRITE_TRUNCATE they lose what people set on them, which it "might not preserve"; WRITE_TRUNCATE_DATA preserves it
 * (cloud.google.com/bigquery/docs/reference/auditlogs/rest/Shared.Types/BigQueryAuditMetadata.WriteDisposition).
 */
export function schemaAfter(
	table: BigQueryTable,
	loaded: BigQueryField[],
	{ writeDisposition }: Load,
	isTyped: boolean,
): BigQueryField[] {
	const fields = table.schema?.fields ?? [];
	for (const { name, type } of loaded) {
		const present = fields.find((field) => sameName(field, name));
		if (!present)
			throw invalid(
				`Provided Schema does not match Table. Cannot add fields (field: ${name})`,
			);
		if (isTyped && present.type !== type)
			// Also JSON, which Parquet can't carry (cloud.google.com/bigquery/docs/loading-data-cloud-storage-parquet#type_conversions).
			throw invalid(
				`Provided Schema does not match Table. Field ${name} has changed type from ${present.type} to ${type}`,
			);
	}
	return writeDisposition === "WRITE_TRUNCATE_DATA"
		? fields
		: fields.map(({ name, type, mode }) => ({
				name,
				type,
				...(mode !== undefined && { mode }),
			}));
}

export function sameName(field: BigQueryField, name: string): boolean {
	return field.name.toLowerCase() === name.toLowerCase();
}
