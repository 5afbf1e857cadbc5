import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { Route } from "../../../packages/contracts/route.ts";
import type { URLChallenge } from "../../../packages/contracts/url-challenge.ts";
import { refusals } from "./refusal.ts";
import type { SigningKey } from "./signature-check.ts";
import {
	allowedMethods,
	answerChallenge,
	confirmationOf,
	isLikeComputed,
} from "./url-challenge.ts";

type Verification = NonNullable<Route["verification"]>;

const all: Verification = {
	allowGet: true,
	handshakes: ["Slack", "MicrosoftGraph", "EventGrid", "Meta"],
};
const none: Verification = { allowGet: false, handshakes: [] };

/** A Source with challenges of its own. */
function own(...challenges: URLChallenge[]): Verification {
	return { ...none, challenges };
}

interface Sent {
	query?: string | undefined;
	headers?: object;
	body?: string;
	keys?: SigningKey[];
	authorization?: Route["authorization"];
}

function answered(
	verification: Verification | undefined,
	method: string,
	{ query, headers, body, keys, authorization = { type: "None" } }: Sent = {},
) {
	return answerChallenge(
		{ verification, signingKeys: keys, authorization },
		{
			method,
			query,
			headers: { ...headers },
			...(body !== undefined && { body: Buffer.from(body) }),
		},
	);
}

/** The body of the answer, if there is one. */
function text(...of: Parameters<typeof answered>): string | undefined {
	const answer = answered(...of);
	if (answer && "code" in answer) throw new Error(answer.code);
	return answer?.body;
}

test("GET and HEAD are answered only if the source allows them", () => {
	for (const method of ["GET", "HEAD"]) {
		expect(text(all, method)).toBe('{"is_success":true}');
		for (const verification of [none, undefined])
			expect(answered(verification, method)).toBeUndefined();
	}
	expect(answered(all, "DELETE")).toBeUndefined();
});

test("Microsoft Graph gets its validation token back, decoded, once its sender is authorized", () => {
	const query = "token=x&validationToken=Validation%3a+a%2Bb%20%3Cb%3E";
	expect(answered(all, "POST", { query, body: "" })).toEqual({
		status: 200,
		contentType: "text/plain",
		headers: [],
		body: "Validation: a+b <b>",
	});
	expect(answered(all, "POST", { query })).toBeUndefined();
	expect(answered(none, "POST", { query, body: "" })).toBeUndefined();
	expect(answered(all, "POST", { query: "token=x", body: "" })).toBeUndefined();
	expect(answered(all, "POST", { body: "" })).toBeUndefined();
});

test("Meta gets its challenge back", () => {
	const query =
		"hub.mode=subscribe&hub.challenge=%3Cb%3E1158201444&hub.verify_token=x";
	const only: Verification = { allowGet: false, handshakes: ["Meta"] };
	expect(answered(only, "GET", { query })).toEqual({
		status: 200,
		contentType: "text/plain",
		headers: [],
		body: "<b>1158201444",
	});
	for (const other of [
		"hub.mode=unsubscribe&hub.challenge=1",
		"hub.mode=subscribe&hub.challenge=",
		"hub.challenge=1",
		"",
	])
		expect(answered(only, "GET", { query: other })).toBeUndefined();
	expect(answered(only, "HEAD", { query })).toBeUndefined();
	expect(answered(only, "POST", { query, body: "{}" })).toBeUndefined();
	expect(answered(none, "GET", { query })).toBeUndefined();
	expect(text(all, "GET")).toBe('{"is_success":true}');
});

test("a number in the body is answered as it was written, whatever its size", () => {
	const only = own(
		echo("POST", { bodyPointer: "/challenge" }, "{bodyPointer:/challenge}"),
	);
	for (const written of ["9007199254740993", "12345678901234567890123", "7"])
		expect(text(only, "POST", { body: `{"challenge":${written}}` })).toBe(
			written,
		);
	for (const none of ["1.5", "true", "null", "{}"])
		expect(answered(only, "POST", { body: `{"challenge":${none}}` })).toBe(
			undefined,
		);
});

