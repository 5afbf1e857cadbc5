import type { IncomingHttpHeaders } from "node:http";
import type { Route } from "../../../packages/contracts/route.ts";
import { isConfirmationURL } from "../../../packages/contracts/sns.ts";
import type { ChallengeAnswer } from "./reply.ts";

/*
 * Providers check a URL before they send events to it. A challenge is answered 200 and never stored.
 */

/** Which challenges a Source answers. */
type Verification = NonNullable<Route["verification"]>;

/** The value of the Allow header (RFC 9110 §10.2.1). */
export function allowedMethods({
	verification,
	cors,
}: Pick<Route, "verification" | "cors">): string {
	const methods = ["POST"];
	if (verification?.allowGet) methods.push("GET", "HEAD");
	else if (verification?.handshakes.includes("Meta")) methods.push("GET");
	if (cors || verification?.handshakes.includes("EventGrid"))
		methods.push("OPTIONS");
	return methods.join(", ");
}

/** Answers a challenge that the head alone shows; undefined for any other request. */
export function answerHeadChallenge(
	verification: Verification | undefined,
	method: string,
	query: string | undefined,
	headers: IncomingHttpHeaders,
): ChallengeAnswer | undefined {
	if (!verification) return undefined;
	const { allowGet, handshakes } = verification;
	switch (method) {
		case "GET": {
			const challenge =
				handshakes.includes("Meta") && metaChallenge(query ?? "");
			if (challenge) return text(challenge);
			return allowGet ? json({ is_success: true }) : undefined;
		}
		case "HEAD":
			return allowGet ? json({ is_success: true }) : undefined;
		case "OPTIONS": {
			// CloudEvents' HTTP 1.1 Web Hooks §4. Event Grid sends it for subscriptions in that schema.
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

/** developers.facebook.com, "Webhooks: Verification Requests". A query is no longer than a request line may be. */
function metaChallenge(query: string): string | undefined {
	const parameters = new URLSearchParams(query);
	return parameters.get("hub.mode") === "subscribe"
		? parameters.get("hub.challenge") || undefined
		: undefined;
}

/** Longer than any provider's challenge. */
const maxBytes = 16 * 1024;

/** Answers a challenge that looks like an event until its body is read; undefined for an event. */
export function answerBodyChallenge(
	verification: Verification | undefined,
	headers: IncomingHttpHeaders,
	body: Buffer,
): ChallengeAnswer | undefined {
	if (!verification?.handshakes.length || body.length > maxBytes)
		return undefined;
	const { handshakes } = verification;
	if (handshakes.includes("Slack") && body.includes("url_verification")) {
		// docs.slack.dev, "url_verification event".
		const { type, challenge } = parsed(body);
		if (type === "url_verification" && typeof challenge === "string")
			return text(challenge);
	}
	if (
		handshakes.includes("EventGrid") &&
		headers["aeg-event-type"] === "SubscriptionValidation"
	) {
		// learn.microsoft.com, "Endpoint validation with Event Grid event schema".
		const { data } = parsed(body)[0] ?? {};
		if (typeof data?.validationCode === "string")
			return json({ validationResponse: data.validationCode });
	}
	return undefined;
}

/**
 * The URL that confirms a subscription of Amazon SNS (docs.aws.amazon.com/sns/latest/dg/http-subscription-confirmation-json.html);
 * undefined for any other body.
 */
export function confirmationOf(
	verification: Verification | undefined,
	headers: IncomingHttpHeaders,
	body: Buffer,
): string | undefined {
	if (
		!verification?.handshakes.includes("SNS") ||
		headers["x-amz-sns-message-type"] !== confirmation ||
		body.length > maxBytes
	)
		return undefined;
	const { Type: type, SubscribeURL: url } = parsed(body);
	return type === confirmation &&
		typeof url === "string" &&
		isConfirmationURL(url)
		? url
		: undefined;
}

const confirmation = "SubscriptionConfirmation";

/** A body that isn't JSON is no challenge; a later step refuses it. */
function parsed(body: Buffer): ReturnType<typeof JSON.parse> {
	try {
		return JSON.parse(body.toString()) ?? {};
	} catch {
		return {};
	}
}

/** The answer to a challenge that asks for nothing in return. */
export const done: ChallengeAnswer = json({ is_success: true });

function json(value: object): ChallengeAnswer {
	return {
		contentType: "application/json",
		headers: [],
		body: JSON.stringify(value),
	};
}

/** The sender chose this text, so a browser must not take it for a page. */
function text(body: string): ChallengeAnswer {
	return {
		contentType: "text/plain; charset=utf-8",
		headers: ["x-content-type-options", "nosniff"],
		body,
	};
}
