import { expect, test } from "vitest";
import type { Route } from "../../../packages/contracts/route.ts";
import {
	allowedMethods,
	answerBodyChallenge,
	answerHeadChallenge,
	confirmationOf,
} from "./url-challenge.ts";

type Verification = NonNullable<Route["verification"]>;

const all: Verification = {
	allowGet: true,
	handshakes: ["Slack", "MicrosoftGraph", "EventGrid", "Meta"],
};
const none: Verification = { allowGet: false, handshakes: [] };

function byHead(
	verification: Verification | undefined,
	method: string,
	{ query, headers = {} }: { query?: string; headers?: object } = {},
) {
	return answerHeadChallenge(verification, method, query, { ...headers });
}

function byBody(verification: Verification, body: string, headers = {}) {
	return answerBodyChallenge(verification, headers, Buffer.from(body))?.body;
}

test("GET and HEAD are answered only if the source allows them", () => {
	for (const method of ["GET", "HEAD"]) {
		expect(byHead(all, method)?.body).toBe('{"is_success":true}');
		for (const verification of [none, undefined])
			expect(byHead(verification, method)).toBeUndefined();
	}
	expect(byHead(all, "DELETE")).toBeUndefined();
});

test("Microsoft Graph gets its validation token back, decoded, as text that no browser takes for a page", () => {
	const query = "token=x&validationToken=Validation%3a+a%2Bb%20%3Cb%3E";
	expect(byHead(all, "POST", { query })).toEqual({
		contentType: "text/plain; charset=utf-8",
		headers: ["x-content-type-options", "nosniff"],
		body: "Validation: a+b <b>",
	});
	expect(byHead(none, "POST", { query })).toBeUndefined();
	expect(byHead(all, "POST", { query: "token=x" })).toBeUndefined();
	expect(byHead(all, "POST")).toBeUndefined();
});

test("Meta gets its challenge back, as text that no browser takes for a page", () => {
	const query =
		"hub.mode=subscribe&hub.challenge=%3Cb%3E1158201444&hub.verify_token=x";
	const only: Verification = { allowGet: false, handshakes: ["Meta"] };
	expect(byHead(only, "GET", { query })).toEqual({
		contentType: "text/plain; charset=utf-8",
		headers: ["x-content-type-options", "nosniff"],
		body: "<b>1158201444",
	});
	expect(allowedMethods({ verification: only })).toBe("POST, GET");
	expect(allowedMethods({ cors: { allowedOrigins: ["*"] } })).toBe(
		"POST, OPTIONS",
	);
	for (const other of [
		"hub.mode=unsubscribe&hub.challenge=1",
		"hub.mode=subscribe&hub.challenge=",
		"hub.challenge=1",
		"",
	])
		expect(byHead(only, "GET", { query: other })).toBeUndefined();
	expect(byHead(only, "HEAD", { query })).toBeUndefined();
	expect(byHead(only, "POST", { query })).toBeUndefined();
	expect(byHead(none, "GET", { query })).toBeUndefined();
	expect(byHead(all, "GET")?.body).toBe('{"is_success":true}');
});

test("Event Grid gets its validation code back, or its CloudEvents origin allowed", () => {
	const event = JSON.stringify([
		{
			eventType: "Microsoft.EventGrid.SubscriptionValidationEvent",
			data: { validationCode: "512d38b6", validationUrl: "https://x" },
		},
	]);
	const headers = { "aeg-event-type": "SubscriptionValidation" };
	expect(byBody(all, event, headers)).toBe('{"validationResponse":"512d38b6"}');
	expect(byBody(all, event)).toBeUndefined();
	expect(byBody(none, event, headers)).toBeUndefined();
	for (const other of ["[]", "null", "[null]", '[{"data":1}]', "x"])
		expect(byBody(all, other, headers)).toBeUndefined();

	const origin = { "webhook-request-origin": "eventgrid.azure.net" };
	expect(byHead(all, "OPTIONS", { headers: origin })?.headers).toEqual([
		"webhook-allowed-origin",
		"eventgrid.azure.net",
		"webhook-allowed-rate",
		"*",
	]);
	expect(byHead(none, "OPTIONS", { headers: origin })).toBeUndefined();
	expect(byHead(all, "OPTIONS")).toBeUndefined();
});

test("Slack gets its challenge back; an event that only mentions a challenge is an event", () => {
	const check = (type: string, challenge: unknown) =>
		byBody(all, JSON.stringify({ token: "t", type, challenge }));
	expect(check("url_verification", "3eZbrw1a")).toBe("3eZbrw1a");
	expect(check("event_callback", "url_verification")).toBeUndefined();
	expect(check("url_verification", 5)).toBeUndefined();
	expect(byBody(all, '{"type":"url_verification"')).toBeUndefined();
	expect(
		byBody(none, '{"type":"url_verification","challenge":"x"}'),
	).toBeUndefined();
});

const snsHeaders = { "x-amz-sns-message-type": "SubscriptionConfirmation" };
const message = {
	Type: "SubscriptionConfirmation",
	SubscribeURL:
		"https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn=a&Token=b",
};
const sns = { allowGet: false, handshakes: ["SNS"] } satisfies Parameters<
	typeof confirmationOf
>[0];

test("a subscription of Amazon SNS is confirmed by the URL in the message", () => {
	const body = Buffer.from(JSON.stringify(message));
	expect(confirmationOf(sns, snsHeaders, body)).toBe(message.SubscribeURL);
	expect(confirmationOf(undefined, snsHeaders, body)).toBeUndefined();
	const others = { allowGet: true, handshakes: ["Slack" as const] };
	expect(confirmationOf(others, snsHeaders, body)).toBeUndefined();
	expect(confirmationOf(sns, {}, body)).toBeUndefined();
});

test.each<[string, unknown]>([
	["a notification", { ...message, Type: "Notification" }],
	["another host", { ...message, SubscribeURL: "https://169.254.169.254/" }],
	["no URL", { Type: message.Type }],
	["a list", [message]],
	["nothing", null],
	["a long message", { ...message, Message: "x".repeat(16 * 1024) }],
])("%s confirms no subscription", (_, content) => {
	const body = Buffer.from(JSON.stringify(content));
	expect(confirmationOf(sns, snsHeaders, body)).toBeUndefined();
});
