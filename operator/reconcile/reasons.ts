import type { ConditionFinding } from "../../packages/kube/conditions.ts";

const secretTooLarge =
	"The value in the Secret, or all that the namespace's resources name, is larger than Tidemill holds in memory; the message has the size and the bound.";

/** They are the same for each kind that notifies webhooks. */
const notificationReasons = {
	NothingToTell: "The webhooks are known, and there was no notification yet.",
	Delivered: "Each webhook got the latest notification.",
	Pending:
		"Notifications wait in `status.pendingNotifications`: NATS is unreachable, or 50 of the namespace's wait to be delivered. Tidemill retries for two days.",
	Delivering:
		"The latest call of a webhook failed; the message says why. It is called again, for more than a day.",
	DeliveryFailed:
		"A webhook could not be notified and is not called again for it; the message says why. The next notification is tried anew.",
	WebhookInvalid:
		"A Secret of `spec.notify.secretRefs` has no usable webhook; the message says what is wrong.",
	SecretNotFound: "A Secret of `spec.notify.secretRefs` does not exist.",
	SecretNotLabelled:
		'The Secret with the webhook lacks the label `tidemill.dev/use: "true"`, so Tidemill does not read it.',
	SecretKeyNotFound: "The Secret with the webhook has no key `url`.",
	SecretTooLarge: secretTooLarge,
	SealKeyMissing:
		"The operator has no TIDEMILL_SEAL_KEY, so it can't pass webhooks to notify.",
} as const;

/** It is the same for each kind. */
const writeRefused = {
	WriteRefused:
		"Kubernetes refused a write that the operator needs: an admission webhook fails or denies it, or a quota or a policy forbids it. The message has Kubernetes' own words. Tidemill retries after a second, then after up to a minute.",
} as const;
/** Of every kind: the operator can't work in the namespace. */
const notPermitted =
	"The operator lacks a permission in the namespace, because its RoleBinding is missing or its ClusterRole has changed; the message says which, and the command that restores it.";

/**
 * Every reason a condition can have: kind → condition type → reason → its meaning.
 * docs/reference/conditions.md is generated from this table. Reasons are API: add, never rename.
 */
