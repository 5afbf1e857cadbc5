import { JobFailure } from "../../../load/failure.ts";
import { type Patience, retryBackoff } from "../../../load/retry.ts";
import { bigQueryErrors } from "../../errors.ts";
import type { ErrorProto } from "./api.ts";

type BigQueryErrorCode = keyof typeof bigQueryErrors;

/** A failure of a Job that only BigQuery has. */
export class BigQueryFailure extends JobFailure<BigQueryErrorCode> {
	constructor(code: BigQueryErrorCode, what: string, options?: ErrorOptions) {
		super(code, what, options, bigQueryErrors);
	}
}

export type GoogleService = "BigQuery" | "Cloud Storage";

/** A service refused a request (with its HTTP status), or BigQuery failed a job that it had accepted (status 0). */
export class GoogleRefusal extends Error {
	override name = "GoogleRefusal";
	readonly status: number;
	/** One of BigQuery's error codes (cloud.google.com/bigquery/docs/error-messages). */
	readonly reason: string;
	readonly service: GoogleService;
	/** What its Retry-After asks for. */
	retryAfterMs: number | undefined;

	/** Reads the API's error body. Of any other body, such as a proxy's page, the message is its beginning. */
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
			const message = body.slice(0, 200);
			return new GoogleRefusal(status, { message }, service);
		}
	}

	constructor(
		status: number,
		{ reason, message }: ErrorProto,
		service: GoogleService = "BigQuery",
	) {
		super(message || `HTTP status ${status}`);
		this.status = status;
		this.service = service;
		this.reason = reason || reasonOfStatus(status);
	}

	get code(): BigQueryErrorCode {
		if (this.service === "Cloud Storage") {
			if (this.status === 401) return "CredentialsRefused";
			if (this.status === 404) return "StagingBucketMissing";
			if (this.status === 403 && !Object.hasOwn(codes, this.reason))
				return "StagingBucketDenied";
		}
		if (
			/was not found in location|different (location|region)/i.test(
				this.message,
			)
		)
			return "LocationMismatch";
		if (this.reason === "notFound" && /Not found: Dataset/i.test(this.message))
			return "DatasetMissing";
		return Object.hasOwn(codes, this.reason)
			? codes[this.reason]!
			: "BigQueryRefused";
	}

	/** Whether a job failed for the size of a row or a value. BigQuery says so in words, and of Parquet as of memory. */
	get isOfSize(): boolean {
		return (
			this.status === 0 &&
			(this.reason === "resourcesExceeded" ||
				/\b(row|cell|value|column|field)s?\b.*\b(too (large|long|big)|larger than|exceed(s|ed)?)\b/i.test(
					this.message,
				))
		);
	}

	/** The same refusal with another sentence. */
	with(sentence: string): GoogleRefusal {
		const { reason, message } = this;
		return new GoogleRefusal(
			this.status,
			{ reason, message: `${message.replace(/[.\s]*$/, ".")} ${sentence}` },
			this.service,
		);
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
		const message = `${this.service} refused to ${action} (${this.reason}): ${this.message}`;
		return new BigQueryFailure(this.code, message, { cause: this });
	}
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
