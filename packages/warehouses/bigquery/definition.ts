import {
	type ErrorRule,
	passing,
	permanent,
	waiting,
} from "../../contracts/error-rule.ts";
import type { DestinationInput, TableColumn } from "../../contracts/job.ts";
import {
	quoted,
	secretHelp,
	type WarehouseDefinition,
} from "../definition/definition.ts";
import type { BigQuerySpec } from "../generated/specs.ts";

/** Where a dataset is if its Destination doesn't say. */
const defaultLocation = "EU";

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
	RowsHidden: permanent(
		"No row is erased there. Let the service account see all rows: CREATE ROW ACCESS POLICY tidemill ON <table> GRANT TO ('serviceAccount:<account>') FILTER USING (TRUE). Then start a new Run.",
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
		"Loaded days stay loaded. Correct what the message names, or what BigQuery says of the job, then start a new Run.",
		"Correct what the message names, or what BigQuery says of the job.",
	),
	JobCancelled: passing(
		"Somebody cancelled the job in BigQuery. The next attempt starts it again.",
	),
} satisfies Record<string, ErrorRule>;

/** A dataset of BigQuery. */
export const definition = {
	member: "bigQuery",
	noun: "a BigQuery dataset",

	defaults: { location: defaultLocation, createDataset: false },
	inputTexts: ["projectId", "dataset", "location"],
	deletedRows:
		"BigQuery's time travel for up to seven days, in its fail-safe storage for seven more, and in snapshots and copies of the table",
	takesDaysOneByOne: true,
	passesDaysDone: true,
	secrets: ({ credentials }) =>
		credentials
			? [
					{
						...credentials.secretRef,
						field: "credentials.secretRef",
						verifiedAs: "key",
						file: "key.json",
						env: "GOOGLE_APPLICATION_CREDENTIALS",
						problemOf: (value) =>
							parseServiceAccountKey(value)
								? undefined
								: 'is not the JSON key of a Google service account. Store the file that "gcloud iam service-accounts keys create" writes.',
					},
				]
			: [],
	endpoints: {
		setting: "TIDEMILL_BIGQUERY_ENDPOINTS",
		of: ({ apiEndpoint, storageEndpoint }) => ({
			apiEndpoint,
			storageEndpoint,
		}),
		otherwise: "Google's own endpoint",
	},

	// BigQuery loads many tables at once.
	writeLock: ({ projectId, dataset }, table) =>
		`${projectId}.${dataset}.${table}`,

	schemaOf: ({ projectId, dataset }) => ({
		database: projectId,
		schema: dataset,
	}),

	optionsOfColumns: ["bodyType", "clusterBy"],
	tableProblem(options: BigQueryTableOptions, columns) {
		const { clusterBy = [], bodyType } = options;
		const body = columns.find(({ from }) => from === "Body")?.name;
		const hasDate = columns.some(({ from }) => from === "Date");
		for (const ofDays of optionsOfDays)
			if (options[ofDays] !== undefined && !hasDate)
				return `spec.table.bigQuery.${ofDays} is ${options[ofDays]}, but the table has no column Date, by which it would be partitioned. Add Date to spec.table.columns, or remove ${ofDays}.`;
		if (bodyType !== undefined && body === undefined)
			return `spec.table.bigQuery.bodyType is "${bodyType}", but the table has no column Body. Add Body to spec.table.columns, or remove bodyType.`;
		for (const name of clusterBy) {
			const column = columns.find((column) => column.name === name);
			const field = `spec.table.bigQuery.clusterBy has "${name}", `;
			if (!column)
				return `${field}which is no column of the table. Its columns are ${columns.map(({ name }) => name).join(", ")}.`;
			if (bodyType === "JSON" && name === body)
				return `${field}a column of type JSON, by which BigQuery can't sort. Remove it.`;
			if (isNumber(column))
				return `${field}a column of type Number, by which BigQuery can't sort. Remove it, or load the value as Integer or String.`;
		}
		return undefined;
	},
	// Load jobs, failed ones included, of a table and of a project (cloud.google.com/bigquery/quotas#load_jobs).
	loadsPerTableAndDay: 1_500,
	loadsPerDay: 100_000,

	secretFields: [
		{
			at: ["credentials"],
			inline: "key",
			ref: "secretRef",
			description:
				"The service account's JSON key as a string, instead of `secretRef`. The API keeps it in a Secret and never returns it.",
			problemOf: (key) =>
				parseServiceAccountKey(key)
					? undefined
					: "must be the JSON key of a Google service account, as a string",
		},
	],
	nameQuote: "`",
	client: ({ projectId, dataset, location = defaultLocation }) => ({
		words: [
			"bq",
			`--project_id=${projectId}`,
			`--dataset_id=${projectId}:${dataset}`,
			`--location=${location}`,
			"query",
			"--nouse_legacy_sql",
		],
		query: "",
		takes: "the account of gcloud auth login",
	}),
	patternWords: {
		"^([a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]$":
			"must be the ID of a Google Cloud project, such as shop-123456",
		"^[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]$":
			"must be the name of a bucket: 3 to 63 lower-case letters, digits, '.', '_' and '-'",
		"^projects/[^/\\x00-\\x1f\\x7f-\\x9f]+/locations/[^/\\x00-\\x1f\\x7f-\\x9f]+/keyRings/[^/\\x00-\\x1f\\x7f-\\x9f]+/cryptoKeys/[^/\\x00-\\x1f\\x7f-\\x9f]+$":
			"must be the name of a key of Cloud KMS: projects/…/locations/…/keyRings/…/cryptoKeys/…",
		"^https?://[A-Za-z0-9.-]+(:[0-9]+)?(/[A-Za-z0-9._/-]*)?$":
			"must be a URL such as https://bigquery.example.com",
	},
	cli: {
		flags: "--bigquery <project.dataset>",
		about: "a dataset of BigQuery",
		example:
			"--bigquery acme-data.events --set bigQuery.location=EU --secret-file key.json",
		specOf(word) {
			// A project of a domain has dots, too: example.com:acme-data.
			const [, projectId, dataset] = /^(.+)\.([^.]+)$/.exec(word) ?? [];
			return projectId === undefined || dataset === undefined
				? `--bigquery is ${quoted(word)}, but must be a project and a dataset, such as acme-data.events`
				: { projectId, dataset };
		},
		answer: "a project and dataset of BigQuery such as acme.events",
		answers: /^(?!.*\.duckdb$)[^/]*$/,
		secretKey: "key.json",
	},
	form: {
		title: "a dataset",
		fields: {
			projectId: { label: "Project", help: "The Google Cloud project's ID." },
			dataset: { label: "Dataset" },
			location: {
				label: "Location",
				help: `Such as EU, US or europe-west1. Empty: ${defaultLocation}.`,
			},
			createDataset: {
				label: "Create the dataset if it isn't there",
				isTick: true,
			},
			"credentials.secretRef.name": {
				label: "Secret with a service account's key",
				help: `${secretHelp} Empty: workload identity.`,
			},
			"credentials.secretRef.key": {
				label: "Key in that Secret",
				help: "Such as key.json.",
			},
			stagingBucket: {
				label: "Staging bucket",
				help: "A Cloud Storage bucket for load jobs. Empty: files go to BigQuery directly.",
			},
			kmsKeyName: {
				label: "Cloud KMS key",
				help: "The full name of the key that encrypts new tables. Empty: the dataset's.",
			},
		},
		tableFields: {
			bodyType: {
				label: "Type of body in BigQuery",
				help: "Not set: STRING, byte for byte. JSON is quicker and cheaper to query, but keeps neither spaces nor the order of members; a body that it can't hold is NULL and counted.",
			},
			partitionExpirationDays: {
				label: "Days that BigQuery keeps",
				help: "1 to 36500: BigQuery deletes the rows of older days, also of those that a run loads. Empty: as the table has it.",
			},
			requirePartitionFilter: {
				label: "Refuse queries without a date",
				help: "BigQuery refuses queries that don't limit the column date.",
				isTick: true,
			},
		},
		place: ({ projectId, dataset }) => [projectId, dataset],
	},
	errors: bigQueryErrors,
} satisfies WarehouseDefinition<BigQuerySpec>;

