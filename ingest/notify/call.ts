import { type CallOptions, openRequest } from "./checked-request.ts";
import type { SignedRequest } from "./signed-request.ts";

/** How a call ended. Neither has a word of the receiver's answer: what it reads from an internal service must not show. */
export type CallOutcome =
	| { status: number; retryAfter?: string | undefined }
	| { error: string };

/** Sends one POST and reads nothing of the answer but its status. Follows no redirect. Never throws. */
export async function callWebhook(
	url: string,
	{ headers, body }: SignedRequest,
	options: CallOptions,
): Promise<CallOutcome> {
	const opened = openRequest(url, { method: "POST", headers }, options);
	if ("error" in opened) return opened;
	const { request, errorOf } = opened;
	const { promise, resolve } = Promise.withResolvers<CallOutcome>();
	request.on("response", (response) => {
		resolve({
			status: response.statusCode ?? 0,
			retryAfter: response.headers["retry-after"],
		});
		response.destroy();
	});
	request.on("error", (error) => resolve({ error: errorOf(error) }));
	// Without an answer or an error, such as after 101 (RFC 9110 §15.2.2), this is the only word of its end.
	request.on("close", () =>
		resolve({ error: "The connection ended without an answer." }),
	);
	request.end(body);
	return promise;
}
