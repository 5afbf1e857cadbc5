import { ApiError, TransportError } from "./errors.ts";
import type { KubeRequest } from "./transport.ts";

export const applyContentType = "application/apply-patch+yaml";
const maxRetries = 3;

/**
 * How long to wait before the request is sent again, in ms; undefined for no retry. Callers retry other writes themselves.
 *
 * An apiserver, or a proxy before it, may close a kept connection at the moment a request is sent. A read and a server-side
 * apply do the same when they are sent twice (RFC 9110, 9.2.2).
 */
export function retryWaitMs(
	{ method, contentType }: Pick<KubeRequest, "method" | "contentType">,
	error: unknown,
	attempt: number,
): number | undefined {
	if (attempt > maxRetries) return undefined;
	const isRead = method === "GET";
	const isRepeatable = isRead || contentType === applyContentType;
	if (isRepeatable && error instanceof TransportError && error.staleConnection)
		return 0;
	// API Priority and Fairness answers 429 with Retry-After, a starting apiserver 503.
	if (isRead && error instanceof ApiError && [429, 503].includes(error.status))
		return error.retryAfterMs && Math.min(error.retryAfterMs, 10_000);
	return undefined;
}
