import { STATUS_CODES } from "node:http";

/**
 * The apiserver's answer to a request that it didn't carry out: its `Status` object
 * (k8s.io/apimachinery metav1.Status), or what can be made of another body.
 */
export class ApiError extends Error {
	override name = "ApiError";
	/** HTTP status. */
	readonly status: number;
	/** For machines: `NotFound`, `AlreadyExists`, `Conflict`, `Expired`, `Invalid`, `Forbidden`, … */
	readonly reason: string;
	readonly details: unknown;
	/** When the server asked to be asked again (Retry-After), in milliseconds from now. */
	readonly retryAfterMs: number | undefined;

	constructor(status: number, body: unknown, retryAfterMs?: number) {
		const answer = asStatus(body);
		const reason = answer.reason || (STATUS_CODES[status] ?? "Unknown");
		super(answer.message || `the apiserver answered ${status} ${reason}`);
		this.status = status;
		this.reason = reason;
		this.details = answer.details;
		this.retryAfterMs = retryAfterMs;
	}
}

/** The error is the apiserver's and has this reason, such as `Conflict`. */
export function hasReason(error: unknown, ...reasons: string[]): boolean {
	return error instanceof ApiError && reasons.includes(error.reason);
}

interface Status {
	reason?: string;
	message?: string;
	details?: unknown;
}

function asStatus(body: unknown): Status {
	if (typeof body === "object" && body !== null) return body;
	return typeof body === "string" && body
		? { message: body.slice(0, 500) }
		: {};
}
