/**
 * Every reason that a condition can have: kind → condition type → reason → what it means, in one line.
 * docs/reference/conditions.md says the same to people; a test holds the two together. Reasons are API: they are added,
 * never renamed.
 */
export const reasons = {
	Source: {
		Ready: {
			Active: "The URL accepts events.",
			Suspended: "`spec.suspend` is true: senders are answered with 403.",
			SecretNotFound:
				"The Secret that `secretRef` names does not exist in the Source's namespace. `Ready` is Unknown for the Source's first half minute, then False.",
			SecretNotLabelled:
				'The Secret does not carry the label `tidemill.dev/use: "true"`, without which it is not read.',
			SecretKeyNotFound: "The Secret has no such key.",
			TokenInvalid:
				"The token in the Secret is empty or holds control characters, so no sender could present it.",
			SigningSecretInvalid:
				"A signing secret is empty or not written as its scheme has it; everything is refused with 401.",
			SealKeyMissing:
				"The operator has no TIDEMILL_SEAL_KEY, without which signing secrets can't be handed to the receivers; everything is refused with 401.",
			UnsupportedTrackingPlan:
				"This version does not apply tracking plans; everything is refused with 401 rather than stored unchecked.",
			KeyTaken:
				"The source key belongs to another namespace or to an older Source in this one.",
			KeyDeleted:
				"The source key was deleted with the events of the Source that had it, and is never used again.",
			KeysSecretInvalid:
				"The Secret `<source>-webhook-url` was not issued by Tidemill for this Source, or its keys are damaged.",
			RouteNotPublished:
				"The URL's route is on its way to the receivers; it waits for NATS if that is away.",
			DeletingEvents:
				"The Source is being deleted, with `spec.deletionPolicy: Delete`: archive deletes its stored events.",
			DeletionWaitsForRoute:
				"The Source is being deleted: its URL must be taken from the receivers first, and NATS is away.",
			DeletionWaitsForRun:
				"The Source is being deleted: its events go when the Run that loads them has ended.",
			DeletionWaitsForArchive:
				"The Source is being deleted: archive or its bucket is away, or its shard has stopped; the message has archive's words. It is tried again. With `spec.deletionPolicy: Retain` the Source goes without waiting.",
		},
	},
	Destination: {
		Ready: {
			Verified: "A check from inside the namespace could write.",
			Checking: "The check is running.",
			CheckFailed:
				"The check failed; the message has the destination's own words. It is repeated.",
			CheckNotFinished:
				"The check's Pod did not start or did not end in time; the message says what it waited for. It is repeated.",
			CheckNotStarted:
				"Kubernetes refused the check's Job or Secret; the message has its words. It is repeated.",
			EndpointNotAllowed:
				"`spec.bigQuery.apiEndpoint` is not on the operator's list `TIDEMILL_BIGQUERY_ENDPOINTS`.",
			UnsupportedStagingBucket:
				"This version uploads data to BigQuery directly and uses no bucket.",
			SecretNotFound:
				"The Secret that `credentials.secretRef` names does not exist in the Destination's namespace. `Ready` is Unknown for the Destination's first half minute, then False.",
			SecretNotLabelled:
				'The Secret does not carry the label `tidemill.dev/use: "true"`, without which it is not used.',
			SecretKeyNotFound: "The Secret has no such key.",
			CredentialsInvalid:
				"The Secret's key does not hold the JSON key of a Google service account.",
			VolumeClaimRequired:
				"A DuckDB destination needs `spec.duckDB.volumeClaimName`: the volume its file is on.",
		},
	},
	Pipeline: {
		Ready: {
			Resolved: "Source, Destination and table are settled: it can run.",
			SourceNotFound:
				"There is no Source of that name in the Pipeline's namespace. `Ready` is Unknown for the Pipeline's first half minute, then False.",
			SourceNotReady:
				"The Source has no source key (`Ready` is Unknown while it may get one), or its key isn't its own.",
			DestinationNotFound:
				"There is no Destination of that name in the Pipeline's namespace. `Ready` is Unknown for the Pipeline's first half minute, then False.",
			DestinationNotReady:
				"The Destination is not verified; the message has its own reason. `Ready` is Unknown while it is being checked.",
			TableConflict:
				"An older Pipeline loads into the same table of the same warehouse.",
			TableIncompatible:
				"The last Run found a table that does not fit the columns. The schedule waits; a Run made by hand tries again.",
			InvalidSchedule:
				"`spec.schedule.cron` is not a cron expression of five fields that ever comes.",
			TooManyLoadJobs:
				"The schedule and the overwrite period would make more load jobs a day than BigQuery takes for a table.",
			InvalidTimeZone: "`spec.schedule.timeZone` is not an IANA time zone.",
		},
		RunSucceeded: {
			Succeeded: "The last Run succeeded.",
			Failed: "The last Run failed; the message has its error.",
			Cancelled: "The last Run was cancelled.",
		},
	},
	TrackingPlan: {
		Ready: {
			Valid: "Every schema of the plan is valid.",
			InvalidSchema:
				"One of the plan's schemas is no JSON Schema, or can't be used; the message says which and why.",
		},
	},
	Run: {
		Complete: {
			Succeeded: "The table holds the days of the Run.",
			Failed: "The Run failed: see the condition Failed.",
			Cancelled: "The Run was cancelled.",
			PipelineNotFound:
				"There is no Pipeline of that name in the Run's namespace. The Run waits for it.",
			PipelineNotReady:
				"The Pipeline can't run; the message has its reason. The Run waits.",
			WaitingForTurn:
				"Another Run has the warehouse's file or stands before this one.",
			Preparing: "Archive is asked which objects to load.",
			ManifestUnavailable:
				"Archive could not be asked which objects to load. It is tried again.",
			JobNotStarted:
				"Kubernetes refused the Job or its input; the message has its words. It is tried again.",
			PodWaiting:
				"The Job's Pod can't start; the message says what it waits for.",
			Loading: "The Job is at work.",
		},
		Failed: {
			LoadFailed:
				"The load ended with an error: `status.error` says which and what to do.",
			ManifestRefused:
				"Archive refused to answer which objects to load: `status.error` says why.",
			DatesNotLoadable:
				"`spec.dates` can't be loaded alone: `status.error` says why.",
			Cancelled: "`spec.cancel` was set.",
		},
	},
} as const satisfies Record<string, Record<string, Record<string, string>>>;

type Reasons = typeof reasons;

/** The reasons that a kind's condition type can have, so that a decide can't name one that isn't in the table. */
export type Reason<
	Kind extends keyof Reasons,
	Type extends keyof Reasons[Kind] = "Ready" & keyof Reasons[Kind],
> = keyof Reasons[Kind][Type] & string;
