import {
	type ErrorRule,
	passing,
	permanent,
	waiting,
} from "../../contracts/error-rule.ts";

/** The failures of Jobs that only BigQuery has. */
export const bigQueryErrors = {
	CredentialsMissing: permanent(
		"Set the Destination's spec.bigQuery.credentials.secretRef, or give workload identity to its spec.serviceAccountName.",
	),
	CredentialsRefused: permanent(
		"Put a valid key of a Google service account into the Secret that the Destination names.",
	),
	PermissionDenied: permanent(
		"Grant the service account roles/bigquery.dataEditor on the dataset and roles/bigquery.jobUser on the project (also roles/bigquery.user, if it should create the dataset).",
	),
	DatasetMissing: permanent(
		"Correct the Destination's spec.bigQuery.projectId and dataset, or set createDataset: true.",
	),
	StagingBucketDenied: permanent(
		"Grant the service account roles/storage.objectUser and roles/storage.legacyBucketReader on the bucket that the Destination's spec.bigQuery.stagingBucket names.",
	),
	StagingBucketMissing: permanent(
		"Correct the Destination's spec.bigQuery.stagingBucket, or create the bucket in the dataset's location.",
	),
	LocationMismatch: permanent(
		"Set the Destination's spec.bigQuery.location to the dataset's location.",
	),
	BillingNotEnabled: permanent(
		"Link the Google Cloud project to a billing account in good standing.",
	),
	ProjectBlocked: permanent(
		"Ask Google Cloud support why the project is blocked.",
	),
	QuotaExceeded: waiting(
		"Loaded days stay loaded. Request a higher quota, run less often, or lower spec.overwritePeriodDays. Until its time is over, the Run tries again every 15 minutes.",
		"Wait until the quota resets, or request a higher one.",
	),
	RateLimited: passing(
		"Loaded days stay loaded. The next Run tries again. Slow down other programs that use this table or project.",
		"Slow down other programs that use this project.",
	),
	BigQueryUnavailable: passing(
		"Loaded days stay loaded. The next Run tries again. If it keeps failing, see Google Cloud's status page.",
		"If it keeps failing, see Google Cloud's status page.",
	),
	BigQueryRefused: permanent(
		"Loaded days stay loaded. Correct what BigQuery's message names, then start a new Run.",
		"Correct what BigQuery's message names.",
	),
	JobCancelled: passing(
		"Somebody cancelled the job in BigQuery. The next attempt starts it again.",
	),
} satisfies Record<string, ErrorRule>;
