// Generated from crds/*.yaml by "npm run generate". Change those instead.
// The types are those of resources as the apiserver returns them: a field that has a default is always there.

import type { ObjectMeta } from "../object-meta.ts";

/** A warehouse that tables are loaded into. */
export interface Destination {
	apiVersion: "tidemill.dev/v1alpha1";
	kind: "Destination";
	metadata: ObjectMeta;
	spec: DestinationSpec;
	/** Absent until the operator has seen the resource. */
	status?: DestinationStatus;
}

/** Where the apiserver serves {@link Destination}. */
export const destinationKind = {
	group: "tidemill.dev",
	version: "v1alpha1",
	kind: "Destination",
	plural: "destinations",
	namespaced: true,
} as const;

/** One Source into one table of one Destination, on a schedule. */
export interface Pipeline {
	apiVersion: "tidemill.dev/v1alpha1";
	kind: "Pipeline";
	metadata: ObjectMeta;
	spec: PipelineSpec;
	/** Absent until the operator has seen the resource. */
	status?: PipelineStatus;
}

/** Where the apiserver serves {@link Pipeline}. */
export const pipelineKind = {
	group: "tidemill.dev",
	version: "v1alpha1",
	kind: "Pipeline",
	plural: "pipelines",
	namespaced: true,
} as const;

/** One execution of a Pipeline, carried out by a Job. */
export interface Run {
	apiVersion: "tidemill.dev/v1alpha1";
	kind: "Run";
	metadata: ObjectMeta;
	spec: RunSpec;
	/** Absent until the operator has seen the resource. */
	status?: RunStatus;
}

/** Where the apiserver serves {@link Run}. */
export const runKind = {
	group: "tidemill.dev",
	version: "v1alpha1",
	kind: "Run",
	plural: "runs",
	namespaced: true,
} as const;

/** A webhook connection. It has a personal URL that accepts events; each accepted request is one event. */
export interface Source {
	apiVersion: "tidemill.dev/v1alpha1";
	kind: "Source";
	metadata: ObjectMeta;
	spec: SourceSpec;
	/** Absent until the operator has seen the resource. */
	status?: SourceStatus;
}

/** Where the apiserver serves {@link Source}. */
export const sourceKind = {
	group: "tidemill.dev",
	version: "v1alpha1",
	kind: "Source",
	plural: "sources",
	namespaced: true,
} as const;

/** What a Source's events should look like, and what happens to those that don't. */
export interface TrackingPlan {
	apiVersion: "tidemill.dev/v1alpha1";
	kind: "TrackingPlan";
	metadata: ObjectMeta;
	spec: TrackingPlanSpec;
	/** Absent until the operator has seen the resource. */
	status?: TrackingPlanStatus;
}

/** Where the apiserver serves {@link TrackingPlan}. */
export const trackingPlanKind = {
	group: "tidemill.dev",
	version: "v1alpha1",
	kind: "TrackingPlan",
	plural: "trackingplans",
	namespaced: true,
} as const;

/** A service account's key, where workload identity is not to be had. */
export interface DestinationCredentials {
	/** The Secret that holds the JSON key. It must carry the label `tidemill.dev/use: "true"`. */
	secretRef: { name: string; key: string };
}

/** A BigQuery dataset. */
export interface DestinationBigQuery {
	/** The Google Cloud project that holds the dataset. */
	projectId: string;
	/** The dataset that holds the tables. */
	dataset: string;
	/** Where the dataset is, such as `EU`, `US` or `europe-west1`. */
	location: string;
	/** Make the dataset if it is not there. */
	createDataset: boolean;
	/** A service account's key, where workload identity is not to be had. */
	credentials?: DestinationCredentials;
	/** Another address of the BigQuery API. It must be on the operator's allow-list. */
	apiEndpoint?: string;
	/** Name of a Cloud Storage bucket through which data goes up. Without one it is uploaded directly. */
	stagingBucket?: string;
}

