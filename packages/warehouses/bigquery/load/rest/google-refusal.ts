import {
	JobFailure,
	type Patience,
	retryBackoff,
} from "../../../load/failure.ts";
import { bigQueryErrors } from "../../definition.ts";

type BigQueryErrorCode = keyof typeof bigQueryErrors;

/** A failure of a Job that only BigQuery has. */
export class BigQueryFailure extends JobFailure<BigQueryErrorCode> {
	constructor(code: BigQueryErrorCode, what: string, options?: ErrorOptions) {
		super(code, what, options, bigQueryErrors);
	}
}

export type GoogleService = "BigQuery" | "Cloud Storage";

/** The reasons whose messages name resources, permissions and quotas alone. Any other's may quote a row or a query. */
const quoteless = new Set([
	...["accessDenied", "accessNotConfigured", "attributeError", "authError"],
	...[
		"backendError",
		"billingNotEnabled",
		"billingTierLimitExceeded",
		"blocked",
	],
	...["conditionNotMet", "duplicate", "forbidden", "internalError"],
	...["invalidUser", "jobBackendError", "jobInternalError"],
	...["jobRateLimitExceeded", "notFound", "notImplemented", "quotaExceeded"],
	...["rateLimitExceeded", "required", "resourceInUse", "resourcesExceeded"],
	...["responseTooLarge", "stopped", "tableUnavailable", "timeout"],
]);
/** The same of requests, which carry no row. */
const quotelessOfRequests = new Set(["badRequest", "invalid"]);
/** What a job says of the table's columns, and nothing else. */
const ofSchema =
	/^Provided Schema does not match Table [\w:.$-]+\. (Field \w+ has changed (type|mode) from \w+ to \w+|Cannot add fields \(field: \w+\))\.?$/;

/**
 * A service refused a request (with its HTTP status), or BigQuery failed a job that it had accepted (status 0). The message has
 * its words only if they are known to quote neither a row nor a query.
 */
export class GoogleRefusal extends Error {
	override name = "GoogleRefusal";
	readonly status: number;
	/** One of BigQuery's error codes (cloud.google.com/bigquery/docs/error-messages). */
	readonly reason: string;
	readonly service: GoogleService;
	readonly code: BigQueryErrorCode;
	/** Whether a job failed for the size of a row or a value. BigQuery says so in words, and of Parquet as of memory. */
	readonly isOfSize: boolean;
	/** What its Retry-After asks for. */
	retryAfterMs: number | undefined;
	/** Sentences of ours. */
	#more = "";

	/** Reads the API's error body. Of any other body, such as a proxy's page, not a word is repeated. */
	static ofAnswer(
		status: number,
		body: string,
		service?: GoogleService,
		retryAfter?: string | null,
	): GoogleRefusal {
		const refusal = GoogleRefusal.#ofBody(status, body, service);
		refusal.retryAfterMs = retryAfterMs(retryAfter);
		return refusal;
	}

	static #ofBody(
		status: number,
		body: string,
		service?: GoogleService,
	): GoogleRefusal {
		try {
			const { error } = JSON.parse(body) as {
				error: { message?: string; errors?: ErrorProto[] };
			};
			const [first] = error.errors ?? [];
			const { reason } = first ?? {};
			const message = error.message ?? first?.message ?? "";
			return new GoogleRefusal(
				status,
				{ ...(reason !== undefined && { reason }), message },
				service,
			);
		} catch {
			return new GoogleRefusal(status, {}, service);
		}
	}

	constructor(
		status: number,
		{ reason, message: words = "" }: ErrorProto,
		service: GoogleService = "BigQuery",
	) {
		const why = reason || reasonOfStatus(status);
		const isQuoteless =
			quoteless.has(why) ||
			(status > 0 && quotelessOfRequests.has(why)) ||
			ofSchema.test(words);
		super(
			(isQuoteless && words) || (status > 0 ? `HTTP status ${status}` : ""),
		);
		this.status = status;
		this.service = service;
		this.reason = why;
		this.code = codeOf(this, words);
		this.isOfSize =
			status === 0 &&
			(why === "resourcesExceeded" ||
				/\b(row|cell|value|column|field)s?\b.*\b(too (large|long|big)|larger than|exceed(s|ed)?)\b/i.test(
					words,
				));
	}

	/** The same refusal with another sentence. */
	with(sentence: string): this {
		this.#more += ` ${sentence}`;
		return this;
	}

	/** Whether the same request, or the same job under a new id, may succeed within seconds. */
	get isTransient(): boolean {
		return ["BigQueryUnavailable", "RateLimited"].includes(this.code);
	}

	/** @param usual for errors that pass within a second. */
	patience(usual: Patience): Patience {
		return {
			...(this.code === "RateLimited" ? rateLimitPatience : usual),
			atLeastMs: this.retryAfterMs,
		};
	}

	toFailure(action: string): BigQueryFailure {
		const words = this.message && `: ${this.message}`;
		const said = `${this.service} refused to ${action} (${this.reason})${words}`;
		const message = `${said.replace(/[.\s]*$/, ".")}${this.#more}`;
		return new BigQueryFailure(this.code, message, { cause: this });
	}
}

