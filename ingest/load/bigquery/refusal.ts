import { type JobErrorCode, JobFailure } from "../../job/errors.ts";
import type { ErrorProto } from "./api.ts";

/** BigQuery refused a request (with its HTTP status), or failed a job that it had accepted (status 0). */
export class BigQueryRefusal extends Error {
	override name = "BigQueryRefusal";
	readonly status: number;
	/** One of BigQuery's error codes (cloud.google.com/bigquery/docs/error-messages). */
	readonly reason: string;

	/** Reads the API's error body. Of any other body, such as a proxy's page, the message is its beginning. */
	static ofAnswer(status: number, body: string): BigQueryRefusal {
		try {
			const { error } = JSON.parse(body) as {
				error: { message?: string; errors?: ErrorProto[] };
			};
			const [first] = error.errors ?? [];
			return new BigQueryRefusal(status, {
				...(first?.reason !== undefined && { reason: first.reason }),
				message: error.message ?? first?.message ?? "",
			});
		} catch {
			const message = body.slice(0, 200);
			return new BigQueryRefusal(status, { message });
		}
	}

	constructor(status: number, { reason, message }: ErrorProto) {
		super(message || `HTTP status ${status}`);
		this.status = status;
		this.reason = reason || reasonOfStatus(status);
	}

	get code(): JobErrorCode {
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

	toFailure(action: string): JobFailure {
		const message = `BigQuery refused to ${action} (${this.reason}): ${this.message}`;
		return new JobFailure(this.code, message, { cause: this });
	}
}

/** BigQuery's documented reasons that have a code of their own; all others are `BigQueryRefused`. */
const codes: Partial<Record<string, JobErrorCode>> = {
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
