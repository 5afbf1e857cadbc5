import { isDeepStrictEqual } from "node:util";
import type { LoadInput } from "../../../contracts/job.ts";
import { dayMs } from "../../../contracts/utc-date.ts";
import type { BigQueryInput, BigQueryTableOptions } from "../definition.ts";
import type {
	BigQueryField,
	BigQueryTable,
	DatasetResource,
} from "./rest/google-refusal.ts";
import { fieldsOf } from "./schema.ts";

/** What a table has beside its columns and the labels of loads. */
export type StoredOptions = Pick<
	BigQueryTable,
	| "expirationTime"
	| "description"
	| "labels"
	| "timePartitioning"
	| "requirePartitionFilter"
	| "clustering"
	| "encryptionConfiguration"
>;

function chosenBy({ table }: Pick<LoadInput, "table">): BigQueryTableOptions {
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
 * A table as a load creates it, but for the load's own labels.
 * @param former was dropped for it. Settings that only describe it or its columns are taken along; those of a column that is
 * gone, or needs another type, go with it.
 */
export function newTable(
	input: LoadInput,
	former?: BigQueryTable,
): Omit<BigQueryTable, "tableReference"> {
	const options = optionsOf(input);
	const fields = fieldsOf(input.table);
	if (!former) return { ...options, schema: { fields } };
	const { description, friendlyName, maxStaleness, expirationTime } = former;
	const { defaultCollation, defaultRoundingMode } = former;
	const { timePartitioning = options.timePartitioning, clustering } = former;
	const isClusterable = clustering?.fields?.every((name) =>
		fields.some((field) => field.name === name && field.type !== "FLOAT"),
	);
	return {
		...defined({ friendlyName, maxStaleness, expirationTime }),
		...defined({ defaultCollation, defaultRoundingMode }),
		...(clustering && isClusterable && { clustering }),
		...(options.timePartitioning &&
			defined({ requirePartitionFilter: former.requirePartitionFilter })),
		...options,
		description:
			chosenBy(input).description ?? description ?? options.description ?? "",
		labels: { ...labelsOfPeople(former), ...options.labels },
		...(options.timePartitioning && {
			timePartitioning: {
				...defined({ expirationMs: timePartitioning?.expirationMs }),
				...options.timePartitioning,
			},
		}),
		schema: { fields: fields.map((field) => describedAs(field, former)) },
	};
}

function labelsOfPeople({ labels = {} }: BigQueryTable) {
	return Object.fromEntries(
		Object.entries(labels).filter(([name]) => !name.startsWith("tidemill-")),
	);
}

function describedAs(field: BigQueryField, { schema }: BigQueryTable) {
	const former = schema?.fields?.find(
		({ name }) => name.toLowerCase() === field.name.toLowerCase(),
	);
	if (!former) return field;
	const { description, roundingMode } = former;
	const { collation, defaultValueExpression } = former;
	return {
		...field,
		...defined({ description }),
		...(former.type === field.type &&
			defined({ roundingMode, collation, defaultValueExpression })),
	};
}

/** Columns that not everybody may read who may read the table. */
export function taggedColumns({
	schema,
}: {
	schema?: BigQueryTable["schema"] | undefined;
}): string[] {
	return (schema?.fields ?? [])
		.filter(({ policyTags, dataPolicies = [] }) =>
			[...(policyTags?.names ?? []), ...dataPolicies].some(Boolean),
		)
		.map(({ name }) => name);
}

/**
 * What protects a table, or is bound to what it has now, by name. Who has roles/bigquery.dataEditor may not set it on another
 * table (cloud.google.com/bigquery/docs/access-control#bigquery.dataEditor), so it would be lost with this one.
 */
export function lostWith(
	{ schema, resourceTags = {}, tableConstraints, ...former }: BigQueryTable,
	input: Pick<LoadInput, "destination">,
): string[] {
	const key = keyOf(former);
	return [
		...taggedColumns({ schema }).map(
			(name) => `the policy tags of column "${name}"`,
		),
		...Object.keys(resourceTags).map((tag) => `the tag ${tag}`),
		...(tableConstraints ? ["its primary and foreign keys"] : []),
		...(key !== undefined && wantedKey(input.destination) === undefined
			? [`its Cloud KMS key ${key}`]
			: []),
	];
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
	// Early builds copied a staging table over the table. If a copy was interrupted, the table would vanish with this expiration.
	if (existing.description?.startsWith("Staging table of a Run that loads "))
		Object.assign(wanted, {
			description: description ?? input.table.description,
			expirationTime: null,
		});
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
function keyOf({
	encryptionConfiguration,
}: Pick<BigQueryTable, "encryptionConfiguration">): string | undefined {
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

/** Without the members that are undefined. */
function defined<T extends object>(value: T) {
	return Object.fromEntries(
		Object.entries(value).filter(([, member]) => member !== undefined),
	) as { [Name in keyof T]?: Exclude<T[Name], undefined> };
}

/**
 * What the dataset's defaults do to tables that Runs create; undefined for nothing
 * (cloud.google.com/bigquery/docs/reference/rest/v2/datasets#Dataset.FIELDS.default_partition_expiration_ms).
 */
export function defaultExpiration({
	defaultTableExpirationMs: table,
	defaultPartitionExpirationMs: partition,
}: DatasetResource): string | undefined {
	if (!table && !partition) return undefined;
	const whole = (what: string) =>
		`deletes ${what}, with all its days, ${daysIn(table)} after it was created`;
	const days = `deletes a day ${daysIn(partition)} after its date`;
	const words = !partition
		? whole("a table")
		: table
			? `${days}, and ${whole("a table without Date").slice("deletes ".length)}`
			: days;
	return `By default expirations of the dataset, BigQuery ${words}. If that isn't wanted, remove them; tables that exist keep theirs.`;
}

/**
 * When BigQuery deletes the table or its days; undefined for never.
 * @param chosenDays what the Pipeline chose, which needs no word.
 */
export function tableExpiration(
	{ expirationTime, timePartitioning }: BigQueryTable,
	chosenDays: number | undefined,
): string | undefined {
	const { expirationMs } = timePartitioning ?? {};
	const isChosen = expirationMs === String((chosenDays ?? 0) * dayMs);
	const found = [
		...(expirationTime
			? [
					`the table on ${new Date(Number(expirationTime)).toISOString().slice(0, 10)}`,
				]
			: []),
		...(expirationMs && !isChosen
			? [`a day ${daysIn(expirationMs)} after its date`]
			: []),
	];
	if (found.length === 0) return undefined;
	return `By an expiration of the table, BigQuery deletes ${found.join(", and ")}.`;
}

function daysIn(ms = "0"): string {
	const days = Math.round((Number(ms) / dayMs) * 10) / 10;
	return days === 1 ? "1 day" : `${days} days`;
}
