import { type JobErrorCode, JobFailure } from "../errors.ts";
import type { ErrorProto } from "./api.ts";

/** BigQuery said no: to a request (with its HTTP status), or to a job that it had accepted (status 0). */
export class BigQueryRefusal extends Error {
	override name = "BigQueryRefusal";
	readonly status: number;
	/** A word of BigQuery's own list (cloud.google.com/bigquery/docs/error-messages). */
	readonly reason: string;

	/** The API's error body; what isn't one (a proxy's page) gives its beginning. */
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

	/** The same request, or the same job under a new id, may succeed in seconds. */
	get isTransient(): boolean {
		return ["BigQueryUnavailable", "RateLimited"].includes(this.code);
	}

	toFailure(doing: string): JobFailure {
		const words = `BigQuery refused to ${doing} (${this.reason}): ${this.message}`;
		return new JobFailure(this.code, words, { cause: this });
	}
}

/** Of the reasons that BigQuery documents, those that are not simply `BigQueryRefused`. */
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
