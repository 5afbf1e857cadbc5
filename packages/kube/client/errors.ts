import { SettingError } from "../../service/settings.ts";

/**
 * The apiserver's answer to a request that it didn't carry out: its `Status` object
 * (k8s.io/apimachinery metav1.Status), or what the body of another server says.
 */
export class KubeApiError extends Error {
	override name = "KubeApiError";
	/** HTTP status. */
	readonly status: number;
	/** For machines: `NotFound`, `AlreadyExists`, `Conflict`, `Expired`, `Invalid`, `Forbidden`, … */
	readonly reason: string;
	readonly details: unknown;
	/** The server's Retry-After, in milliseconds from now. */
	readonly retryAfterMs: number | undefined;
	/** What was asked for, if the answer is one to a request. */
	readonly request: { method: string; path: string } | undefined;

	constructor(
		status: number,
		body: unknown,
		retryAfterMs?: number,
		request?: { method: string; path: string },
	) {
		const answer = asStatus(body);
		// Not imported: that would load all of fetch into each process that knows this error, as in transport.ts.
		const { STATUS_CODES } = process.getBuiltinModule("node:http");
		const reason = answer.reason || (STATUS_CODES[status] ?? "Unknown");
		const message =
			answer.message || `the apiserver answered ${status} ${reason}`;
		super(
			message.includes("database space exceeded")
				? `${message}. ${etcdIsFull}`
				: message,
		);
		this.status = status;
		this.reason = reason;
		this.details = answer.details;
		this.retryAfterMs = retryAfterMs;
		this.request = request && { method: request.method, path: request.path };
	}
}

/** etcd answers so to each write but deletions (etcd's manual, "Maintenance: Space quota"), and can then take no condition either. */
const etcdIsFull =
	"Kubernetes' etcd has used up its quota: compact and defragment it, or raise --quota-backend-bytes, then run etcdctl alarm disarm.";

/** The answer has more characters than its reader takes. */
export class AnswerTooLong extends Error {
	override name = "AnswerTooLong";
}

/** Whether the error is the apiserver's and has one of these reasons, such as `Conflict`. */
export function hasReason(error: unknown, ...reasons: string[]): boolean {
	return error instanceof KubeApiError && reasons.includes(error.reason);
}

/** What the apiserver answers, or undefined if that is an error with one of these reasons. */
export async function unless<T>(
	answer: Promise<T>,
	...reasons: string[]
): Promise<T | undefined> {
	try {
		return await answer;
	} catch (error) {
		if (!hasReason(error, ...reasons)) throw error;
		return undefined;
	}
}

/** There was no answer: the apiserver can't be reached, or the request timed out. */
export class TransportError extends Error {
	override name = "TransportError";
	/** The kept connection was already closed, so the apiserver never read the request. */
	readonly staleConnection: boolean;

	constructor(
		request: { method: string; path: string },
		cause: NodeJS.ErrnoException,
		options: { staleConnection: boolean },
	) {
		// For several refused addresses Node throws an AggregateError with an empty message.
		super(`${request.method} ${request.path}: ${cause.message || cause.code}`, {
			cause,
		});
		this.staleConnection = options.staleConnection;
	}
}

/** What is wrong with KUBECONFIG. No message quotes the file, which holds credentials. */
export const kubeconfigErrors = {
	notInPod: () =>
		new SettingError(
			"KUBECONFIG is not set and this is not a Pod. Set KUBECONFIG to the path of a kubeconfig.",
		),
	unreadable: (path: string, error: unknown) =>
		new SettingError(
			`The kubeconfig ${path} can't be read: ${isMissing(error) ? "there is no such file" : "it is not a kubeconfig in YAML"}. Set KUBECONFIG to the path of a kubeconfig that kubectl accepts.`,
		),
	noCluster: (path: string, context: string) =>
		new SettingError(
			`The kubeconfig ${path} has no usable current cluster (its current-context is "${context}"). Choose one with: kubectl config use-context <name>`,
		),
};

function asStatus(body: unknown): {
	reason?: string;
	message?: string;
	details?: unknown;
} {
	if (typeof body === "object" && body !== null) return body;
	return typeof body === "string" && body
		? { message: body.slice(0, 500) }
		: {};
}

function isMissing(error: unknown): boolean {
	return (error as NodeJS.ErrnoException).code === "ENOENT";
}
