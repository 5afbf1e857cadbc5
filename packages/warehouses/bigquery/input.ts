import type { DestinationInput } from "../../contracts/job.ts";

/** What a Job knows of a dataset. Credentials are a service account's key in a file; without one, workload identity. */
export interface BigQueryInput extends DestinationInput {
	projectId: string;
	dataset: string;
	/** Where the dataset is or will be created. */
	location: string;
	createDataset: boolean;
	/** Resource name of the key of Cloud KMS that tables are encrypted with; the dataset's default when absent. */
	kmsKeyName?: string;
	/** Base URL of the API; Google's own when absent. */
	apiEndpoint?: string;
	/** Bucket of Cloud Storage that load jobs read from; without one, files come with the request that starts a job. */
	stagingBucket?: string;
	/** Base URL of Cloud Storage's API; Google's own when absent. */
	storageEndpoint?: string;
}

/** What a table shall have beside its columns. What is absent stays as the table has it. */
export interface BigQueryTableOptions {
	description?: string;
	labels?: Record<string, string>;
	partitionExpirationDays?: number;
	requirePartitionFilter?: boolean;
	/** Of the column Body. STRING if it is absent. */
	bodyType?: "STRING" | "JSON";
	/** Names of columns. */
	clusterBy?: string[];
}
