import {
	createHmac,
	generateKeyPairSync,
	type KeyObject,
	sign,
} from "node:crypto";
import { createRequire } from "node:module";
import { crc32 } from "node:zlib";
import { SignJWT } from "jose";

/*
 * What providers send, as their pages say that the examples in examples/senders name. Where a provider's own library verifies webhooks
 * and is small, it must accept the same request.
 */

const load = createRequire(import.meta.url);
// discord-interactions, @mux/mux-node, @paddle/paddle-node-sdk, @sendgrid/eventwebhook: each provider's own word on what it has signed.
const { verifyKey } = load("discord-interactions");
const { Mux } = load("@mux/mux-node");
const { Paddle } = load("@paddle/paddle-node-sdk");
const { EventWebhook } = load("@sendgrid/eventwebhook");
const twilio = load("twilio/lib/webhooks/webhooks.js");

export interface ProviderRequest {
	method?: string;
	headers?: Record<string, string> | undefined;
	/** After the question mark. */
	query?: string | undefined;
	body?: string;
}

export interface ProviderAnswer {
	status: number;
	body: string;
	headers?: Record<string, string>;
}

export interface ProviderTraffic {
	/** What the Secret holds, if not a plain one. */
	secret?: string;
	/** An event. @param url that the provider calls. */
	event(url: string): ProviderRequest | Promise<ProviderRequest>;
	/** Another event of the same form, which the signature of the first doesn't cover. */
	otherBody?: string;
	/** The answer to an event, if not Tidemill's own. */
	answer?: ProviderAnswer;
	/** Checks of the URL. */
	challenges?(): [ProviderRequest, ProviderAnswer][];
	/** Whether the provider's own library accepts the event. */
	accepts?(event: ProviderRequest): boolean | Promise<boolean>;
	/** What proves the sender stands in the body. */
	isProvenInBody?: true;
	/** A token proves the sender, whatever it sends. */
	isByToken?: true;
	/** Whoever has the URL may send. */
	isOpen?: true;
	/** The second delivery of an event is the same event. */
	hasKey?: true;
	/** The same event for another subscription at the URL, with another body. */
	elsewhere?(url: string): ProviderRequest;
}

export const secret = "0123456789abcdefghij-secret";
const json = { "content-type": "application/json" };
const event = '{"id":"evt_1","event_id":"evt_1","type":1,"text":"Käse 🧀"}';
const isoNow = () => new Date().toISOString();
const millisNow = () => String(Date.now());
const secondsNow = () => String(Math.floor(Date.now() / 1_000));

function hmac(
	text: string,
	encoding: "hex" | "base64",
	algorithm = "sha256",
): string {
	return createHmac(algorithm, secret).update(text).digest(encoding);
}

/** A provider that signs with an HMAC, in one header. */
function signed(
	header: string,
	signature: (body: string, url: string) => string,
	more: Record<string, string> = {},
	body = event,
) {
	return (url: string): ProviderRequest => ({
		headers: { ...json, ...more, [header]: signature(body, url) },
		body,
	});
}

/** An action, as the webhook of a board or of a card sends it. */
function trello(model: string) {
	return signed(
		"x-trello-webhook",
		(body, url) => hmac(body + url, "base64", "sha1"),
		{},
		`{"action":{"id":"51f9424bcd6e040f3c002412"},"model":{"id":"${model}"}}`,
	);
}

/** The same with the time in a header of its own. */
function timed(
	header: string,
	timeHeader: string,
	now: () => string,
	signature: (time: string, body: string, url: string) => string,
) {
	return (url: string): ProviderRequest => {
		const time = now();
		return signed(header, (body) => signature(time, body, url), {
			[timeHeader]: time,
		})(url);
	};
}