test("the methods of all challenges are allowed", () => {
	const only: Verification = { allowGet: false, handshakes: ["Meta"] };
	expect(allowedMethods({ verification: only })).toBe("POST, GET");
	expect(allowedMethods({ cors: { allowedOrigins: ["*"] } })).toBe(
		"POST, OPTIONS",
	);
	expect(allowedMethods({ verification: all })).toBe(
		"POST, GET, HEAD, OPTIONS",
	);
	expect(allowedMethods({ verification: own(echo("HEAD", {})) })).toBe(
		"POST, HEAD",
	);
});

test("Event Grid gets its validation code back, or its CloudEvents origin allowed", () => {
	const body = JSON.stringify([
		{
			eventType: "Microsoft.EventGrid.SubscriptionValidationEvent",
			data: { validationCode: "512d38b6", validationUrl: "https://x" },
		},
	]);
	const headers = { "aeg-event-type": "SubscriptionValidation" };
	expect(text(all, "POST", { body, headers })).toBe(
		'{"validationResponse":"512d38b6"}',
	);
	expect(text(all, "POST", { body })).toBeUndefined();
	expect(text(none, "POST", { body, headers })).toBeUndefined();
	for (const other of ["[]", "null", "[null]", '[{"data":1}]', "x"])
		expect(text(all, "POST", { body: other, headers })).toBeUndefined();

	const origin = { "webhook-request-origin": "eventgrid.azure.net" };
	expect(answered(all, "OPTIONS", { headers: origin })).toMatchObject({
		headers: [
			"webhook-allowed-origin",
			"eventgrid.azure.net",
			"webhook-allowed-rate",
			"*",
		],
	});
	expect(answered(none, "OPTIONS", { headers: origin })).toBeUndefined();
	expect(answered(all, "OPTIONS")).toBeUndefined();
});

test("Slack gets its challenge back; an event that only mentions a challenge is an event", () => {
	const check = (type: string, challenge: unknown) =>
		text(all, "POST", {
			body: JSON.stringify({ token: "t", type, challenge }),
		});
	expect(check("url_verification", "3eZbrw1a")).toBe("3eZbrw1a");
	expect(check("event_callback", "url_verification")).toBeUndefined();
	expect(check("url_verification", { of: 5 })).toBeUndefined();
	const hidden = '{"type":"url\\u005fverification","challenge":"x"}';
	expect(text(all, "POST", { body: hidden })).toBe("x");
	for (const [verification, body] of [
		[all, '{"type":"url_verification"'],
		[none, '{"type":"url_verification","challenge":"x"}'],
	] as const)
		expect(text(verification, "POST", { body })).toBeUndefined();
});

/** Answers with text, of the request or not. */
function echo(
	method: URLChallenge["match"]["method"],
	match: Omit<URLChallenge["match"], "method">,
	template = "yes",
	answer: Partial<URLChallenge["answer"]> = {},
): URLChallenge {
	return {
		match: { method, ...match },
		answer: { status: 200, contentType: "text/plain", template, ...answer },
	};
}

