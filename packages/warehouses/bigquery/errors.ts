import type { JobErrorRule } from "../definition/definition.ts";

/** The failures of Jobs that only BigQuery has. */
export const bigQueryErrors = {
	CredentialsMissing: {
		retryable: false,
		advice:
			"Set the Destination's spec.bigQuery.credentials.secretRef, or give workload identity to its spec.serviceAccountName.",
	},
	CredentialsRefused: {
		retryable: false,
		advice:
			"Put a valid key of a Google service account into the Secret that the Destination names.",
	},
	PermissionDenied: {
		retryable: false,
		advice:
			"Grant the service account roles/bigquery.dataEditor on the dataset and roles/bigquery.jobUser on the project (also roles/bigquery.user, if it should create the dataset).",
	},
	DatasetMissing: {
		retryable: false,
		advice:
			"Correct the Destination's spec.bigQuery.projectId and dataset, or set createDataset: true.",
	},
	StagingBucketDenied: {
		retryable: false,
		advice:
			"Grant the service account roles/storage.objectUser and roles/storage.legacyBucketReader on the bucket that the Destination's spec.bigQuery.stagingBucket names.",
	},
	StagingBucketMissing: {
		retryable: false,
		advice:
			"Correct the Destination's spec.bigQuery.stagingBucket, or create the bucket in the dataset's location.",
	},
	LocationMismatch: {
		retryable: false,
		advice:
			"Set the Destination's spec.bigQuery.location to the dataset's location.",
	},
	BillingNotEnabled: {
		retryable: false,
		advice:
			"Link the Google Cloud project to a billing account in good standing.",
	},
	ProjectBlocked: {
		retryable: false,
		advice: "Ask Google Cloud support why the project is blocked.",
	},
	QuotaExceeded: {
		retryable: true,
		advice:
			"Loaded days stay loaded. Wait until the quota resets, request a higher one, or run less often.",
		checkAdvice: "Wait until the quota resets, or request a higher one.",
	},
	RateLimited: {
		retryable: true,
		advice:
			"Loaded days stay loaded. The next Run tries again. Slow down other programs that use this table or project.",
		checkAdvice: "Slow down other programs that use this project.",
	},
	BigQueryUnavailable: {
		retryable: true,
		advice:
			"Loaded days stay loaded. The next Run tries again. If it keeps failing, see Google Cloud's status page.",
		checkAdvice: "If it keeps failing, see Google Cloud's status page.",
	},
	BigQueryRefused: {
		retryable: false,
		advice:
			"Loaded days stay loaded. Correct what BigQuery's message names, then start a new Run.",
		checkAdvice: "Correct what BigQuery's message names.",
	},
	JobCancelled: {
		retryable: true,
		advice:
			"Somebody cancelled the job in BigQuery. The next attempt starts it again.",
	},
} as const satisfies Record<string, JobErrorRule>;