/** Time and signature as parts of one header. */
function inParts(
	header: string,
	text: (time: string, signature: string) => string,
	between: string,
) {
	return (): ProviderRequest => {
		const time = secondsNow();
		const signature = hmac(`${time}${between}${event}`, "hex");
		return {
			headers: { ...json, [header]: text(time, signature) },
			body: event,
		};
	};
}

/** Whether a function returns or settles. */
async function works(work: () => unknown): Promise<boolean> {
	try {
		return (await work()) !== false;
	} catch {
		return false;
	}
}

const plain = (body: string): ProviderAnswer => ({
	status: 200,
	body,
	headers: { "content-type": "text/plain; charset=utf-8" },
});
const asJSON = (value: object): ProviderAnswer => ({
	status: 200,
	body: JSON.stringify(value),
	headers: { "content-type": "application/json" },
});
const echoOfChallenge: ProviderTraffic["challenges"] = () => [
	[{ method: "GET", query: "challenge=a%20b" }, plain("a b")],
];

const ed25519 = generateKeyPairSync("ed25519");
const ed25519Hex = ed25519.publicKey
	.export({ format: "der", type: "spki" })
	.subarray(-32)
	.toString("hex");
const p256 = generateKeyPairSync("ec", { namedCurve: "P-256" });
const p256Text = p256.publicKey
	.export({ format: "der", type: "spki" })
	.toString("base64");
/** What PayPal's certificate holds. */
const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
const pem = (key: KeyObject) =>
	key.export({ format: "pem", type: "spki" }).toString();
const payPalKeys =
	"https://api.paypal.com/v1/notifications/certs/CERT-360caa42-fca2a594-aecacc47";

/** Of Google's tokens. */
const google = { alg: "RS256", kid: "b1b1", typ: "JWT" };
/** A token of Google's for a push subscription, by claims of its own beside the usual ones. */
async function googleToken(claims: object = {}, header: object = {}) {
	return new SignJWT({
		email: "push@my-project.iam.gserviceaccount.com",
		email_verified: true,
		sub: "113774264463038321964",
		azp: "113774264463038321964",
		...claims,
	})
		.setProtectedHeader({ ...google, ...header })
		.setIssuer("https://accounts.google.com")
		.setAudience("tidemill")
		.setIssuedAt()
		.setExpirationTime("1h")
		.sign(rsa.privateKey);
}

const pubSubBody =
	'{"message":{"data":"SGVsbG8=","messageId":"136969346945"},"subscription":"projects/my-project/subscriptions/my-sub"}';

/** Texts that providers publish, by URL. */
export const published: Record<string, string> = {
	"https://www.googleapis.com/oauth2/v3/certs": JSON.stringify({
		keys: [
			{ ...p256.publicKey.export({ format: "jwk" }), kid: "other" },
			{
				...rsa.publicKey.export({ format: "jwk" }),
				...google,
				use: "sig",
			},
		],
	}),
	[payPalKeys]: pem(rsa.publicKey),
	"https://api.github.com/meta/public_keys/secret_scanning": JSON.stringify({
		public_keys: [
			{
				key_identifier: "f9525bf080f75b3506ca1ead061add62b8633a34",
				key: pem(p256.publicKey),
				is_current: true,
			},
		],
	}),
};

const discord = timed(
	"x-signature-ed25519",
	"x-signature-timestamp",
	secondsNow,
	(time, body) =>
		sign(undefined, Buffer.from(time + body), ed25519.privateKey).toString(
			"hex",
		),
);

function zoom(body: string): ProviderRequest {
	const time = secondsNow();
	const signature = `v0=${hmac(`v0:${time}:${body}`, "hex")}`;
	return {
		headers: {
			...json,
			"x-zm-request-timestamp": time,
			"x-zm-signature": signature,
		},
		body,
	};
}

const xero = signed("x-xero-signature", (body) => hmac(body, "base64"));

