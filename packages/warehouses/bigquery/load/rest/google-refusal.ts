import { JobFailure } from "../../../load/failure.ts";
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

	/** Reads the API's error body. Of any other body, such as a proxy's page, the message is its beginning. */
	static ofAnswer(
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

	/** Whether the same request, or the same job under a new id, may succeed within seconds. */
	get isTransient(): boolean {
		return ["BigQueryUnavailable", "RateLimited"].includes(this.code);
	}

	toFailure(action: string): BigQueryFailure {
		const message = `${this.service} refused to ${action} (${this.reason}): ${this.message}`;
		return new BigQueryFailure(this.code, message, { cause: this });
	}
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