export const reasons = {
	Source: {
		Ready: {
			...writeRefused,
			Active: "The URL accepts events.",
			Suspended: "`spec.suspend` is true. Senders get 403.",
			SecretNotFound:
				"The Secret that `secretRef` names does not exist in the Source's namespace. `Ready` is Unknown for the Source's first half minute, then False.",
			SecretNotLabelled:
				'The Secret lacks the label `tidemill.dev/use: "true"`, so Tidemill does not read it.',
			SecretKeyNotFound: "The Secret has no such key.",
			SecretTooLarge: secretTooLarge,
			TokenInvalid:
				"The token in the Secret is empty, contains control characters or has fewer than 16 bytes. Senders with a token get 503, so that they repeat, and others 401.",
			SigningSecretInvalid:
				"A signing secret or a public key is empty or does not have its scheme's format. Senders with a signature get 503, so that they repeat, and others 401.",
			SealKeyMissing:
				"The operator has no TIDEMILL_SEAL_KEY, so it can't pass tokens and signing secrets to the receivers. Senders with a token or signature get 503, so that they repeat, and others 401.",
			TrackingPlanUnavailable:
				"The TrackingPlan that `spec.webhook.trackingPlanRef` names does not exist, or no version of it was ever valid. Senders get 503, so that no event is stored unvalidated. `Ready` is Unknown while the plan is new.",
			KeyTaken:
				"The source key belongs to another namespace or to an older Source in this one.",
			KeyDeleted:
				"The source key was deleted together with the events of its Source. It is never used again.",
			KeysSecretInvalid:
				"Tidemill did not issue the Secret `<source>-webhook-url` for this Source, or its keys are damaged.",
			RouteNotPublished:
				"The receivers don't have the URL's current route yet. The message has NATS's error, if there is one.",
			ShardMissing:
				"The chart value `shards` was lowered, and the Source's events belong to a shard that isn't there any more. Senders get 503 until it is raised again.",
			BufferFull:
				"The buffer in NATS of the Source's shard is full, so senders get 503 until archive has made room. What was acknowledged is kept. [What to do](../runbooks/TidemillBufferFills.md).",
			ArchiveStopped:
				"Archive has stopped a shard that holds the Source's events; the message has its alarm. The URL accepts events until the buffer is full, none is lost, and Runs can't load them. [What to do](errors.md#alarms-of-archive).",
			DeletingEvents:
				"The Source is being deleted with `spec.deletionPolicy: Delete`, and archive is deleting its stored events.",
			DeletionWaitsForRoute:
				"The Source is being deleted. The receivers must stop serving its URL first, and NATS is unreachable.",
			DeletionWaitsForRun:
				"The Source is being deleted. Its events stay until the Run that loads them ends.",
			DeletionWaitsForArchive:
				"The Source is being deleted. Archive or its bucket is unreachable, or the shard has stopped; the message has archive's error. Tidemill retries. With `spec.deletionPolicy: Retain` the Source goes without waiting.",
			NotPermitted: notPermitted,
		},
		PlanCurrent: {
			Current: "The TrackingPlan, as it is now, validates the Source's events.",
			PlanPending: "The TrackingPlan has changed and is being compiled.",
			PlanNotFound:
				"There is no TrackingPlan of that name. Its last good version goes on validating, if there is one.",
			PlanInvalid:
				"The TrackingPlan is invalid: see its condition `Ready`. Its last good version goes on validating, if there is one.",
			PlanDeleting:
				"The TrackingPlan is being deleted, and goes once no Source names it. It goes on validating.",
		},
		Receiving: {
			EventsArrive:
				"An event has arrived within `spec.notify.quietAfter`, or the Source was not watched for so long yet.",
			Quiet:
				"No event has arrived within `spec.notify.quietAfter`; or archive is behind, which its alerts say.",
		},
		NotificationsDelivered: notificationReasons,
		RetentionCurrent: {
			Current: "Events stay as long as `spec.retentionDays` says.",
			RetentionPending:
				"Archive is being asked to keep events as long as `spec.retentionDays` says. Until it has answered, they stay as long as before.",
			RetentionLowered:
				"`spec.retentionDays` was lowered. It takes effect a week later; the message says from when.",
			InvalidRetention:
				"`spec.retentionDays` is more than the operator's setting `MAX_RETENTION_DAYS` allows. Events stay as long as before.",
			RetentionUnavailable:
				"Archive can't keep events that long yet; the message has its error. Events stay as long as before, and Tidemill retries.",
		},
		ArchiveLags: {
			EventsWait:
				"Events of a shard that holds the Source's have waited for the bucket for more than 5 minutes, so Runs wait; none is lost. Archive isn't running, can't reach the bucket, or has stopped the shard. [What to do](../runbooks/TidemillArchiveLags.md).",
			ArchiveFails:
				"Archive has failed for more than a minute at a shard that holds the Source's events, as when the bucket refuses it, and tries again. Runs wait; no event is lost. [What to do](../runbooks/TidemillArchiveLags.md).",
		},
		BufferFills: {
			ArchiveIsBehind:
				"The buffer in NATS of the Source's shard is more than 60% full, because events come faster than archive takes them out. Once it is full, senders get 503. [What to do](../runbooks/TidemillBufferFills.md).",
		},
		EventsLost: {
			FramesLost:
				"NATS lost frames that it had acknowledged, of the shard that holds the Source's events. The condition says how many and when, and goes when those days can't be loaded any more. [What to do](errors.md#losses).",
			LossAccepted:
				"Objects with events of the Source are gone from the bucket, and an administrator has accepted that for good with `tidemill ledger accept-loss`. The condition says how many events of which dates, and goes when those days can't be loaded any more. [What to do](errors.md#objects-that-are-gone).",
			LossUnknown:
				"A stream of the shard that holds the Source's events is gone from NATS, and a receive process that had stored frames there is gone, too, or hasn't stored any since. So nobody can say how many frames were lost since the time in the message. [What to do](errors.md#losses).",
		},
	},
	Destination: {
		Ready: {
			...writeRefused,
			Verified: "A check from inside the namespace could write.",
			VerifiedUnbound:
				"A check from inside the namespace could write, and the Secret doesn't say that its password may go there. A Destination that an earlier version had verified goes on so until 0.2.0; the message has the command that binds it.",
			Checking: "The check is running.",
			Queued:
				"The operator's limit of concurrent Jobs is reached; the message says how many Jobs come before the check.",
			CheckFailed:
				"The check failed; the message has the destination's error. Tidemill repeats the check.",
			CheckNotFinished:
				"The check's Pod did not start or did not end in time; the message says what it waited for. Tidemill repeats the check.",
			CheckNotStarted:
				"Kubernetes refused the check's Job or Secret; the message has its error. Tidemill repeats the check.",
			UnsupportedType:
				"This version of the operator doesn't know the type in `spec.type`; the CRDs are of a later version.",
			EndpointNotAllowed:
				"An address in the spec is not in the operator's setting that allows such addresses; the message names both.",
			ConnectionIncomplete:
				"Neither the spec nor the Secret names the warehouse's host or its database; the message says which.",
			HostNotAllowed:
				"The host is not in the operator's setting `DESTINATION_HOSTS`.",
			HostNotBound:
				"The Secret doesn't say that its password may go to this host, at this port, with this TLS and these authorities. The message has the command with which whoever may change the Secret says so.",
			SecretNotFound:
				"The Secret that `credentials.secretRef` names does not exist in the Destination's namespace. `Ready` is Unknown for the Destination's first half minute, then False.",
			SecretNotLabelled:
				'The Secret lacks the label `tidemill.dev/use: "true"`, so Tidemill does not read it.',
			SecretKeyNotFound: "The Secret has no such key.",
			SecretTooLarge: secretTooLarge,
			CredentialsInvalid:
				"The Secret's key does not hold credentials for this type of warehouse; the message says what it should be.",
			VolumeClaimRequired:
				"A warehouse that is a file needs `volumeClaimName`, the volume of its file.",
			VolumeClaimNotFound:
				"The PersistentVolumeClaim that `volumeClaimName` names does not exist in the Destination's namespace. `Ready` is Unknown for the Destination's first half minute, then False.",
			VolumeClaimNotLabelled:
				'The PersistentVolumeClaim lacks the label `tidemill.dev/use: "true"`, so Tidemill does not use it.',
			ServiceAccountNotFound:
				"The ServiceAccount that `spec.serviceAccountName` names does not exist in the Destination's namespace. `Ready` is Unknown for the Destination's first half minute, then False.",
			ServiceAccountNotLabelled:
				'The ServiceAccount lacks the label `tidemill.dev/use: "true"`, so Tidemill does not use it.',
			TemplateTooLarge:
				"`spec.checkTemplate` has more than 32,768 characters as JSON, more than the operator holds of it.",
			LabelNotAllowed:
				"`spec.checkTemplate.labels` has one that the operator's setting `TIDEMILL_JOB_LABELS` does not allow.",
			AnnotationNotAllowed:
				"`spec.checkTemplate.annotations` has one that the operator's setting `TIDEMILL_JOB_ANNOTATIONS` does not allow.",
			PriorityClassNotAllowed:
				"`spec.checkTemplate.priorityClassName` is not in the operator's setting `TIDEMILL_JOB_PRIORITY_CLASSES`.",
			NotPermitted: notPermitted,
		},
	},
	Pipeline: {
		Ready: {
			...writeRefused,
			Resolved:
				"Source, Destination and table are known: the Pipeline can run.",
			SourceNotFound:
				"There is no Source of that name in the Pipeline's namespace. `Ready` is Unknown for the Pipeline's first half minute, then False.",
			SourceNotReady:
				"The Source has no source key of its own. `Ready` is Unknown while it may still get one.",
			DestinationNotFound:
				"There is no Destination of that name in the Pipeline's namespace. `Ready` is Unknown for the Pipeline's first half minute, then False.",
			DestinationNotReady:
				"The Destination is not verified; the message has its reason. `Ready` is Unknown while the check runs.",
			TableConflict:
				"An older Pipeline loads into the same table of the same warehouse.",
			ColumnTypeUnknown:
				"A column of `spec.table.bodyColumns` has no type, and the Source's TrackingPlan says several, or can't be read; the message names it.",
			InvalidColumn:
				"A column of `spec.table.bodyColumns` has a `timeZone` that is not an IANA time zone; the message names it.",
			EventTypeUnknown:
				"`spec.filter` has types, and neither it nor the Source's TrackingPlan says where an event's type is, or it is in a header that the Source doesn't store; the message says which.",
			TableOptionsInvalid:
				"`spec.table` has an option that the table can't have, or one for another type of Destination; the message says why.",
			DatesNotRetained:
				"No events are kept for `spec.dateRange`, and the table lacks days of it. Scheduled Runs pause; a Run of other dates that a person creates is carried out.",
			TableIncompatible:
				"The last Run found a table that does not fit the columns, or Runs have filled the Pipeline's table from another Source. Scheduled Runs pause; a Run that a person creates tries again.",
			TableNotOurs:
				"The last Run found a table that isn't this Pipeline's: it has rows that no Run marked, or another Pipeline has filled it. The table is unchanged; the message says what `spec.table.adopt` would replace. Scheduled Runs pause; a Run that a person creates tries again.",
			InvalidSchedule:
				"`spec.schedule.cron` is not a cron expression of five fields, or never matches.",
			TooManyLoadJobs:
				"The schedule and the overwrite period would make more load jobs a day than the warehouse takes for a table.",
			TemplateTooLarge:
				"`spec.runTemplate` has more than 32,768 characters as JSON, more than the operator holds of it.",
			LabelNotAllowed:
				"`spec.runTemplate.labels` has one that the operator's setting `TIDEMILL_JOB_LABELS` does not allow.",
			AnnotationNotAllowed:
				"`spec.runTemplate.annotations` has one that the operator's setting `TIDEMILL_JOB_ANNOTATIONS` does not allow.",
			PriorityClassNotAllowed:
				"`spec.runTemplate.priorityClassName` is not in the operator's setting `TIDEMILL_JOB_PRIORITY_CLASSES`.",
			JobRefused:
				"Kubernetes would refuse the Job of a Run, such as for a value in `spec.runTemplate`, a quota or an admission policy; the message has its words. Scheduled Runs pause.",
			InvalidTimeZone: "`spec.schedule.timeZone` is not an IANA time zone.",
			NotPermitted: notPermitted,
		},
		RunSucceeded: {
			Succeeded: "The last Run succeeded.",
			Failed: "The last Run failed; the message has its error.",
			Cancelled: "The last Run was cancelled.",
		},
		RunOnTime: {
			OnTime: "No scheduled Run is late.",
			Late: "A scheduled Run has not ended within `spec.notify.lateAfter`; the message says why. The condition is True again when a Run has ended.",
		},
		ValuesFit: {
			Fit: "The values that the last successful Run loaded fit the columns of `spec.table.bodyColumns`, or nearly all do.",
			Unfit:
				"Of at least one column of `spec.table.bodyColumns`, 1 % or more of the values don't fit its type, and are NULL; the message names the column, the share and an event. Values that are missing or null don't count. The condition is True again after a Run whose values fit.",
		},
		NotificationsDelivered: notificationReasons,
	},
	TrackingPlan: {
		Ready: {
			...writeRefused,
			Valid: "Every schema of the plan is valid.",
			InvalidSchema:
				"A schema of the plan is not a JSON Schema, or can't be used; the message says which and why.",
			ConfigMapNotFound:
				"A ConfigMap that the plan names does not exist in its namespace.",
			ConfigMapNotLabelled:
				'A ConfigMap that the plan names lacks the label `tidemill.dev/use: "true"`, so Tidemill does not read it.',
			ConfigMapKeyNotFound: "The ConfigMap has no such key.",
			PlanTooLarge:
				"The plan, or all plans of the namespace together, are larger than Tidemill allows.",
			NotPermitted: notPermitted,
		},
		InUse: {
			NamedBySources:
				"The plan is being deleted, and Sources name it; the message says which. It goes once none does.",
		},
	},
	Run: {
		Complete: {
			...writeRefused,
			Succeeded: "The table holds the days of the Run.",
			Failed: "The Run failed: see the condition Failed.",
			Cancelled: "The Run was cancelled.",
			PipelineNotFound:
				"There is no Pipeline of that name in the Run's namespace. The Run waits for it.",
			PipelineNotReady:
				"The Pipeline can't run; the message has its reason. The Run waits.",
			WaitingForTurn:
				"Another Run writes to the same warehouse, or goes first.",
			WaitingForQuota:
				"A quota of the warehouse is used up; the message has its words. The Run tries again at `status.retryTime`, every 15 minutes until its `activeDeadlineSeconds` are over. Later Runs into the table wait.",
			Queued:
				"The operator's limit of concurrent Jobs is reached; the message says how many Jobs come first.",
			Preparing: "Archive is listing the objects to load.",
			ManifestUnavailable:
				"Archive could not list the objects to load. Tidemill retries.",
			JobNotStarted:
				"Kubernetes refused the Job or its input; the message has its error. Tidemill retries.",
			PodWaiting:
				"The Job's Pod can't start; the message says what it waits for.",
			PodLost:
				"The node of a Pod that writes to the warehouse is down or cut off, so nobody knows whether the Pod still writes. The message names the Pod and the node, and says what frees the warehouse. If it is the Run's own Pod, the Run fails after ten minutes.",
			Loading: "The Job is running.",
			NotPermitted: `${notPermitted} The time that the Run may wait counts.`,
		},
		Failed: {
			LoadFailed:
				"The load ended with an error: `status.error` has the error and what to do.",
			DayWouldShrink:
				"Dates of the table would lose rows that no object in the bucket has any more, so they keep them, and the other dates are loaded: `status.error` has the dates and what to do.",
			ManifestRefused:
				"Archive refused to list the objects to load: `status.error` says why.",
			PendingDeadlineExceeded:
				"The Run could not start within the Pipeline's `spec.pendingDeadlineSeconds`: `status.error` says what it waited for.",
			DatesNotLoadable:
				"`spec.dates` can't be loaded alone: `status.error` says why.",
			Cancelled: "`spec.cancel` was set.",
		},
	},
	Operation: {
		Complete: {
			...writeRefused,
			Succeeded: "The Operation has succeeded: the status has its result.",
			Failed: "The Operation failed: see the condition Failed.",
			Cancelled: "The Operation was cancelled.",
			SourceNotFound:
				"There is no Source of that name in the Operation's namespace. The Operation waits for it.",
			SourceNotReady:
				"The Source has no source key of its own yet. The Operation waits.",
			PlanNotFound:
				"There is no TrackingPlan of that name in the Operation's namespace. The Operation waits for it.",
			PlanNotReady:
				"A ConfigMap that the plan names can't be read; the message says why. The Operation waits.",
			InvalidTimeZone:
				"`spec.import.timeZone` is not an IANA time zone. Create another Operation with one.",
			TemplateTooLarge:
				"`spec.jobTemplate` has more than 32,768 characters as JSON, more than the operator holds of it.",
			LabelNotAllowed:
				"`spec.jobTemplate.labels` has one that the operator's setting `TIDEMILL_JOB_LABELS` does not allow.",
			AnnotationNotAllowed:
				"`spec.jobTemplate.annotations` has one that the operator's setting `TIDEMILL_JOB_ANNOTATIONS` does not allow.",
			PriorityClassNotAllowed:
				"`spec.jobTemplate.priorityClassName` is not in the operator's setting `TIDEMILL_JOB_PRIORITY_CLASSES`.",
			Queued:
				"The operator's limit of concurrent Jobs is reached; the message says how many Jobs come first.",
			Preparing: "Archive is listing the objects to read.",
			ManifestUnavailable:
				"Archive could not list the objects to read. Tidemill retries.",
			JobNotStarted:
				"Kubernetes refused the Job or its input; the message has its error. Tidemill retries.",
			PodWaiting:
				"The Job's Pod can't start; the message says what it waits for.",
			PodLost:
				"The node of the Operation's Pod is down or cut off. The message names the Pod and the node, and says what ends the wait. The Operation fails after ten minutes.",
			ReleaseUnavailable:
				"Archive could not release events, or not all; the message has its error. Tidemill retries.",
			ImportBefore:
				"Another Import of the Source was created before, and comes first.",
			ImportUnavailable:
				"Archive could not add the events, or not all; the message has its error. Tidemill retries.",
			EraseUnavailable:
				"Archive could not erase the events, or not all; the message has its error. Tidemill retries.",
			EraseBefore:
				"Another Operation of the Source that erases, releases or adds events was created before, and comes first.",
			TablesPending:
				"Archive has none of the events any more, or has counted them for a dry run. Runs take them out of the tables, or count their rows: `status.erase.tables` says which tables are done.",
			Working:
				"The Job is running, or archive is releasing, adding, erasing or counting events.",
			NotPermitted: `${notPermitted} The time that the Operation may wait counts.`,
		},
		Failed: {
			OperationFailed:
				"The Job ended with an error: `status.error` has the error and what to do.",
			EventsBlocked:
				"`spec.failIfBlocked` is set, and the plan would have quarantined or rejected events: `status.dryRun` says why.",
			ManifestRefused:
				"Archive refused to list the objects to read: `status.error` says why.",
			ReleaseRefused:
				"Archive refused to release events: `status.error` says why.",
			ImportRefused:
				"Archive refused to add the events: `status.error` says why.",
			EraseRefused:
				"Archive refused to erase the events: `status.error` says why.",
			PendingDeadlineExceeded:
				"The Operation could not start within an hour: `status.error` says what it waited for.",
			DatesNotReadable:
				"No events are kept for `spec.dates`: `status.error` says for which days they are.",
			PlanNotUsable: "The plan is too large: `status.error` says how large.",
			Cancelled: "`spec.cancel` was set.",
		},
	},
} as const satisfies Record<string, Record<string, Record<string, string>>>;