/** A DuckDB file. */
export interface DestinationDuckDB {
	/** The file, relative to the volume. */
	path: string;
	/** The PersistentVolumeClaim that holds the file. Required in a cluster; local mode has a folder instead. */
	volumeClaimName?: string;
}

/** Where the warehouse is and how it is reached. */
export interface DestinationSpec {
	/** Label shown to people. */
	displayName?: string;
	/** The kind of warehouse. `DuckDB` is embedded, a file on a volume. */
	type: "BigQuery" | "DuckDB";
	/** ServiceAccount of the Pods that load and check, for workload identity. The namespace's `default` when empty. */
	serviceAccountName?: string;
	/** A BigQuery dataset. */
	bigQuery?: DestinationBigQuery;
	/** A DuckDB file. */
	duckDB?: DestinationDuckDB;
}

/** The latest verification that ended. */
export interface DestinationLastCheck {
	/** Digest of what was verified, the spec and the Secrets it names. When that changes, it is verified again. */
	hash?: string;
	/** When it ended. */
	time?: string;
	/** How many verifications of this hash have failed in a row. Sets how long the next one waits. */
	failures?: number;
}

export interface Condition {
	/** Type of the condition. */
	type: string;
	/** Whether the condition holds. */
	status: "True" | "False" | "Unknown";
	/** The metadata.generation that this condition speaks of. */
	observedGeneration?: number;
	/** When `status` last flipped. */
	lastTransitionTime: string;
	/** Why, in one word for machines. */
	reason: string;
	/** Why, and what to do, for people. */
	message: string;
}

/** What the operator has found. Written by the operator alone. */
export interface DestinationStatus {
	/** The metadata.generation that this status speaks of. */
	observedGeneration?: number;
	/** The state in one word. */
	phase?: "Checking" | "Ready" | "Error";
	/** The latest verification that ended. */
	lastCheck?: DestinationLastCheck;
	/** `Ready`: the last verification wrote to the warehouse. Otherwise the message is in the warehouse's own words. */
	conditions?: Condition[];
}

/** The table. */
export interface PipelineTable {
	/** Name of the table. When empty, it is made from the Pipeline's name and stands in `status.tableName`. */
	name?: string;
	/** Which columns the table has, in this order; in the table they are called `event_id`, `timestamp`, `body` and `date`. Captured headers follow them. With `Date` each run replaces only the days it loads; without it, every run replaces the whole table. */
	columns: ("EventID" | "Timestamp" | "Body" | "Date")[];
	/** What happens when the table that is there does not fit the columns. `Fail`: the Pipeline is not ready and the table stays as it is. `Rebuild`: the table is dropped and made anew, so days that are no longer retained are lost. */
	onIncompatible: "Fail" | "Rebuild";
}

/** Which UTC dates are loaded. Events are retained for 30 days; earlier dates can't be loaded. */
export interface PipelineDateRange {
	/** The first date. When empty, the date of the first event. Moved back later, it is not made up for, as little as moved forward it removes days: to load earlier dates into a table that is there, create a Run with `spec.dates`. */
	start?: string;
	/** The last date, or `Today` to go on for ever. */
	end: string;
}

/** When the Pipeline runs. */
export interface PipelineSchedule {
	/** `Manual`: only when a Run is made. `Daily`, `Interval` and `Cron`: by the clock as well. */
	type: "Manual" | "Daily" | "Interval" | "Cron";
	/** Time of day of a `Daily` schedule, such as `"06:30"`, in `timeZone`. */
	updateTime?: string;
	/** Time between runs of an `Interval` schedule, such as `15m` or `1h30m`. */
	interval?: string;
	/** A cron expression of five fields, in `timeZone`. Where clocks are put forward, times that don't exist run once, at the first instant after the gap; where they are put back, times that occur twice run the first time only. */
	cron?: string;
	/** An IANA time zone, such as `Europe/Berlin`, for `Daily` and `Cron`. */
	timeZone: string;
}

/** How many ended Runs are kept. */
export interface PipelineRunHistory {
	/** Runs that succeeded. */
	succeeded: number;
	/** Runs that failed or were cancelled. */
	failed: number;
}

