import { isDeepStrictEqual } from "node:util";
import type { LoadInput } from "../../../contracts/job.ts";
import { dayMs } from "../../../contracts/utc-date.ts";
import type { BigQueryInput, TableOptions } from "../input.ts";
import type { BigQueryTable } from "./rest/api.ts";

/** What a table has beside its columns and the labels of loads. */
export type StoredOptions = Pick<
	BigQueryTable,
	| "description"
	| "labels"
	| "timePartitioning"
	| "requirePartitionFilter"
	| "clustering"
	| "encryptionConfiguration"
>;

function chosenBy({ table }: Pick<LoadInput, "table">): TableOptions {
	return table.options ?? {};
}

/** The options that a load creates its table with. */
export function optionsOf(input: LoadInput): StoredOptions {
	const { columns, description } = input.table;
	const options = chosenBy(input);
	const { labels, partitionExpirationDays, requirePartitionFilter, clusterBy } =
		options;
	const kmsKeyName = wantedKey(input.destination);
	const date = columns.find(({ from }) => from === "Date")?.name;
	return {
		...(clusterBy && { clustering: { fields: clusterBy } }),
		...(kmsKeyName !== undefined && {
			encryptionConfiguration: { kmsKeyName },
		}),
		description: options.description ?? description,
		...(labels && { labels }),
		...(date !== undefined && {
			timePartitioning: {
				type: "DAY",
				field: date,
				...(partitionExpirationDays !== undefined && {
					expirationMs: String(partitionExpirationDays * dayMs),
				}),
			},
		}),
		...(requirePartitionFilter !== undefined && { requirePartitionFilter }),
	};
}

/**
 * What a tables.patch must change for the table to have the options that people chose. Others are theirs to set in
 * BigQuery, as dbt and Terraform leave alone what they don't name.
 */
export function optionChanges(
	existing: BigQueryTable,
	input: LoadInput,
): StoredOptions {
	const { description, partitionExpirationDays } = chosenBy(input);
	const { description: _, timePartitioning, ...chosen } = optionsOf(input);
	const wanted: StoredOptions = {
		...chosen,
		...(description !== undefined && { description }),
		...(partitionExpirationDays !== undefined &&
			timePartitioning && { timePartitioning }),
	};
	const key = keyOf(existing);
	const present: BigQueryTable = {
		...existing,
		encryptionConfiguration: key === undefined ? {} : { kmsKeyName: key },
	};
	return Object.fromEntries(
		Object.entries(wanted).filter(
			([name, value]) => !holds(present[name as keyof StoredOptions], value),
		),
	);
}

/**
 * Why the table can't get the Destination's key, in words that follow "Table x is incompatible: ". tables.patch changes the
 * key of a table that has one; a table without one must be copied
 * (cloud.google.com/bigquery/docs/customer-managed-encryption#change_to_kms).
 */
export function keyProblem(
	existing: BigQueryTable,
	{ destination }: LoadInput,
): string | undefined {
	return wantedKey(destination) !== undefined && keyOf(existing) === undefined
		? "it is not encrypted with a key of Cloud KMS. To keep its days, copy it onto itself with bq cp --destination_kms_key"
		: undefined;
}

function wantedKey(destination: LoadInput["destination"]): string | undefined {
	return (destination as BigQueryInput).kmsKeyName;
}

/** The key that a table is encrypted with, without its version. */
function keyOf({ encryptionConfiguration }: BigQueryTable): string | undefined {
	return encryptionConfiguration?.kmsKeyName?.replace(
		/\/cryptoKeyVersions\/.*$/,
		"",
	);
}

/** Whether a value has all that is wanted of it. It may have more. */
function holds(value: unknown, wanted: unknown): boolean {
	if (typeof wanted !== "object" || wanted === null || Array.isArray(wanted))
		return isDeepStrictEqual(value, wanted);
	return Object.entries(wanted).every(([name, part]) =>
		holds((value as Record<string, unknown> | undefined)?.[name], part),
	);
}
