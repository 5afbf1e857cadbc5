// In make test: test/protocols/signatures.test.ts
import { createHmac } from "node:crypto";
import { EventEmitter } from "node:events";
import https from "node:https";
import { createRequire } from "node:module";
import {
	sign as signForGitHub,
	verify as verifyForGitHub,
} from "@octokit/webhooks-methods";
import Stripe from "stripe";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { signerOf } from "../../cli/events/signing.ts";
import { MemoryBudget } from "../../ingest/receive/admission/budget.ts";
import { RequestLimits } from "../../ingest/receive/admission/limits.ts";
import { AmazonSns } from "../../ingest/receive/body/amazon-sns.ts";
import { NotifyQuestions } from "../../ingest/receive/body/notify-questions.ts";
import { verifiedMessage } from "../../ingest/receive/body/sns-message.ts";
import { timely } from "../../ingest/receive/request/signature-check.ts";
import { readSignature } from "../../ingest/receive/request/signature-schemes.ts";
import type { SignatureScheme } from "../../packages/contracts/route.ts";
import { completed, isSigned } from "../support/bodies/signed-body.ts";
import { type SnsTopic, snsTopic } from "../support/senders/sns-topic.ts";

/*
 * What the provider's own library says of a request, and what receive says. The libraries are loaded without their types, which
 * would cost the check of all types a second.
 */

const load = createRequire(import.meta.url);
// svix, @slack/bolt, @shopify/shopify-api, twilio, sns-validator: each provider's own word on what it has signed.
const { Webhook } = load("svix");
const { verifySlackRequest } = load(
	"@slack/bolt/dist/receivers/verify-request.js",
);
const twilio = load("twilio/lib/webhooks/webhooks.js");

const secret = "It's a Secret to Everybody";
const svixSecret = `whsec_${Buffer.alloc(24, 7).toString("base64")}`;
const body = '{"id":"evt_1","text":"Käse 🧀","n":1.0}\r\n';
const baseURL = "https://hooks.example.com";
const keys = { sourceKey: "a".repeat(32), urlKey: "b".repeat(32) };
const url = `${baseURL}/hooks/${keys.sourceKey}/${keys.urlKey}`;

interface Sent {
	headers: Record<string, string>;
	body: string;
	query?: string;
}

async function receives(
	scheme: SignatureScheme,
	{ headers, body, query }: Sent,
	key: string | Buffer = secret,
	base = baseURL,
): Promise<boolean> {
	const authorization = {
		type: "Signature" as const,
		scheme,
		keys: [],
		toleranceSeconds: 300,
		baseURL: base,
	};
	const presented = completed(
		readSignature(authorization, headers, { ...keys, query }),
		Buffer.from(body),
	);
	const signingKeys = [{ algorithm: "HMAC" as const, key: Buffer.from(key) }];
	return (
		presented !== undefined &&
		timely(presented, 300, Date.now()) !== undefined &&
		isSigned(presented, signingKeys, Buffer.from(body))
	);
}

interface Provider {
	scheme: SignatureScheme;
	/** What the provider sends. */
	sent(signedAt: number, key: string): Sent | Promise<Sent>;
	/** Whether its library accepts it. */
	accepts(sent: Sent): boolean | Promise<boolean>;
	key?: Buffer;
	secret?: string;
	/** It signs no time. */
	timeless?: true;
}

/** Whether a function returns. */
function returns(work: () => unknown): boolean {
	try {
		work();
		return true;
	} catch {
		return false;
	}
}

const stripe = new Stripe("sk_test_x");
const form = {
	type: "application/x-www-form-urlencoded",
	text: "MessageSid=SM1&Body=K%C3%A4se+1%26&From=%2B49&Empty=&b=2&a=1&b=1&b=2&B=3&%C3%A4=4",
};