/** By the name of the example. */
export const traffic: Record<string, ProviderTraffic> = {
	"google-pubsub": {
		event: async () => ({
			headers: { ...json, authorization: `Bearer ${await googleToken()}` },
			body: pubSubBody,
		}),
		isByToken: true,
		hasKey: true,
	},
	wrike: {
		event: signed("x-hook-secret", (body) => hmac(body, "hex")),
		challenges: () => {
			const body = '{"requestType":"WebHook secret verification"}';
			const signature = hmac(body, "hex");
			const sent = (text: string) => ({
				headers: { ...json, "x-hook-secret": text },
				body,
			});
			return [
				[
					sent(signature),
					{
						status: 200,
						body: "",
						headers: { "x-hook-secret": hmac(signature, "hex") },
					},
				],
				// Nobody else has a text of theirs signed.
				[sent("a".repeat(64)), { status: 401, body: "SignatureInvalid" }],
			];
		},
	},
	zoom: {
		event: () => zoom(event),
		challenges: () => {
			const plainToken = "qgg8vlvZRS6UYooatFL8Aw";
			const body = JSON.stringify({
				payload: { plainToken },
				event_ts: 1654503849680,
				event: "endpoint.url_validation",
			});
			const encryptedToken = hmac(plainToken, "hex");
			const check = zoom(body);
			const forged = { ...zoom(body.replace("qgg8", "qgg9")), body };
			return [
				[check, asJSON({ plainToken, encryptedToken })],
				[forged, { status: 401, body: "SignatureInvalid" }],
				[
					{ ...check, headers: json },
					{ status: 401, body: "SignatureInvalid" },
				],
			];
		},
	},
	okta: {
		event: () => ({
			headers: { ...json, "x-webhook-token": secret },
			body: '{"eventId":"evt_1"}',
		}),
		challenges: () => [
			[
				{
					method: "GET",
					headers: { "x-okta-verification-challenge": 'a"b' },
				},
				asJSON({ verification: 'a"b' }),
			],
		],
		isByToken: true,
		hasKey: true,
	},
	dropbox: {
		event: signed("x-dropbox-signature", (body) => hmac(body, "hex")),
		challenges: echoOfChallenge,
		hasKey: true,
	},
	nylas: {
		event: signed("x-nylas-signature", (body) => hmac(body, "hex")),
		challenges: echoOfChallenge,
		hasKey: true,
	},
	strava: {
		event: () => ({ headers: json, body: event }),
		challenges: () => [
			[
				{
					method: "GET",
					query: "hub.verify_token=x&hub.challenge=15f7d1a9&hub.mode=subscribe",
				},
				asJSON({ "hub.challenge": "15f7d1a9" }),
			],
		],
		isOpen: true,
	},
	x: {
		event: signed(
			"x-twitter-webhooks-signature",
			(body) => `sha256=${hmac(body, "base64")}`,
		),
		challenges: () => {
			const token = "MDFiMTk4NWYtZGM0Mi00_-";
			const response_token = `sha256=${hmac(token, "base64")}`;
			const ask = (text: string) =>
				new URLSearchParams({ crc_token: text, nonce: "1" }).toString();
			return [
				[{ method: "GET", query: ask(token) }, asJSON({ response_token })],
				// The signature of an event.
				[
					{ method: "GET", query: ask(event) },
					{ status: 400, body: "ChallengeInvalid" },
				],
			];
		},
		hasKey: true,
	},
	monday: {
		event: () => ({
			headers: json,
			body: '{"event":{"triggerUuid":"b5ed2e17"}}',
		}),
		challenges: () => [
			[
				{ headers: json, body: '{"challenge":"3eZbrw1aBm2rZgRNFdxV2595E9CY"}' },
				asJSON({ challenge: "3eZbrw1aBm2rZgRNFdxV2595E9CY" }),
			],
		],
		isOpen: true,
		hasKey: true,
	},
	discord: {
		secret: ed25519Hex,
		event: discord,
		answer: { status: 204, body: "" },
		challenges: () => {
			const time = secondsNow();
			const body =
				'{"version":1,"application_id":"1234560123453231555","type":0}';
			const headers = {
				...json,
				"x-signature-timestamp": time,
				"x-signature-ed25519": sign(
					undefined,
					Buffer.from(time + body),
					ed25519.privateKey,
				).toString("hex"),
			};
			const empty = {
				status: 204,
				body: "",
				headers: { "content-type": "application/json" },
			};
			return [
				[{ headers, body }, empty],
				// Discord tries a wrong signature, too.
				[
					{ headers: { ...headers, "x-signature-timestamp": "1" }, body },
					{ status: 401, body: "SignatureInvalid" },
				],
			];
		},
		accepts: ({ headers, body }) =>
			verifyKey(
				body,
				headers!["x-signature-ed25519"],
				headers!["x-signature-timestamp"],
				ed25519Hex,
			),
	},
	asana: {
		event: signed("x-hook-signature", (body) => hmac(body, "hex")),
		challenges: () => [
			[
				{ headers: { "x-hook-secret": "b537207f20cbfa02357cf448134da559" } },
				{
					status: 200,
					body: "",
					headers: { "x-hook-secret": "b537207f20cbfa02357cf448134da559" },
				},
			],
		],
	},
	websub: {
		event: signed("x-hub-signature", (body) => `sha256=${hmac(body, "hex")}`, {
			link: '<https://example.com/feed.json>; rel="self"',
		}),
		challenges: () => {
			const of = (topic: string) =>
				new URLSearchParams({
					"hub.mode": "subscribe",
					"hub.topic": topic,
					"hub.challenge": "a b",
					"hub.lease_seconds": "864000",
				}).toString();
			return [
				[
					{ method: "GET", query: of("https://example.com/feed.json") },
					plain("a b"),
				],
				[
					{ method: "GET", query: of("https://example.com/other") },
					{ status: 405, body: "MethodNotAllowed" },
				],
			];
		},
		hasKey: true,
	},
	trello: {
		event: trello("board"),
		elsewhere: trello("card"),
		challenges: () => [[{ method: "HEAD" }, { status: 200, body: "" }]],
		hasKey: true,
	},
	xero: {
		event: xero,
		answer: { status: 200, body: "" },
		challenges: () => {
			const body =
				'{"events":[],"lastEventSequence":0,"firstEventSequence":0,"entropy":"S0m3r4Nd0mt3xt"}';
			const headers = { ...json, "x-xero-signature": hmac(body, "base64") };
			const forged = { ...headers, "x-xero-signature": hmac("x", "base64") };
			return [
				[
					{ headers, body },
					{ status: 200, body: "" },
				],
				[
					{ headers: forged, body },
					{ status: 401, body: "" },
				],
			];
		},
		hasKey: true,
	},
	zendesk: {
		event: timed(
			"x-zendesk-webhook-signature",
			"x-zendesk-webhook-signature-timestamp",
			isoNow,
			(time, body) => hmac(time + body, "base64"),
		),
	},
	webflow: {
		event: timed(
			"x-webflow-signature",
			"x-webflow-timestamp",
			millisNow,
			(time, body) => hmac(`${time}:${body}`, "hex"),
		),
	},
	paddle: {
		event: inParts(
			"paddle-signature",
			(time, signature) => `ts=${time};h1=${signature}`,
			":",
		),
		accepts: ({ headers, body }) =>
			new Paddle("key").webhooks.isSignatureValid(
				body,
				secret,
				headers!["paddle-signature"],
			),
		hasKey: true,
	},
	calendly: {
		event: inParts(
			"calendly-webhook-signature",
			(time, signature) => `t=${time},v1=${signature}`,
			".",
		),
	},
	mux: {
		event: inParts(
			"mux-signature",
			(time, signature) => `t=${time},v1=${signature}`,
			".",
		),
		accepts: ({ headers, body }) =>
			works(() =>
				new Mux({ tokenId: "a", tokenSecret: "b" }).webhooks.verifySignature(
					body,
					headers,
					secret,
				),
			),
		hasKey: true,
	},
	hubspot: {
		event: timed(
			"x-hubspot-signature-v3",
			"x-hubspot-request-timestamp",
			millisNow,
			(time, body, url) => hmac(`POST${url}${body}${time}`, "base64"),
		),
	},
	sendgrid: {
		secret: p256Text,
		event: timed(
			"x-twilio-email-event-webhook-signature",
			"x-twilio-email-event-webhook-timestamp",
			secondsNow,
			(time, body) =>
				sign("sha256", Buffer.from(time + body), p256.privateKey).toString(
					"base64",
				),
		),
		accepts: ({ headers, body }) => {
			const library = new EventWebhook();
			return library.verifySignature(
				library.convertPublicKeyToECDSA(p256Text),
				body,
				headers!["x-twilio-email-event-webhook-signature"],
				headers!["x-twilio-email-event-webhook-timestamp"],
			);
		},
	},
	mailgun: {
		event: () => {
			const timestamp = secondsNow();
			const token = "a8ce0edb2dd8301dee6c2405235584e45aa91d1e9f979f3de0";
			const signature = hmac(timestamp + token, "hex");
			return {
				headers: json,
				body: JSON.stringify({
					signature: { timestamp, token, signature },
					"event-data": { id: "CPgfbmQMTCKtHW6uIWtuVe" },
				}),
			};
		},
		otherBody: '{"signature":{"timestamp":"1","token":"a","signature":"00"}}',
		isProvenInBody: true,
		hasKey: true,
	},
	paypal: {
		event: () => {
			const time = isoNow();
			const id = "69cd13f0-d67a-11e5-baa3-778b53f4ae55";
			const text = `${id}|${time}|WEBHOOK_ID|${crc32(event)}`;
			const signature = sign("sha256", Buffer.from(text), rsa.privateKey);
			return {
				headers: {
					...json,
					"paypal-transmission-id": id,
					"paypal-transmission-time": time,
					"paypal-cert-url": payPalKeys,
					"paypal-auth-algo": "SHA256withRSA",
					"paypal-transmission-sig": signature.toString("base64"),
				},
				body: event,
			};
		},
		hasKey: true,
	},
	"github-secret-scanning": {
		event: signed(
			"github-public-key-signature",
			(body) =>
				sign("sha256", Buffer.from(body), p256.privateKey).toString("base64"),
			{
				"github-public-key-identifier":
					"f9525bf080f75b3506ca1ead061add62b8633a34",
			},
		),
		hasKey: true,
	},
	twilio: {
		event: (url) => {
			const body = "MessageSid=SM1&Body=K%C3%A4se&From=%2B49";
			const fields = Object.fromEntries(new URLSearchParams(body));
			return {
				headers: {
					"content-type": "application/x-www-form-urlencoded",
					"i-twilio-idempotency-token": "t1",
					"x-twilio-signature": twilio.getExpectedTwilioSignature(
						secret,
						url,
						fields,
					),
				},
				body,
			};
		},
		otherBody: "MessageSid=SM2",
		answer: {
			status: 200,
			body: '<?xml version="1.0" encoding="UTF-8"?><Response></Response>',
			headers: { "content-type": "text/xml; charset=utf-8" },
		},
		hasKey: true,
	},
	google: {
		event: () => ({
			headers: {
				"x-goog-channel-id": "4ba78bf0",
				"x-goog-message-number": "10",
				"x-goog-resource-state": "exists",
			},
			query: `token=${secret}`,
		}),
		challenges: () => [
			[
				{
					headers: { "x-goog-resource-state": "sync" },
					query: `token=${secret}`,
				},
				{ status: 200, body: "" },
			],
		],
		isByToken: true,
	},
};