/** Compute resources of the container, as in a Pod. */
export interface PipelineResources {
	/** What the container is sure to get. */
	requests?: Record<string, number | string>;
	/** What the container can't go beyond. */
	limits?: Record<string, number | string>;
}

/** How the Job of a Run is made. */
export interface PipelineRunTemplate {
	/** Compute resources of the container, as in a Pod. */
	resources?: PipelineResources;
	/** How long a Run may take, in seconds, all attempts together. */
	activeDeadlineSeconds: number;
	/** How often a Run is tried again after an error that can pass. */
	retries: number;
}

/** What is loaded, where to, and when. */
export interface PipelineSpec {
	/** Label shown to people. */
	displayName?: string;
	/** The Source whose events are loaded. */
	sourceRef: { name: string };
	/** The Destination that holds the table. */
	destinationRef: { name: string };
	/** The table. */
	table: PipelineTable;
	/** Which UTC dates are loaded. Events are retained for 30 days; earlier dates can't be loaded. */
	dateRange: PipelineDateRange;
	/** How many days before the first day that is not yet complete are loaded again by each run. */
	overwritePeriodDays: number;
	/** When the Pipeline runs. */
	schedule: PipelineSchedule;
	/** Start no runs by the clock until this is false again. Runs made by hand still go. */
	suspend: boolean;
	/** How late a missed run may still start, in seconds. Without it the latest missed run always does. One that may not is left out, which the Event `MissSchedule` tells. */
	startingDeadlineSeconds?: number;
	/** How many ended Runs are kept. */
	runHistory: PipelineRunHistory;
	/** How the Job of a Run is made. */
	runTemplate: PipelineRunTemplate;
}

/** The schedule in force. */
export interface PipelineStatusSchedule {
	/** Digest of the schedule. */
	hash?: string;
	/** When it was first seen or resumed, or the latest time that was left out. Times up to it are not made up for. */
	since?: string;
}

/** The latest Run that ended. */
export interface PipelineLastRun {
	/** Name of the Run. */
	name: string;
	/** How it ended. */
	phase: "Succeeded" | "Failed" | "Cancelled";
	/** Rows that it loaded. */
	rows?: number;
	/** When it ended. */
	completionTime?: string;
}

/** What was loaded where. When it changes, the next run loads every date. */
export interface Layout {
	/** The Source's `status.sourceKey`. */
	sourceKey: string;
	/** The warehouse, such as `DuckDB:analytics/events.duckdb`. */
	destination: string;
	/** Name of the table. */
	table: string;
	/** The table's columns, in order. */
	columns: string[];
	/** How it is loaded. */
	strategy: "Incremental" | "FullReload";
}

/** What the table holds since the latest Run that succeeded. The days of the next run are counted from it. */
export interface PipelineLastSuccess {
	/** Every event accepted before this instant, on the dates loaded, is in the table. */
	snapshotTime: string;
	/** The latest date that was complete at that instant. */
	closedThrough: string;
	/** What was loaded where. When it changes, the next run loads every date. */
	layout: Layout;
}

/** What the last Run could not load into the table, until another Run ends. */
export interface PipelineMisfit {
	/** The Run's words. */
	message: string;
	/** What was to be loaded where. When it changes, the Pipeline is ready again. */
	layout: Layout;
}

