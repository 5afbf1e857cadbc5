/** The parts of BigQuery's REST resources that load uses (cloud.google.com/bigquery/docs/reference/rest/v2). 64-bit numbers are strings. */

export interface TableReference {
	projectId: string;
	datasetId: string;
	/** With `$YYYYMMDD` it names one day's partition. */
	tableId: string;
}

export interface DatasetResource {
	location: string;
	/** Milliseconds from a new table's creation to its end, unless it says when. */
	defaultTableExpirationMs?: string;
	/** Milliseconds from the time of a new partitioned table's partition to its end. In place of `defaultTableExpirationMs`. */
	defaultPartitionExpirationMs?: string;
}

export interface BigQueryField {
	name: string;
	type: string;
	/** NULLABLE when absent. */
	mode?: string;
	/** Who may read it. */
	policyTags?: { names?: string[] };
	dataPolicies?: { name: string }[];
	/** What else people set, such as a description. */
	[setting: string]: unknown;
}

export interface BigQueryTable {
	tableReference: TableReference;
	/** TABLE, VIEW, EXTERNAL, … Read only. */
	type?: string;
	etag?: string;
	/** Of a view. */
	view?: { query: string; useLegacySql: false };
	/** Without those in the streaming buffer. Zero for a view. Read only. */
	numRows?: string;
	/** There while rows that were streamed aren't stored with the others. Read only. */
	streamingBuffer?: { estimatedRows?: string };
	/** Milliseconds since the epoch. */
	creationTime?: string;
	/** Milliseconds since the epoch. In a change, null: the table no longer expires. */
	expirationTime?: string | null;
	description?: string;
	labels?: Record<string, string>;
	schema?: { fields?: BigQueryField[] };
	/** `expirationMs`: milliseconds that a partition is kept. */
	timePartitioning?: { type: string; field?: string; expirationMs?: string };
	rangePartitioning?: object;
	requirePartitionFilter?: boolean;
	clustering?: { fields?: string[] };
	encryptionConfiguration?: EncryptionConfiguration;
	friendlyName?: string;
	maxStaleness?: string;
	defaultCollation?: string;
	defaultRoundingMode?:
		| "ROUNDING_MODE_UNSPECIFIED"
		| "ROUND_HALF_AWAY_FROM_ZERO"
		| "ROUND_HALF_EVEN";
	tableConstraints?: object;
	/** Tags of the Resource Manager, which may decide who has access. */
	resourceTags?: Record<string, string>;
}

export interface EncryptionConfiguration {
	/** In answers it may end with the version of the key: `/cryptoKeyVersions/1`. */
	kmsKeyName?: string;
}

/** The first replaces a table with its schema and settings, the second its rows alone. */
export type WriteDisposition = "WRITE_TRUNCATE" | "WRITE_TRUNCATE_DATA";

export interface BigQueryJob {
	jobReference: { projectId: string; jobId: string; location?: string };
	configuration: {
		labels?: Record<string, string>;
		load?: {
			destinationTable: TableReference;
			/** Objects of Cloud Storage; absent if the file comes with the request. */
			sourceUris?: string[];
			sourceFormat: "PARQUET" | "NEWLINE_DELIMITED_JSON";
			writeDisposition: WriteDisposition;
			createDisposition: "CREATE_NEVER";
			decimalTargetTypes?: ("NUMERIC" | "BIGNUMERIC")[];
			destinationEncryptionConfiguration?: EncryptionConfiguration;
		};
		query?: { query: string; useLegacySql: false };
	};
	status?: { state: "PENDING" | "RUNNING" | "DONE"; errorResult?: ErrorProto };
	statistics?: {
		creationTime?: string;
		load?: { outputRows?: string };
		query?: { numDmlAffectedRows?: string };
	};
}

export interface ErrorProto {
	reason?: string;
	message?: string;
}
