import { quoteText } from "../../../../packages/duckdb/quoting.ts";
import type {
	BigQueryField,
	BigQueryJob,
	BigQueryTable,
} from "../../../../packages/warehouses/bigquery/load/rest/google-refusal.ts";
import { invalid } from "./fault.ts";
import { duckType } from "./warehouse.ts";

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

function jsonRows(data: Uint8Array): string[] {
	return Buffer.from(data).toString().split("\n").filter(Boolean);
}

/** The columns that rows of JSON name, with the table's types, as read_json takes them. */
export function jsonColumns(
	data: Uint8Array,
	{ schema }: BigQueryTable,
): string {
	const names = new Set(
		jsonRows(data).flatMap((row) => Object.keys(JSON.parse(row))),
	);
	return [...names]
		.map((name) => {
			const field = schema?.fields?.find((field) => sameName(field, name));
			return `${quoteText(name)}: ${quoteText(field ? duckType(field.type) : "VARCHAR")}`;
		})
		.join(", ");
}

/**
 * Refuses what the type JSON is not known to hold: more than 500 levels (cloud.google.com/bigquery/docs/json-data#limitations), numbers
 * that would lose precision (docs/reference/standard-sql/json_functions#parse_json), and strings that are no Unicode.
 */
export function requireJsonRows(
	data: Uint8Array,
	{ schema }: BigQueryTable,
): void {
	const fields = (schema?.fields ?? []).filter(({ type }) => type === "JSON");
	if (fields.length === 0) return;
	for (const row of jsonRows(data)) {
		const numbers: string[] = [];
		const parsed = JSON.parse(
			row,
			(_key: string, value: unknown, context?: { source?: string }) => {
				if (typeof value === "number") numbers.push(context?.source ?? "");
				return value;
			},
		);
		for (const number of numbers) {
			const isWhole = /^-?\d+$/.test(number);
			const whole = isWhole ? BigInt(number) : 0n;
			if (isWhole && (whole < -(2n ** 63n) || whole >= 2n ** 64n))
				throw invalid(`Input number: ${number} cannot round-trip`);
			if (!isWhole && /\d{18}|e\+?\d{4}/i.test(number.replace(".", "")))
				throw invalid(`Input number: ${number} cannot round-trip`);
		}
		for (const { name } of fields) {
			const open: [value: unknown, depth: number][] = [[parsed[name], 0]];
			for (let next = open.pop(); next; next = open.pop()) {
				const [value, depth] = next;
				if (typeof value === "string" && !value.isWellFormed())
					throw invalid(`Field ${name} is no valid JSON`);
				if (typeof value !== "object" || value === null) continue;
				if (depth >= 500)
					throw invalid(`Max depth of 500 is exceeded in field ${name}`);
				for (const [key, member] of Object.entries(value))
					open.push([key, depth], [member, depth + 1]);
			}
		}
	}
}