/** What the operator has found. Written by the operator alone. */
export interface PipelineStatus {
	/** The metadata.generation that this status speaks of. */
	observedGeneration?: number;
	/** The state in one word. */
	phase?: "Pending" | "Ready" | "Running" | "Suspended" | "Error";
	/** `Incremental`: runs replace the days they load. `FullReload`: runs replace the whole table. */
	strategy?: "Incremental" | "FullReload";
	/** Name of the table. */
	tableName?: string;
	/** When the schedule starts the next run. */
	nextRunTime?: string;
	/** The latest scheduled time for which a Run was made. */
	lastScheduleTime?: string;
	/** The schedule in force. */
	schedule?: PipelineStatusSchedule;
	/** Name of the Run that is under way. */
	activeRun?: string;
	/** The latest Run that ended. */
	lastRun?: PipelineLastRun;
	/** What the table holds since the latest Run that succeeded. The days of the next run are counted from it. */
	lastSuccess?: PipelineLastSuccess;
	/** What the last Run could not load into the table, until another Run ends. */
	misfit?: PipelineMisfit;
	/** `Ready`: it can run; Unknown while what it refers to may be on its way. `RunSucceeded`: its last Run did. */
	conditions?: Condition[];
}

/** Load just these UTC dates, both included. Can't change. Without it the Pipeline's rules say which. */
export interface RunDates {
	/** The first date. */
	start: string;
	/** The last date. */
	end: string;
}

/** What is run. */
export interface RunSpec {
	/** The Pipeline. Can't change. */
	pipelineRef: { name: string };
	/** Load just these UTC dates, both included. Can't change. Without it the Pipeline's rules say which. */
	dates?: RunDates;
	/** Stop the Run. Days that are already replaced stay replaced. Can't be taken back. */
	cancel?: boolean;
}

/** Why it failed. */
export interface RunError {
	/** What kind of error, from the table in docs/reference/errors.md. */
	code: string;
	/** What happened, to what, and what to do next. */
	message: string;
	/** Another Run may succeed without any change. */
	retryable: boolean;
}

/** What the operator has found. Written by the operator alone. */
export interface RunStatus {
	/** The metadata.generation that this status speaks of. */
	observedGeneration?: number;
	/** The state in one word. */
	phase?: "Pending" | "Running" | "Succeeded" | "Failed" | "Cancelled";
	/** Who made the Run: the schedule, the REST API, or a person by kubectl. */
	trigger?: "Schedule" | "API" | "Manual";
	/** When its Job was made. */
	startTime?: string;
	/** When it ended. */
	completionTime?: string;
	/** `Incremental`: it replaces the days it loads. `FullReload`: it replaces the whole table. */
	strategy?: "Incremental" | "FullReload";
	/** The UTC dates it loads, both included. */
	dates?: RunDates;
	/** Rows loaded. */
	rows?: number;
	/** Bytes read from the bucket. */
	bytes?: number;
	/** Objects read from the bucket. */
	objects?: number;
	/** Every event accepted before this instant, on the dates loaded, is in the table when the Run has succeeded. */
	snapshotTime?: string;
	/** The latest date that was complete at that instant. */
	closedThrough?: string;
	/** What is loaded where, as the Pipeline said when the Run began. */
	layout?: Layout;
	/** How many Pods have tried. */
	attempts?: number;
	/** Why it failed. */
	error?: RunError;
	/** `Complete`: the Run has succeeded. `Failed`: it has failed or was cancelled. As in a Job. */
	conditions?: Condition[];
}

/** The token that senders present. */
export interface SourceCustomToken {
	/** The Secret that holds the token. It must carry the label `tidemill.dev/use: "true"`. */
	secretRef: { name: string; key: string };
}

/** A signature that none of the known schemes describes. */
export interface SourceCustom {
	/** Header that holds the signature, in lower case. */
	header: string;
	/** What stands before the signature in the header, such as `sha256=`. */
	prefix?: string;
	/** The HMAC's hash function. */
	algorithm: "SHA1" | "SHA256" | "SHA512";
	/** How the signature is written. */
	encoding: "Hex" | "Base64";
	/** What is signed. `{body}` stands for the raw body, `{timestamp}` for the value of `timestampHeader`. */
	signedString: string;
	/** Header that holds the time of signing in Unix seconds, in lower case. */
	timestampHeader?: string;
}