function codeOf(
	{
		status,
		service,
		reason,
	}: Pick<GoogleRefusal, "status" | "service" | "reason">,
	words: string,
): BigQueryErrorCode {
	if (service === "Cloud Storage") {
		if (status === 401) return "CredentialsRefused";
		if (status === 404) return "StagingBucketMissing";
		if (status === 403 && !Object.hasOwn(codes, reason))
			return "StagingBucketDenied";
	}
	if (/was not found in location|different (location|region)/i.test(words))
		return "LocationMismatch";
	if (reason === "notFound" && /Not found: Dataset/i.test(words))
		return "DatasetMissing";
	return Object.hasOwn(codes, reason) ? codes[reason]! : "BigQueryRefused";
}

/**
 * Outlasts limits per ten seconds, such as five changes of a table's metadata (cloud.google.com/bigquery/quotas#standard_tables),
 * several times, and then those per minute.
 */
export const rateLimitPatience: Patience = {
	attempts: 7,
	backoff: { baseMs: 4_000, maxMs: 45_000 },
};

/** How long a request is repeated. */
export function patienceFor(error: unknown): Patience {
	const usual = { attempts: 6, backoff: retryBackoff };
	return error instanceof GoogleRefusal ? error.patience(usual) : usual;
}

/** Nobody waits longer for a server that asks for more. */
const maxRetryAfterMs = 60_000;

/** RFC 9110 §10.2.3: seconds, or a date. */
function retryAfterMs(header?: string | null): number | undefined {
	if (!header) return undefined;
	const ms = /^\d+$/.test(header)
		? Number(header) * 1_000
		: Date.parse(header) - Date.now();
	return ms > 0 ? Math.min(ms, maxRetryAfterMs) : undefined;
}

/** BigQuery's documented reasons that have a code of their own; all others are `BigQueryRefused`. */
const codes: Partial<Record<string, BigQueryErrorCode>> = {
	accessDenied: "PermissionDenied",
	authError: "CredentialsRefused",
	backendError: "BigQueryUnavailable",
	billingNotEnabled: "BillingNotEnabled",
	blocked: "ProjectBlocked",
	internalError: "BigQueryUnavailable",
	invalidUser: "CredentialsRefused",
	jobBackendError: "BigQueryUnavailable",
	jobInternalError: "BigQueryUnavailable",
	jobRateLimitExceeded: "RateLimited",
	quotaExceeded: "QuotaExceeded",
	rateLimitExceeded: "RateLimited",
	resourceInUse: "BigQueryUnavailable",
	stopped: "JobCancelled",
	tableUnavailable: "BigQueryUnavailable",
	timeout: "BigQueryUnavailable",
};

function reasonOfStatus(status: number): string {
	if (status >= 500 || status === 408) return "backendError";
	return (
		{
			401: "authError",
			403: "accessDenied",
			404: "notFound",
			409: "duplicate",
			412: "conditionNotMet",
			429: "rateLimitExceeded",
		}[status] ?? "invalid"
	);
}

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
