import type { FastifyRequest } from "fastify";
import { RequestError } from "../http/errors.ts";

/** The console's scripts send it with every request; a form or a link of another site can't. */
export const consoleHeader = "tidemill-console";

/** By these a person's own machine is reached, also by `kubectl port-forward`. */
export const loopbackNames: readonly string[] = [
	"localhost",
	"127.0.0.1",
	"[::1]",
	"::1",
];

/**
 * Throws a 403 unless a script of the console's own page sends the request. The cookie is sent by the browser on its own, so what
 * counts is who asked for it: `Sec-Fetch-Site` (W3C Fetch Metadata) and `Origin` (RFC 6454), which no script can set, and a
 * header that no other site may send. A page of another host that resolves to this address has a `Host` that isn't ours (DNS
 * rebinding).
 */
export function requireOwnPage(
	request: FastifyRequest,
	hosts: ReadonlySet<string>,
): void {
	const { headers, method } = request;
	requireOwnHost(request, hosts);
	if (headers[consoleHeader] !== "1")
		throw refusal("The header Tidemill-Console: 1 is missing.");
	if (headers["sec-fetch-site"] !== "same-origin")
		throw refusal(
			"The browser doesn't say that the console's own page sent this request (Sec-Fetch-Site: same-origin). It says so over https, and to this machine's own addresses.",
		);
	const own = `${request.protocol}://${request.host}`;
	const isRead = method === "GET" || method === "HEAD";
	// Browsers send no Origin with a page's own reads.
	if (headers.origin === undefined ? !isRead : headers.origin !== own)
		throw refusal(
			`The request's Origin is ${headers.origin ?? "missing"}, and the console's is ${own}.`,
		);
}

/** Throws a 403 for a host that the console isn't opened by. */
export function requireOwnHost(
	{ hostname }: FastifyRequest,
	hosts: ReadonlySet<string>,
): void {
	if (!hosts.has(hostname.toLowerCase()))
		throw refusal(
			`The console isn't served for the host "${hostname}". Open it by a name in API_CONSOLE_HOSTS, or add this one there.`,
		);
}

function refusal(reason: string): RequestError {
	return new RequestError(
		"Forbidden",
		`${reason} Programs send a token in the header Authorization instead of a session.`,
	);
}
