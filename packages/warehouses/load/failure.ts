import { type JobError, jobExitCode } from "../../contracts/job.ts";

/**
 * Every failure of `tidemill load`, `check` and `operation`: whether another attempt can help, and what a person should do.
 * The code and the message appear in the status of the Run, Destination or Operation.
 */
export const jobErrors = {
	InputInvalid: {
		retryable: false,
		advice: "Run the same version of the operator and the Job image.",
	},
	ManifestUnavailable: {
		retryable: true,
		advice: "Check that the Job's network can reach the S3 endpoint.",
	},
	// Every attempt of a Run has the same links.
	ManifestExpired: {
		retryable: false,
		advice: "Start a new Run to get new links.",
	},
	ManifestInvalid: {
		retryable: false,
		advice:
			"Start a new Run. If it fails too, check that archive and the Job image have the same version.",
	},
	ObjectUnavailable: {
		retryable: true,
		advice: "Check that the Job's network can reach the S3 endpoint.",
	},
	ObjectMissing: {
		retryable: false,
		advice:
			"Start a new Run. If the object is still missing, it was deleted from the bucket: restore it.",
	},
	ObjectMismatch: {
		retryable: false,
		advice:
			"The table is unchanged. Restore the object in the bucket, then start a new Run.",
	},
	ScratchFull: {
		retryable: true,
		advice:
			"Raise ephemeral-storage in the Pipeline's spec.runTemplate.resources, or free space on the node.",
	},
	DestinationBusy: {
		retryable: true,
		advice: "Close the program that has the file open, then start a new Run.",
	},
	DestinationFull: {
		retryable: true,
		advice: "The table is unchanged. Grow the volume or free space on it.",
	},
	DestinationUnreadable: {
		retryable: false,
		advice:
			"Restore the file from a backup, or move it away so that a new one is created.",
	},
	DestinationNotWritable: {
		retryable: false,
		advice:
			"Make the volume writable for the Job's user, or set another spec.duckDB.path.",
	},
	PathOutsideVolume: {
		retryable: false,
		advice:
			"Set the Destination's spec.duckDB.path to a file inside the volume.",
	},
	TableIncompatible: {
		retryable: false,
		advice:
			"Change the Pipeline's spec.table.name, or set spec.table.onIncompatible: Rebuild to replace the table.",
	},
	TableNotOurs: {
		retryable: false,
		advice:
			"Set the Pipeline's spec.table.name to another name; or set spec.table.adopt: true to take the table over (if it is true already, a Run has used it up: remove it first); or drop the table and start a Run.",
	},
	// The operator answers with the whole window, so people see this only if the Run's time is over.
	TableIncomplete: {
		retryable: false,
		advice:
			"The table is unchanged. Start a new Run with spec.full: true, which loads all days.",
	},
	OutOfMemory: {
		retryable: false,
		advice:
			"Every day in the table is complete. Raise the memory in the Pipeline's spec.runTemplate.resources.",
	},
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
	},
	RateLimited: {
		retryable: true,
		advice:
			"Loaded days stay loaded. The next Run tries again. Slow down other programs that use this table or project.",
	},
	BigQueryUnavailable: {
		retryable: true,
		advice:
			"Loaded days stay loaded. The next Run tries again. If it keeps failing, see Google Cloud's status page.",
	},
	BigQueryRefused: {
		retryable: false,
		advice:
			"Loaded days stay loaded. Correct what BigQuery's message names, then start a new Run.",
	},
	JobCancelled: {
		retryable: true,
		advice:
			"Somebody cancelled the job in BigQuery. The next attempt starts it again.",
	},
	RowsDiffer: {
		retryable: false,
		advice:
			"Start a new Run, which replaces the day again. If it keeps failing, report it with the end of the log, which the status has.",
	},
	PlanInvalid: {
		retryable: false,
		advice: "Correct the plan, then create another Operation.",
	},
	EventTypeUnknown: {
		retryable: false,
		advice:
			"Add the header to the Source's spec.webhook.capturedHeaders. Then the events that come from now on can be read.",
	},
	UploadInvalid: {
		retryable: false,
		advice: "Correct the file, upload it again, then create another Operation.",
	},
	RowsInvalid: {
		retryable: false,
		advice:
			"Nothing was added. Correct the file, or set spec.import.skipInvalidRows to add the other rows, then create another Operation.",
	},
	ImportTooLarge: {
		retryable: false,
		advice: "Nothing was added. Split the files among several Operations.",
	},
	ReportNotStored: {
		retryable: true,
		advice: "Check that the Job's network can reach the S3 endpoint.",
	},
	Superseded: {
		retryable: false,
		advice:
			"No action is needed: a later Run has loaded newer data into the table.",
	},
	Stopped: {
		retryable: true,
		advice:
			"Every day in the table is complete. The next attempt loads the rest.",
	},
	Unexpected: {
		retryable: true,
		advice:
			"If it keeps failing, report it with the end of the log, which the status has.",
	},
} as const satisfies Record<string, { retryable: boolean; advice: string }>;

export type JobErrorCode = keyof typeof jobErrors;

/** The processes that Jobs run. */
export type Role = "load" | "check" | "operation";

/** Where the advice is about Runs, what it is for a check. Tidemill repeats a check that failed. */
export const checkAdvice: Partial<Record<JobErrorCode, string>> = {
	DestinationBusy: "Close the program that has the file open.",
	DestinationFull: "Grow the volume or free space on it.",
	OutOfMemory:
		"Raise the memory in the Destination's spec.checkTemplate.resources.",
	ScratchFull:
		"Raise ephemeral-storage in the Destination's spec.checkTemplate.resources, or free space on the node.",
	QuotaExceeded: "Wait until the quota resets, or request a higher one.",
	RateLimited: "Slow down other programs that use this project.",
	BigQueryUnavailable: "If it keeps failing, see Google Cloud's status page.",
	BigQueryRefused: "Correct what BigQuery's message names.",
	Stopped: "The next attempt checks it.",
};

/** A failure of a Job. `what` says what happened to what, and must hold no secret. */
export class JobFailure extends Error {
	override name = "JobFailure";
	readonly code: JobErrorCode;
	/** A sentence, without advice. */
	readonly what: string;

	constructor(code: JobErrorCode, what: string, options?: ErrorOptions) {
		const sentence = what.replace(/[.\s]*$/, ".");
		super(`${sentence} ${jobErrors[code].advice}`, options);
		this.code = code;
		this.what = sentence;
	}

	get retryable(): boolean {
		return jobErrors[this.code].retryable;
	}

	get exitCode(): number {
		return this.retryable ? jobExitCode.retryable : jobExitCode.permanent;
	}

	toJobError(role?: Role): JobError {
		const { code, message, retryable } = this;
		const advice = role === "check" ? checkAdvice[code] : undefined;
		return {
			code,
			message: advice === undefined ? message : `${this.what} ${advice}`,
			retryable,
		};
	}
}