/**
 * The reasons of KubeEvents beyond those of `Ready`: kind → reason → what happened. Each time `Ready` gets another
 * reason, a KubeEvent with that reason is recorded as well. docs/reference/events.md is generated from both tables.
 */
export const kubeEventReasons = {
	Source: {
		URLIssued: "The Source got a URL.",
		URLAdopted:
			"The Secret with the keys already existed: the Source has its earlier URL.",
		URLRotated:
			"The annotation `tidemill.dev/rotate-url` has a new value: the Source has a new URL.",
		Moved:
			"An administrator moved the Source: its new events go to another shard.",
		LossAccepted:
			"An administrator accepted that events of the Source are gone from the bucket for good; the note says how many of which dates.",
		EventsDeleted:
			"The Source was deleted with `spec.deletionPolicy: Delete`, and all its stored events are gone.",
	},
	Destination: {},
	Pipeline: {
		RunDeleted: "Somebody deleted the active Run.",
		MissSchedule:
			"A scheduled time is skipped: its Run could not start within `spec.startingDeadlineSeconds`. The note says which, and why.",
		RunNameTaken:
			"A scheduled time is skipped: a Run of another Pipeline has the name of its Run.",
	},
	TrackingPlan: {
		DeletionWaitsForSources:
			"Somebody deletes the plan, and Sources name it; the note says which. It goes once none does.",
	},
	Run: {
		...writeRefused,
		RunStarted: "The Job was created; the note says which days it loads.",
		JobNotStarted: "Kubernetes refused the Job; the note has its error.",
		RunSucceeded: "The table holds the days of the Run.",
		RunFailed: "The Run failed; the note has the error's code and message.",
		WholeWindow:
			"The table lacks days before those of the Run, because it is new, restored or rebuilt. The Run loads the whole window.",
		EventTypesFound:
			"There are events of types that have no table yet, or whose table is somebody else's. They get tables, and the Run loads the whole window.",
		ColumnsFound:
			"There are members of bodies that have no column yet. They get columns, and the Run goes on.",
		WaitingForQuota:
			"A quota of the warehouse is used up. The note says when the Run tries again.",
		RunCancelled: "The Run was cancelled by `spec.cancel`.",
		NotPermitted: notPermitted,
	},
	Operation: {
		...writeRefused,
		OperationStarted: "The Job was created; the note says which days it reads.",
		JobNotStarted: "Kubernetes refused the Job; the note has its error.",
		OperationSucceeded: "The status has the result.",
		OperationFailed:
			"The Operation failed; the note has the error's code and message.",
		OperationCancelled: "The Operation was cancelled by `spec.cancel`.",
		NotPermitted: notPermitted,
	},
} as const satisfies Record<keyof typeof reasons, Record<string, string>>;

