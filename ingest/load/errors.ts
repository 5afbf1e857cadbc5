import { type JobError, jobExitCode } from "../../contracts/job.ts";

/**
 * Everything that can end `tidemill load` and `tidemill check`, with whether another attempt can help and what a person
 * should do. The code and the message stand in the Run's (or Destination's) status.
 */
export const jobErrors = {
	InputInvalid: {
		retryable: false,
		advice: "Run the operator and the image of the Jobs in the same version.",
	},
	ManifestUnavailable: {
		retryable: true,
		advice: "Check that the Job's network can reach the S3 endpoint.",
	},
	// Every attempt of a Run has the same links.
	ManifestExpired: {
		retryable: false,
		advice: "Start a new Run: it gets new links.",
	},
	ManifestInvalid: {
		retryable: false,
		advice: "Start a new Run; if that fails too, archive and load disagree.",
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
			"The table was left as it was. Restore the object in the bucket, then start a new Run.",
	},
	ScratchFull: {
		retryable: true,
		advice:
			"Raise the Pipeline's spec.runTemplate.resources (ephemeral-storage) or free space on the node.",
	},
	DestinationBusy: {
		retryable: true,
		advice: "Close the program that has the file open, then start a new Run.",
	},
	DestinationFull: {
		retryable: true,
		advice:
			"The table was left as it was. Grow the volume or free space on it.",
	},
	DestinationUnreadable: {
		retryable: false,
		advice:
			"Restore the file from a backup, or move it away to have a new one made.",
	},
	DestinationNotWritable: {
		retryable: false,
		advice:
			"Make the volume writable for the Job's user, or set another spec.duckDB.path.",
	},
	PathOutsideVolume: {
		retryable: false,
		advice:
			"Set the Destination's spec.duckDB.path to a file below the volume.",
	},
	TableIncompatible: {
		retryable: false,
		advice:
			"Change the Pipeline's spec.table.name, or set spec.table.onIncompatible: Rebuild to have the table made anew.",
	},
	OutOfMemory: {
		retryable: false,
		advice:
			"Every day in the table is whole. Raise the memory in the Pipeline's spec.runTemplate.resources.",
	},
	CredentialsMissing: {
		retryable: false,
		advice:
			"Set the Destination's spec.bigQuery.credentials.secretRef, or give its spec.serviceAccountName workload identity.",
	},
	CredentialsRefused: {
		retryable: false,
		advice:
			"Put a valid key of a Google service account into the Secret that the Destination names.",
	},
	PermissionDenied: {
		retryable: false,
		advice:
			"Grant the service account roles/bigquery.dataEditor on the dataset and roles/bigquery.jobUser on the project (roles/bigquery.user too, if it is to make the dataset).",
	},
	DatasetMissing: {
		retryable: false,
		advice:
			"Correct the Destination's spec.bigQuery.projectId and dataset, or set createDataset: true.",
	},
	LocationMismatch: {
		retryable: false,
		advice:
			"Set the Destination's spec.bigQuery.location to where the dataset is.",
	},
	BillingNotEnabled: {
		retryable: false,
		advice:
			"Link the Google Cloud project to a billing account that is in good standing.",
	},
	ProjectBlocked: {
		retryable: false,
		advice: "Ask Google Cloud's support why the project is blocked.",
	},
	QuotaExceeded: {
		retryable: true,
		advice:
			"Days that are done stay done. Wait until the quota is there again, have it raised, or run less often.",
	},
	RateLimited: {
		retryable: true,
		advice:
			"Days that are done stay done. The next Run tries it again; have other programs on this table or project slow down.",
	},
	BigQueryUnavailable: {
		retryable: true,
		advice:
			"Days that are done stay done. The next Run tries it again; see Google Cloud's status page if it lasts.",
	},
	BigQueryRefused: {
		retryable: false,
		advice:
			"Days that are done stay done. BigQuery's words say why; change what they name, then start a new Run.",
	},
	JobCancelled: {
		retryable: true,
		advice:
			"Somebody cancelled the job in BigQuery. The next attempt starts it anew.",
	},
	RowsDiffer: {
		retryable: false,
		advice:
			"Start a new Run, which replaces the day again; if it stays, report it with the Job's log.",
	},
	Superseded: {
		retryable: false,
		advice:
			"Nothing needs to be done: a later Run has loaded newer data into the table.",
	},
	Stopped: {
		retryable: true,
		advice: "Every day in the table is whole. The next attempt does the rest.",
	},
	Unexpected: {
		retryable: true,
		advice: "If it stays, report it with the Job's log.",
	},
} as const satisfies Record<string, { retryable: boolean; advice: string }>;

export type JobErrorCode = keyof typeof jobErrors;

/** A failure with its place in {@link jobErrors}. `what` says what happened, to what; it must hold no secret. */
export class JobFailure extends Error {
	override name = "JobFailure";
	readonly code: JobErrorCode;

	constructor(code: JobErrorCode, what: string, options?: ErrorOptions) {
		super(`${what.replace(/[.\s]*$/, ".")} ${jobErrors[code].advice}`, options);
		this.code = code;
	}

	get retryable(): boolean {
		return jobErrors[this.code].retryable;
	}

	get exitCode(): number {
		return this.retryable ? jobExitCode.retryable : jobExitCode.permanent;
	}

	toJobError(): JobError {
		return {
			code: this.code,
			message: this.message,
			retryable: this.retryable,
		};
	}
}