const providers: Record<string, Provider> = {
	GitHub: {
		scheme: "GitHub",
		sent: async (_, key) => ({
			headers: { "x-hub-signature-256": await signForGitHub(key, body) },
			body,
		}),
		accepts: ({ headers, body }) =>
			verifyForGitHub(secret, body, headers["x-hub-signature-256"]!),
		timeless: true,
	},
	// Meta's libraries verify no webhooks. developers.facebook.com describes GitHub's way, with the app secret.
	Meta: {
		scheme: "Meta",
		sent: async (_, key) => ({
			headers: { "x-hub-signature-256": await signForGitHub(key, body) },
			body,
		}),
		accepts: ({ headers, body }) =>
			verifyForGitHub(secret, body, headers["x-hub-signature-256"]!),
		timeless: true,
	},
	Stripe: {
		scheme: "Stripe",
		sent: (timestamp, secret) => ({
			headers: {
				"stripe-signature": stripe.webhooks.generateTestHeaderString({
					payload: body,
					secret,
					timestamp,
				}),
			},
			body,
		}),
		accepts: ({ headers, body }) =>
			returns(() =>
				stripe.webhooks.constructEvent(
					body,
					headers["stripe-signature"]!,
					secret,
				),
			),
	},
	Shopify: {
		scheme: "Shopify",
		sent: (_, key) => ({
			headers: {
				"x-shopify-hmac-sha256": createHmac("sha256", key)
					.update(body)
					.digest("base64"),
			},
			body,
		}),
		accepts: acceptsForShopify,
		timeless: true,
	},
	Slack: {
		scheme: "Slack",
		sent: (time, key) => ({
			headers: {
				"x-slack-request-timestamp": String(time),
				"x-slack-signature": `v0=${createHmac("sha256", key).update(`v0:${time}:${body}`).digest("hex")}`,
			},
			body,
		}),
		accepts: ({ headers, body }) =>
			returns(() =>
				verifySlackRequest({
					signingSecret: secret,
					body,
					headers: {
						"x-slack-signature": headers["x-slack-signature"],
						"x-slack-request-timestamp": Number(
							headers["x-slack-request-timestamp"],
						),
					},
				}),
			),
	},
	Svix: {
		scheme: "Svix",
		secret: svixSecret,
		key: Buffer.alloc(24, 7),
		sent: (time, key) => ({
			headers: {
				"svix-id": "msg_1",
				"svix-timestamp": String(time),
				"svix-signature": new Webhook(key).sign(
					"msg_1",
					new Date(time * 1_000),
					body,
				),
			},
			body,
		}),
		accepts: ({ headers, body }) =>
			returns(() => new Webhook(svixSecret).verify(body, headers)),
	},
	"Twilio, a form": {
		scheme: "Twilio",
		sent: (_, key) => ({
			headers: {
				"content-type": form.type,
				"x-twilio-signature": twilio.getExpectedTwilioSignature(
					key,
					`${url}?shop=1`,
					fieldsOf(form.text),
				),
			},
			body: form.text,
			query: "shop=1",
		}),
		accepts: ({ headers, body, query }) =>
			twilio.validateRequest(
				secret,
				headers["x-twilio-signature"],
				`${url}?${query}`,
				fieldsOf(body),
			),
		timeless: true,
	},
	"Twilio, JSON": {
		scheme: "Twilio",
		sent: (_, key) => {
			const query = `bodySHA256=${twilio.getExpectedBodyHash(body)}`;
			return {
				headers: {
					"content-type": "application/json",
					"x-twilio-signature": twilio.getExpectedTwilioSignature(
						key,
						`${url}?${query}`,
						{},
					),
				},
				body,
				query,
			};
		},
		accepts: ({ headers, body, query }) =>
			twilio.validateRequestWithBody(
				secret,
				headers["x-twilio-signature"],
				`${url}?${query}`,
				body,
			),
		timeless: true,
	},
};

/** As Express's parsers give a form to Twilio's library. */
function fieldsOf(text: string): Record<string, string | string[]> {
	const fields: Record<string, string | string[]> = {};
	for (const [name, value] of new URLSearchParams(text))
		fields[name] = name in fields ? [fields[name]!, value].flat() : value;
	return fields;
}

let shopify: {
	webhooks: { validate(of: object): Promise<{ valid: boolean }> };
};

async function acceptsForShopify({ headers, body }: Sent): Promise<boolean> {
	const rawRequest = {
		method: "POST",
		url: "/",
		headers: {
			...headers,
			"x-shopify-topic": "orders/create",
			"x-shopify-api-version": "2026-01",
			"x-shopify-shop-domain": "shop.myshopify.com",
			"x-shopify-webhook-id": "w1",
		},
	};
	return (await shopify.webhooks.validate({ rawBody: body, rawRequest })).valid;
}

beforeAll(() => {
	load("@shopify/shopify-api/adapters/node");
	const { shopifyApi, LogSeverity, ApiVersion } = load("@shopify/shopify-api");
	shopify = shopifyApi({
		apiKey: "k",
		apiSecretKey: secret,
		hostName: "hooks.example.com",
		isEmbeddedApp: false,
		apiVersion: Object.values(ApiVersion).at(-2),
		logger: { level: LogSeverity.Error },
	});
});