/** The reasons of KubeEvents about the operator's Deployment: what no resource could say. */
export const installationEventReasons = {
	WatchedNamespaceMissing:
		"A namespace of `operator.watchNamespaces` doesn't exist. It is served once it does.",
	BufferChanged:
		"An administrator has changed streams in NATS by `tidemill buffer`: purged a frame that archive can't read, given up a stream, or changed its copies. The note says which.",
	InstallationsOverlap:
		"Another installation claims the same namespace, NATS or bucket. The note says which, and who has it.",
} as const;

export type ReasonTable = typeof reasons;

/** The reasons of a kind's condition type. Types let a `decide` name only reasons of the table. */
export type Reason<
	Kind extends keyof ReasonTable,
	Type extends keyof ReasonTable[Kind] = "Ready" & keyof ReasonTable[Kind],
> = keyof ReasonTable[Kind][Type] & string;

/** The reasons of the KubeEvents about a kind. */
export type KubeEventReason<Kind extends keyof ReasonTable> =
	| (keyof (typeof kubeEventReasons)[Kind] & string)
	| ReadyReason<ReasonTable[Kind]>;

type ReadyReason<Types> = Types extends { Ready: infer Meanings }
	? keyof Meanings & string
	: never;

/** What is found about one condition of a kind. */
export type FindingOf<
	Kind extends keyof ReasonTable,
	Type extends keyof ReasonTable[Kind] = "Ready" & keyof ReasonTable[Kind],