/** How requests are signed. */
export interface SourceSignature {
	/** The provider's way of signing, or `Custom` to describe another. */
	scheme: "StandardWebhooks" | "GitHub" | "Stripe" | "Shopify" | "Slack" | "Custom";
	/** The Secrets that hold signing secrets; a request signed with any of them is accepted, so that one can be replaced by another. Each must carry the label `tidemill.dev/use: "true"`. */
	secretRefs: { name: string; key: string }[];
	/** How old or how far in the future a signed timestamp may be, in seconds. Schemes without a timestamp don't use it. */
	toleranceSeconds: number;
	/** A signature that none of the known schemes describes. */
	custom?: SourceCustom;
}

/** What a sender must present besides knowing the URL. */
export interface SourceAuthorization {
	/** `None`: the URL is enough. `CustomToken`: a token of your choice as `Authorization: Bearer`, `X-Webhook-Token` or `?token=`. `Signature`: the sender signs each request. */
	type: "None" | "CustomToken" | "Signature";
	/** The token that senders present. */
	customToken?: SourceCustomToken;
	/** How requests are signed. */
	signature?: SourceSignature;
}

/** How senders check the URL before they send events. Their checks are answered and not stored. */
export interface SourceVerification {
	/** Answer GET and HEAD on the URL with 200, for senders that look whether it is there. */
	allowGet: boolean;
	/** The providers whose handshake is answered. `Slack`: its `url_verification` event. `MicrosoftGraph`: a `validationToken` in the query. `EventGrid`: a subscription's validation event, or that of CloudEvents by OPTIONS. */
	handshakes?: ("Slack" | "MicrosoftGraph" | "EventGrid")[];
}

/** Where the sender's key is found. Exactly one of the fields. A request without a key is an event of its own. */
export interface SourceKey {
	/** Where the provider puts it. `StandardWebhooks`: the header `webhook-id`. `Stripe`: `/id` of the body. `GitHub`: the header `x-github-delivery`. `Shopify`: the header `x-shopify-webhook-id`. */
	preset?: "StandardWebhooks" | "Stripe" | "GitHub" | "Shopify";
	/** Request header, in lower case, such as `idempotency-key`. */
	header?: string;
	/** JSON Pointer (RFC 6901) into the body, such as `/event/id`, to a text or a whole number. */
	bodyPointer?: string;
}

/** Senders repeat a request whose answer they didn't get. One that has the key of an earlier one is answered with the first event's id, and stored once. Absent: each accepted request is an event. */
export interface SourceIdempotency {
	/** Where the sender's key is found. Exactly one of the fields. A request without a key is an event of its own. */
	key: SourceKey;
	/** How long a key is kept from its first request on, in seconds. Up to 7 days. */
	windowSeconds: number;
}

/** Settings of a webhook. */
export interface SourceWebhook {
	/** What a sender must present besides knowing the URL. */
	authorization: SourceAuthorization;
	/** How senders check the URL before they send events. Their checks are answered and not stored. */
	verification?: SourceVerification;
	/** Senders repeat a request whose answer they didn't get. One that has the key of an earlier one is answered with the first event's id, and stored once. Absent: each accepted request is an event. */
	idempotency?: SourceIdempotency;
	/** Largest body that is accepted, in bytes, also after decompression; a larger one is answered with 413. */
	maxBodyBytes: number;
	/** Request headers, in lower case, that are stored with each event. Tables get a column for each: `x-github-event` becomes `header_x_github_event`. */
	capturedHeaders?: string[];
	/** The TrackingPlan that says what events should look like. */
	trackingPlanRef?: { name: string };
}

/** What the webhook accepts. */
export interface SourceSpec {
	/** Label shown to people. */
	displayName?: string;
	/** How events arrive. */
	type: "Webhook";
	/** Settings of a webhook. */
	webhook: SourceWebhook;
	/** Refuse events with 403 until this is false again. */
	suspend: boolean;
	/** What happens to the URL and to stored events when the Source is deleted. With `Retain` a Source that is made again under the same name has both back; events stay until they are 30 days old. With `Delete` the URL is given up for good and all stored events are deleted; the Source is there, with the phase `Deleting`, until that is done. */
	deletionPolicy: "Retain" | "Delete";
}