describe("a challenge of a Source's own", () => {
	test("is found by a header, a query parameter or a place in the body, with a value or any", () => {
		const byHeader = own(echo("POST", { header: "x-check" }));
		expect(text(byHeader, "POST", { headers: { "x-check": "1" } })).toBe("yes");
		expect(text(byHeader, "POST", { headers: { "x-check": "" } })).toBe(
			undefined,
		);
		const exact = own(echo("GET", { queryParameter: "mode", equals: "on" }));
		expect(text(exact, "GET", { query: "mode=on" })).toBe("yes");
		expect(text(exact, "GET", { query: "mode=off" })).toBeUndefined();
		const inBody = own(echo("POST", { bodyPointer: "/type", equals: "1" }));
		for (const body of ['{"type":1}', '{"type":"1"}', '{"type":2,"type":1}'])
			expect(text(inBody, "POST", { body })).toBe("yes");
		for (const body of [
			'{"type":2}',
			'{"type":true}',
			"type=1",
			"[1]",
			"",
			"1",
		])
			expect(text(inBody, "POST", { body })).toBeUndefined();
	});

	test("is the first whose answer the request has the values for", () => {
		const verification = own(
			echo("GET", {}, "a {queryParameter:a}"),
			echo("GET", {}, "b {queryParameter:b}"),
			echo("GET", {}, "none"),
		);
		expect(text(verification, "GET", { query: "b=2&b=3" })).toBe("b 2");
		expect(text(verification, "GET", { query: "a=&c" })).toBe("none");
	});

	test("in a long body is an event", () => {
		const verification = own(echo("POST", { bodyPointer: "/a" }));
		const body = (length: number) => `{"a":"${"x".repeat(length)}"}`;
		expect(text(verification, "POST", { body: body(16_000) })).toBe("yes");
		expect(text(verification, "POST", { body: body(17_000) })).toBeUndefined();
	});

	const odd = "\"<b>&'\\\u0001\u2028ü\ud83c";
	test.each<[URLChallenge["answer"]["contentType"], (body: string) => unknown]>(
		[
			["application/json", (body) => JSON.parse(body).a],
			["text/plain", (body) => body.slice(6, -2)],
		],
	)("holds a value of the request as it is, in %s", (contentType, read) => {
		const template = '{"a":"{bodyPointer:/a}"}';
		const challenge = echo("POST", { bodyPointer: "/a" }, template, {
			contentType,
		});
		const body = JSON.stringify({ a: odd });
		expect(read(text(own(challenge), "POST", { body })!)).toBe(odd);
	});

	test.each(["text/xml", "application/xml"] as const)(
		"holds a value of the request as text, in %s",
		(contentType) => {
			const template = "<a>{bodyPointer:/a}</a>";
			const challenge = echo("POST", { bodyPointer: "/a" }, template, {
				contentType,
			});
			const body = JSON.stringify({ a: odd });
			expect(text(own(challenge), "POST", { body })).toBe(
				"<a>&#34;&#60;b&#62;&#38;&#39;\\\ufffd\u2028ü\ufffd</a>",
			);
		},
	);

	test("gives a header back as it is, and refuses what can't stand in one", () => {
		const challenge = echo("POST", { header: "x-hook-secret" }, "", {
			headers: [{ name: "x-hook-secret", template: "{header:x-hook-secret}" }],
		});
		const sent = (value: string) =>
			answered(own(challenge), "POST", { headers: { "x-hook-secret": value } });
		expect(sent("a b=")).toMatchObject({ headers: ["x-hook-secret", "a b="] });
		expect(sent("a\tb")).toBe(refusals.ChallengeInvalid);
		expect(sent("\u00fc")).toBe(refusals.ChallengeInvalid);
		const byQuery = echo("GET", {}, "", {
			headers: [{ name: "x-hook", template: "{queryParameter:a}" }],
		});
		expect(
			answered(own(byQuery), "GET", { query: "a=b%0d%0aset-cookie:c" }),
		).toBe(refusals.ChallengeInvalid);
	});

	test("has an answer of at most 4 KiB", () => {
		const verification = own(echo("GET", {}, "{queryParameter:a}"));
		const sent = (length: number) =>
			answered(verification, "GET", { query: `a=${"x".repeat(length)}` });
		expect(sent(4_096)).toMatchObject({ status: 200 });
		expect(sent(4_097)).toBe(refusals.ChallengeInvalid);
		const often = own(echo("GET", {}, "{queryParameter:a}".repeat(100)));
		expect(
			answered(often, "GET", { query: `a=${"x".repeat(40)}` }),
		).toMatchObject({
			body: "x".repeat(4_000),
		});
		expect(answered(often, "GET", { query: `a=${"x".repeat(41)}` })).toBe(
			refusals.ChallengeInvalid,
		);
		const inHeader = echo("POST", { header: "a" }, "", {
			headers: [{ name: "x-hook", template: "{header:a}" }],
		});
		const headers = { a: "x".repeat(4_097) };
		expect(answered(own(inHeader), "POST", { headers })).toBe(
			refusals.ChallengeInvalid,
		);
	});

	test("of a POST is answered to anybody only by what a header shows", () => {
		const isOpen = (challenge: URLChallenge) => {
			const headers = { a: "1" };
			const query = "a=1";
			const sent = { headers, query, keys: hmac };
			const open = answered(own(challenge), "POST", sent);
			const later = answered(own(challenge), "POST", {
				...sent,
				body: '{"a":"1"}',
			});
			expect([open, later].filter(Boolean)).toHaveLength(1);
			return open !== undefined;
		};
		expect(isOpen(echo("POST", { header: "a" }, "{header:a}"))).toBe(true);
		expect(isOpen(echo("POST", { header: "a" }, "{bodyPointer:/a}"))).toBe(
			false,
		);
		expect(isOpen(echo("POST", { queryParameter: "a" }))).toBe(false);
		expect(isOpen(echo("POST", { bodyPointer: "/a" }))).toBe(false);
		const compute = computes("{header:a}");
		expect(isOpen(echo("POST", { header: "a" }, "{computed}", compute))).toBe(
			false,
		);
	});
});