/** Options of a table that is partitioned by date. */
const optionsOfDays = [
	...(["partitionExpirationDays", "requirePartitionFilter"] as const),
];

/** A FLOAT64 in BigQuery, the only type of ours that can't be clustered by (cloud.google.com/bigquery/docs/creating-clustered-tables#limitations). */
function isNumber({ from }: TableColumn): boolean {
	return typeof from === "object" && "type" in from && from.type === "Number";
}

/** What a Job knows of a dataset. Credentials are a service account's key in a file; without one, workload identity. */
export interface BigQueryInput
	extends DestinationInput,
		Omit<BigQuerySpec, "credentials"> {
	location: string;
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

/** The cloud that nearly all keys are for. */
export const googleUniverse = "googleapis.com";

/** What signs a token as a Google service account. */
export interface ServiceAccountKey {
	email: string;
	privateKey: string;
	/** Of the key, for the token's header. */
	id?: string;
	/** The domain of the cloud that the key is for (AIP-4111, universe_domain). It names no address that is called. */
	universe: string;
	/** The project whose quota pays for requests (docs.cloud.google.com/docs/quotas/set-quota-project). */
	quotaProject?: string;
}

/**
 * Reads the JSON key of a Google service account; undefined for anything else. Google's library also accepts kinds of
 * credentials that read any file and call any address their author chooses (google.aip.dev/auth/4117). Every other field is
 * ignored, such as `token_uri`, which names an address, too.
 */
export function parseServiceAccountKey(
	text: string,
): ServiceAccountKey | undefined {
	try {
		const key = JSON.parse(text) as Record<string, unknown>;
		const { type, client_email, private_key, private_key_id } = key;
		const { universe_domain, quota_project_id } = key;
		if (
			type !== "service_account" ||
			typeof client_email !== "string" ||
			typeof private_key !== "string"
		)
			return undefined;
		return {
			email: client_email,
			privateKey: private_key,
			...(typeof private_key_id === "string" && { id: private_key_id }),
			universe:
				typeof universe_domain === "string" && universe_domain !== ""
					? universe_domain
					: googleUniverse,
			...(isProject(quota_project_id) && { quotaProject: quota_project_id }),
		};
	} catch {
		return undefined;
	}
}

/** It becomes a header's value. */
function isProject(value: unknown): value is string {
	return (
		typeof value === "string" && /^[a-z0-9][a-z0-9.:-]{1,100}$/.test(value)
	);
}