/** Events of the dates that are retained. */
export interface SourceCounts {
	/** Events that archive has taken over from the receivers: those in the bucket and those kept aside. */
	accepted?: number;
	/** Events in the bucket. */
	archived?: number;
	/** Events kept aside because the TrackingPlan says so. */
	quarantined?: number;
}

/** How long events stay. */
export interface SourceRetention {
	/** Days for which an event stays in the bucket after its date. */
	days?: number;
	/** Who removes events after that. `Lifecycle`: a rule among the bucket's own, which archive keeps there. `Sweep`: archive itself, hourly, as the store has no lifecycle rules or archive may not set them. */
	enforcedBy?: "Lifecycle" | "Sweep";
}

/** What the operator has found. Written by the operator alone. */
export interface SourceStatus {
	/** The metadata.generation that this status speaks of. */
	observedGeneration?: number;
	/** The state in one word. */
	phase?: "Pending" | "Active" | "Suspended" | "Error" | "Deleting";
	/** Where senders POST events to. Who has it can send events. Each new value of the annotation `tidemill.dev/rotate-url`, such as a date, gives the Source another URL, once; senders with the earlier one are answered with 404 from then on. */
	webhookURL?: string;
	/** The first of the URL's two keys. It names the Source's data in the bucket and stays the same for life. */
	sourceKey?: string;
	/** The shard that the Source's events go through on their way to the bucket; an alarm of archive names it. */
	shard?: number;
	/** UTC date of the first event. */
	firstEventDate?: string;
	/** When the latest archived event was received. */
	lastEventTime?: string;
	/** Every event accepted before this instant is archived. */
	archivedThrough?: string;
	/** Events of the dates that are retained. */
	counts?: SourceCounts;
	/** How long events stay. */
	retention?: SourceRetention;
	/** `Ready`: the URL accepts events. */
	conditions?: Condition[];
}

/** Where an event's type is found. Exactly one of the fields. */
export interface TrackingPlanEventType {
	/** JSON Pointer (RFC 6901) into the body, such as `/event/type`. */
	bodyPointer?: string;
	/** Request header, in lower case, such as `x-github-event`. */
	header?: string;
	/** Every event is of this type. */
	constant?: string;
}

export interface TrackingPlanEvent {
	/** The type's name. */
	type: string;
	/** What the event means. */
	description?: string;
	/** JSON Schema of the body. */
	schema?: Record<string, unknown>;
}

/** The plan. Schemas are JSON Schema 2020-12, 2019-09 or draft-07, as their `$schema` says; 2020-12 when it is absent. */
export interface TrackingPlanSpec {
	/** Label shown to people. */
	displayName?: string;
	/** Where an event's type is found. Exactly one of the fields. */
	eventType: TrackingPlanEventType;
	/** JSON Schema of every event, whatever its type. */
	common?: Record<string, unknown>;
	/** The types of events that are planned. */
	events?: TrackingPlanEvent[];
	/** What happens to an event of a type that is not planned. `Allow`: nothing. `Annotate`: it is stored with a note. `Quarantine`: it is kept aside and loaded into no table. `Reject`: it is answered with 400 and not stored. */
	onUnplannedEvent: "Allow" | "Annotate" | "Quarantine" | "Reject";
	/** What happens to an event that breaks its schema; as `onUnplannedEvent`. */
	onViolation: "Allow" | "Annotate" | "Quarantine" | "Reject";
	/** What happens to an event with a property that its schema doesn't know; as `onUnplannedEvent`, and with `Omit` the property is left out of the plan's columns. */
	onUnplannedProperty: "Allow" | "Annotate" | "Omit" | "Quarantine" | "Reject";
}

/** What the operator has found. Written by the operator alone. */
export interface TrackingPlanStatus {
	/** The metadata.generation that this status speaks of. */
	observedGeneration?: number;
	/** How many types of events are planned. */
	eventTypes?: number;
	/** `Ready`: every schema of the plan is valid. */
	conditions?: Condition[];
}