const secret = Buffer.from("hush");
const hmac: SigningKey[] = [{ algorithm: "HMAC", key: secret }];

function computes(input: string): Partial<URLChallenge["answer"]> {
	return { compute: { algorithm: "SHA256", encoding: "Hex", input } };
}

describe("a computed answer", () => {
	const verification = own(
		echo(
			"GET",
			{},
			"{queryParameter:a} {computed}",
			computes("{queryParameter:a}"),
		),
	);

	test("holds the HMAC of a value by the Source's first secret", () => {
		const other = { algorithm: "HMAC" as const, key: Buffer.from("older") };
		const digest = createHmac("sha256", secret).update("x-1").digest("hex");
		expect(
			text(verification, "GET", { query: "a=x-1", keys: [...hmac, other] }),
		).toBe(`x-1 ${digest}`);
		expect(answered(verification, "GET", { query: "b=1", keys: hmac })).toBe(
			undefined,
		);
	});

	test.each([
		'{"event":"paid"}',
		"1.0",
		"a=1",
		"a b",
		"a\n",
		"1772366400.1",
		"v0:1772366400:1",
		"x".repeat(129),
		"ü",
	])("never signs what could be an event: %j", (input) => {
		const query = new URLSearchParams({ a: input }).toString();
		expect(answered(verification, "GET", { query, keys: hmac })).toBe(
			refusals.ChallengeInvalid,
		);
	});

	test("waits for its key", () => {
		expect(answered(verification, "GET", { query: "a=1" })).toBe(
			refusals.KeyUnavailable,
		);
		expect(
			answered(verification, "GET", {
				query: "a=1",
				authorization: { type: "Unavailable", presented: {} } as never,
			}),
		).toBe(refusals.SecretUnavailable);
	});

	test.each<[string, boolean]>([
		["", true],
		["null", true],
		["12345", true],
		["x".repeat(128), true],
		["x".repeat(129), false],
		["{}", false],
		['"a"', false],
		["1.0", false],
		["1\n", false],
		["\u01f1", false],
	])("makes a body like its input no event: %j", (body, isLike) => {
		const parts = [Buffer.from(body.slice(0, 2)), Buffer.from(body.slice(2))];
		expect(isLikeComputed({ verification }, parts)).toBe(isLike);
		expect(isLikeComputed({ verification: all }, parts)).toBe(false);
		expect(isLikeComputed({}, parts)).toBe(false);
	});
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
