import type { IncomingHttpHeaders } from "node:http";
import type { Route } from "../../../contracts/route.ts";

/** The answer to a sender that checks the URL. Status 200; nothing is stored. */
export interface Greeting {
	contentType: "application/json" | "text/plain; charset=utf-8";
	headers: readonly string[];
	body: string;
}

interface Head {
	method: string;
	query: string | undefined;
	headers: IncomingHttpHeaders;
}

/** What stands in Allow (RFC 9110 §10.2.1) for a source. */
export function allowedMethods({
	verification,
}: Pick<Route, "verification">): string {
	const methods = ["POST"];
	if (verification?.allowGet) methods.push("GET", "HEAD");
	if (verification?.handshakes.includes("EventGrid")) methods.push("OPTIONS");
	return methods.join(", ");
}

/** Answers a check that is known by its head alone; undefined when it isn't one that the source answers. */
export function greetByHead(
	{ verification }: Pick<Route, "verification">,
	{ method, query, headers }: Head,
): Greeting | undefined {
	if (!verification) return undefined;
	const { allowGet, handshakes } = verification;
	switch (method) {
		case "GET":
		case "HEAD":
			return allowGet ? json({ is_success: true }) : undefined;
		case "OPTIONS": {
			// CloudEvents' HTTP 1.1 Web Hooks §4; Event Grid sends it for subscriptions in that schema.
			const origin = headers["webhook-request-origin"];
			return handshakes.includes("EventGrid") && typeof origin === "string"
				? {
						...json({ is_success: true }),
						headers: [
							"webhook-allowed-origin",
							origin,
							"webhook-allowed-rate",
							"*",
						],
					}
				: undefined;
		}
		case "POST": {
			if (!handshakes.includes("MicrosoftGraph")) return undefined;
			const token = new URLSearchParams(query).get("validationToken");
			return token ? text(token) : undefined;
		}
		default:
			return undefined;
	}
}

/** Beyond the longest that a provider sends for this. */
const maxBytes = 16 * 1024;

/** Answers a check that is an event like any other but for its content. */
export function greetByBody(
	{ verification }: Pick<Route, "verification">,
	headers: IncomingHttpHeaders,
	body: Buffer,
): Greeting | undefined {
	if (!verification?.handshakes.length || body.length > maxBytes)
		return undefined;
	const { handshakes } = verification;
	if (handshakes.includes("Slack") && body.includes("url_verification")) {
		// docs.slack.dev, "url_verification event".
		const { type, challenge } = read(body);
		if (type === "url_verification" && typeof challenge === "string")
			return text(challenge);
	}
	if (
		handshakes.includes("EventGrid") &&
		headers["aeg-event-type"] === "SubscriptionValidation"
	) {
		// learn.microsoft.com, "Endpoint validation with Event Grid event schema".
		const { data } = read(body)[0] ?? {};
		if (typeof data?.validationCode === "string")
			return json({ validationResponse: data.validationCode });
	}
	return undefined;
}

/** What isn't JSON is refused as such later. */
function read(body: Buffer): ReturnType<typeof JSON.parse> {
	try {
		return JSON.parse(body.toString()) ?? {};
	} catch {
		return {};
	}
}

function json(value: object): Greeting {
	return {
		contentType: "application/json",
		headers: [],
		body: JSON.stringify(value),
	};
}

/** As text and nothing else: it is the sender's, and must not become a page in somebody's browser. */
function text(body: string): Greeting {
	return {
		contentType: "text/plain; charset=utf-8",
		headers: ["x-content-type-options", "nosniff"],
		body,
	};
}