describe.each(Object.entries(providers))("%s", (name, provider) => {
	const { scheme, sent, accepts, key, timeless } = provider;
	const own = provider.secret ?? secret;
	const seconds = () => Math.floor(Date.now() / 1_000);

	async function expectBoth(request: Sent, accepted: boolean): Promise<void> {
		expect({
			theirs: await accepts(request),
			ours: await receives(scheme, request, key),
		}).toEqual({ theirs: accepted, ours: accepted });
	}

	test("what it sends is accepted", async () => {
		await expectBoth(await sent(seconds(), own), true);
	});

	test("what a replay signs anew is accepted", async () => {
		const authorization = { type: "Signature", signature: { scheme } } as const;
		const sign = await signerOf({ authorization: authorization as never }, own);
		const stored =
			name === "Twilio, a form"
				? { kind: "form", body: JSON.stringify(fieldsOf(form.text)) }
				: { kind: "json", body };
		const { headers, target, ...signed } = sign(
			{ eventId: "msg_1", ...stored },
			new URL(`${url}?shop=1`),
		);
		const query = target.search.slice(1);
		const all = Object.fromEntries(headers) as Record<string, string>;
		await expectBoth({ ...signed, headers: all, query }, true);
	});

	test("not with a body changed", async () => {
		const request = await sent(seconds(), own);
		await expectBoth(
			{ ...request, body: request.body.replace("1", "2") },
			false,
		);
	});

	test("not by another key", async () => {
		const other = `whsec_${Buffer.alloc(24, 8).toString("base64")}`;
		await expectBoth(await sent(seconds(), other), false);
	});

	test.skipIf(timeless)("not after an hour", async () => {
		await expectBoth(await sent(seconds() - 3_600, own), false);
	});
});

test("Twilio signs a URL with its port or without, and receive takes either", async () => {
	const path = `/hooks/${keys.sourceKey}/${keys.urlKey}`;
	for (const [base, called] of [
		[baseURL, "https://hooks.example.com:443"],
		["https://hooks.example.com:8443", "https://hooks.example.com"],
		["https://hooks.example.com:8443/in", "https://hooks.example.com:8443/in"],
	] as const) {
		const signature = twilio.getExpectedTwilioSignature(secret, called + path, {
			a: "1",
		});
		const headers = { "x-twilio-signature": signature };
		const request = { headers, body: "a=1" };
		expect(await receives("Twilio", request, secret, base)).toBe(true);
		const elsewhere = "https://evil.example.com";
		expect(await receives("Twilio", request, secret, elsewhere)).toBe(false);
	}
});

test("a long form isn't Twilio's, and is refused before it is sorted", async () => {
	const text = `a=${"x".repeat(70_000)}`;
	const signature = twilio.getExpectedTwilioSignature(
		secret,
		url,
		fieldsOf(text),
	);
	const request = { headers: { "x-twilio-signature": signature }, body: text };
	expect(await receives("Twilio", request)).toBe(false);
});

describe("Amazon SNS", () => {
	let topic: SnsTopic;
	let other: SnsTopic;
	const MessageValidator = load("sns-validator");

	beforeAll(async () => {
		[topic, other] = await Promise.all([snsTopic(), snsTopic()]);
	});

	async function accepts(text: string): Promise<boolean> {
		const { promise, resolve } = Promise.withResolvers<boolean>();
		const spy = vi.spyOn(https, "get").mockImplementation(((
			_: string,
			answer: (response: EventEmitter) => void,
		) => {
			const response = Object.assign(new EventEmitter(), { statusCode: 200 });
			answer(response);
			response.emit("data", topic.certificate);
			response.emit("end");
			return new EventEmitter();
		}) as never);
		new MessageValidator().validate(text, (error: Error | null) =>
			resolve(error === null),
		);
		return promise.finally(() => spy.mockRestore());
	}

	async function received(text: string): Promise<boolean> {
		const sns = new AmazonSns(
			new NotifyQuestions(async () => ({
				ok: true,
				text: topic.certificate,
			})),
		);
		const limits = new RequestLimits(new MemoryBudget(10, 1_000_000));
		const outcome = await verifiedMessage(
			Buffer.from(text),
			{ topicARNs: [topic.arn] },
			"shop",
			limits,
			sns,
		);
		return !("status" in outcome);
	}

	test.each<[string, boolean, () => string]>([
		["a notification in version 1", true, () => topic.notification({}, "1")],
		["a notification in version 2", true, () => topic.notification()],
		["a confirmation", true, () => topic.confirmation()],
		["a changed message", false, () => topic.notification({ Message: "x" })],
		["another topic", false, () => topic.notification({ TopicArn: "x" })],
		["another key", false, () => other.notification()],
		[
			"another version",
			false,
			() => topic.notification({ SignatureVersion: "1" }),
		],
		[
			"another host",
			false,
			() =>
				topic.notification({ SigningCertURL: "https://evil.example/a.pem" }),
		],
	])("%s: %s", async (_, accepted, text) => {
		expect({
			theirs: await accepts(text()),
			ours: await received(text()),
		}).toEqual({ theirs: accepted, ours: accepted });
	});
});