> = ConditionFinding<Reason<Kind, Type>>;

/** What is found about every condition of a kind. */
export type FindingsOf<Kind extends keyof ReasonTable> = {
	[Type in keyof ReasonTable[Kind]]:
		| FindingOf<Kind, Type>
		| "as before"
		| undefined;
};

/**
 * The reasons of a condition `Ready` with which waiting is in vain once it is False: they go when somebody changes the resource,
 * what it names, or a setting of the operator.
 */
export const mendedByPeople: ReadonlySet<string> = new Set<
	{
		[Kind in keyof typeof reasons]: ReadyReason<(typeof reasons)[Kind]>;
	}[keyof typeof reasons]
>([
	"Suspended",
	"SecretNotFound",
	"SecretNotLabelled",
	"SecretKeyNotFound",
	"SecretTooLarge",
	"TokenInvalid",
	"SigningSecretInvalid",
	"SealKeyMissing",
	"TrackingPlanUnavailable",
	"KeyTaken",
	"KeyDeleted",
	"KeysSecretInvalid",
	"ShardMissing",
	"UnsupportedType",
	"EndpointNotAllowed",
	"ConnectionIncomplete",
	"HostNotAllowed",
	"HostNotBound",
	"CredentialsInvalid",
	"VolumeClaimRequired",
	"VolumeClaimNotFound",
	"VolumeClaimNotLabelled",
	"ServiceAccountNotFound",
	"ServiceAccountNotLabelled",
	"TemplateTooLarge",
	"LabelNotAllowed",
	"AnnotationNotAllowed",
	"PriorityClassNotAllowed",
	"SourceNotFound",
	"DestinationNotFound",
	"TableConflict",
	"ColumnTypeUnknown",
	"InvalidColumn",
	"EventTypeUnknown",
	"TableOptionsInvalid",
	"DatesNotRetained",
	"InvalidSchedule",
	"InvalidTimeZone",
	"TooManyLoadJobs",
	"JobRefused",
	"InvalidSchema",
	"ConfigMapNotFound",
	"ConfigMapNotLabelled",
	"ConfigMapKeyNotFound",
	"PlanTooLarge",
	"NotPermitted",
]);
