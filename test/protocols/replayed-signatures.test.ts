import { globSync, readFileSync } from "node:fs";
import type { IncomingHttpHeaders } from "node:http";
import { createRequire } from "node:module";
import { basename, join } from "node:path";
import { verify as verifyForGitHub } from "@octokit/webhooks-methods";
import { Webhook } from "standardwebhooks";
import Stripe from "stripe";
import { expect, test } from "vitest";
import { parse } from "yaml";
import type { StoredDelivery } from "../../cli/events/replay-request.ts";
import { signerOf } from "../../cli/events/signing.ts";
import type { SourceWebhook } from "../../crds/generated/types.ts";
import { providers } from "../../packages/contracts/providers.ts";
import {
	type SignatureSpec,
	signedURL,
	verifier,
} from "../support/bodies/signature-verdict.ts";

/* What `tidemill events replay` signs anew, judged by the providers' own libraries, and by receive for all that a Source can say. */

const load = createRequire(import.meta.url);
// Each provider's own word on what it has signed, without types, which would cost the check of all types a second.
const { Webhook: SvixWebhook } = load("svix");
const { Paddle } = load("@paddle/paddle-node-sdk");
const { Mux } = load("@mux/mux-node");
const twilio = load("twilio/lib/webhooks/webhooks.js");

const secret = "0123456789abcdef0123456789abcdef";
const whsec = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const eventId = "019cb0c2-7b3c-7f4e-9a51-0d6b2a4f8c11";
const long = "2026-01-01T00:00:00Z";

const event: StoredDelivery = {
	eventId,
	kind: "json",
	body: '{"id":"evt_1","text":"Käse 🧀","n":1.10,\n"signature":{"token":"tok","timestamp":"1529006854","signature":"of old","n":12345678901234567890}}',
	// As it came, a long time ago.
	headers: {
		"stripe-signature": "t=1,v1=ab",
		"x-hub-signature-256": "sha256=ab",
		"paddle-signature": "ts=1;h1=ab",
		"x-slack-request-timestamp": "1",
		date: long,
	},
};
const form: StoredDelivery = {
	eventId,
	kind: "form",
	body: '{"From":"+49","Body":"Käse 1&","b":["2","1","2"],"Empty":"","B":"3","a":"1"}',
};

function authorizationOf(webhook: object): SourceWebhook["authorization"] {
	const { authorization = { type: "None" } } =
		webhook as Partial<SourceWebhook>;
	const { custom } = authorization.signature ?? {};
	// As the apiserver completes it.
	if (custom) custom.signedString ??= "{body}";
	return authorization;
}

const scheme = (scheme: string): SourceWebhook["authorization"] =>
	({ type: "Signature", signature: { scheme } }) as never;

async function signed(
	authorization: SourceWebhook["authorization"],
	given: Partial<StoredDelivery> = {},
	{ key = secret, to = signedURL, nowMs = Date.now() } = {},
) {
	const sign = await signerOf({ authorization }, key, () => nowMs);
	const { target, headers, body } = sign({ ...event, ...given }, new URL(to));
	const all = Object.fromEntries(headers) as Record<string, string>;
	return { target, headers: all, body };
}

const fields = (text: string) => {
	const all: Record<string, string | string[]> = {};
	for (const [name, value] of new URLSearchParams(text))
		all[name] = name in all ? [all[name]!, value].flat() : value;
	return all;
};

const example = (name: string) =>
	authorizationOf(
		parse(
			readFileSync(
				join(import.meta.dirname, `../../examples/senders/${name}.yaml`),
				"utf8",
			),
		).spec.webhook,
	);

test("the providers' libraries accept it", async () => {
	const stripe = await signed(scheme("Stripe"));
	new Stripe("sk_test_x").webhooks.constructEvent(
		stripe.body,
		stripe.headers["stripe-signature"]!,
		secret,
	);
	const gitHub = await signed(scheme("GitHub"));
	expect(
		await verifyForGitHub(
			secret,
			gitHub.body,
			gitHub.headers["x-hub-signature-256"]!,
		),
	).toBe(true);
	const key = whsec;
	const standard = await signed(scheme("StandardWebhooks"), {}, { key });
	new Webhook(whsec).verify(standard.body, standard.headers);
	expect(standard.headers["webhook-id"]).toBe(eventId);
	const own = { headers: { "svix-id": "msg_1" } };
	const svix = await signed(scheme("Svix"), own, { key });
	new SvixWebhook(whsec).verify(svix.body, svix.headers);
	expect(svix.headers["svix-id"]).toBe("msg_1");
	const mux = await signed(example("mux"));
	new Mux({
		tokenId: "t",
		tokenSecret: "t",
		webhookSecret: secret,
	}).webhooks.verifySignature(mux.body, mux.headers, secret);
	// The Source of examples/senders captures no header.
	for (const headers of [event.headers!, {}]) {
		const paddle = await signed(example("paddle"), {
			body: '{"event_id":"evt_1","event_type":"x","data":{}}',
			headers,
		});
		await new Paddle("key").webhooks.unmarshal(
			paddle.body,
			secret,
			paddle.headers["paddle-signature"]!,
		);
	}
});

test("Shopify's library asks for headers that its Source captures", () => {
	// shopify.webhooks.validate, which takes a second to load: its WEBHOOK_HEADER_NAMES beside the signature.
	const { capturedHeaders } = providers.shopify!.webhook as SourceWebhook;
	for (const name of ["topic", "shop-domain", "api-version", "webhook-id"])
		expect(capturedHeaders).toContain(`x-shopify-${name}`);
});

test("Twilio's library accepts a form, and JSON by the digest in the URL", async () => {
	const to = "http://localhost:3000/sms?shop=1";
	const sms = await signed(scheme("Twilio"), form, { to });
	const header = "x-twilio-signature";
	expect(
		twilio.validateRequest(secret, sms.headers[header], to, fields(sms.body)),
	).toBe(true);
	const json = await signed(scheme("Twilio"), {}, { to });
	expect(
		twilio.validateRequestWithBody(
			secret,
			json.headers[header],
			json.target.href,
			json.body,
		),
	).toBe(true);
});

const examples = globSync("examples/senders/*.yaml", {
	cwd: join(import.meta.dirname, "../.."),
}).map((file) => basename(file, ".yaml"));
const all = [
	...examples.map((name) => [name, example(name)] as const),
	...Object.entries(providers)
		.filter(([, { webhook }]) => "authorization" in webhook)
		.map(([name, { webhook }]) => [name, authorizationOf(webhook)] as const),
];
const isHmac = ({ signature }: SourceWebhook["authorization"]) =>
	signature && (signature.custom?.algorithm ?? "SHA").startsWith("SHA");

test.each(all.filter(([, authorization]) => isHmac(authorization)))(
	"receive accepts what is signed anew for a Source of %s",
	async (name, authorization) => {
		const isStandard = ["svix", "standard-webhooks"].includes(name);
		const key = isStandard ? whsec : secret;
		const signature = authorization.signature as SignatureSpec;
		const { secretRefs: _, ...spec } = signature;
		const isAccepted = verifier(spec, key);
		const nowMs = Date.parse("2026-03-01T12:00:00Z");
		const to = `${signedURL}?a=1`;
		for (const given of name === "mailgun" ? [event] : [event, form]) {
			const sent = await signed(authorization, given, { key, to, nowMs });
			const query = sent.target.search.slice(1);
			const accepts = (body: string) =>
				isAccepted(sent.headers as IncomingHttpHeaders, body, nowMs, query);
			expect(await accepts(sent.body), sent.body).toBe(true);
			if (!signature.custom?.bodyUnsigned)
				expect(await accepts(sent.body.replace("1", "2"))).toBe(false);
		}
	},
);

test("a signature in the body takes the place of the old one, and numbers keep their values", async () => {
	const { body } = await signed(example("mailgun"));
	expect(body).toContain('"n":1.1,');
	expect(body).toContain('"n":12345678901234567890');
	expect(body).not.toContain("of old");
});

test.each(all.filter(([, authorization]) => !isHmac(authorization)))(
	"by the Source of %s nobody but its provider can sign",
	async (_, authorization) => {
		await expect(signerOf({ authorization }, secret)).rejects.toThrow(
			/private key \((AmazonSNS|JWT|Ed25519|ECDSA-P256|RSA-SHA256)\)|checks no signature/,
		);
	},
);

test.each([
	[`whpk_${Buffer.alloc(32, 7).toString("base64")}`, "Svix", "private key"],
	["sk_live_0123456789", "Stripe", "a secret key of an API"],
	["https://example.com/hook", "Custom", "is a URL"],
	["no Base64!", "StandardWebhooks", "is neither"],
	["", "GitHub", "is empty"],
])("the secret %s is refused for %s", async (key, name, words) => {
	const authorization = scheme(name);
	if (name === "Custom") {
		const custom = example("zoom").signature!.custom!;
		authorization.signature = { ...authorization.signature!, custom };
	}
	const signer = signerOf({ authorization }, key);
	await expect(signer).rejects.toThrow(words);
	await expect(signer).rejects.not.toThrow(key || "no quote");
});

test("an event that lacks what is signed says what", async () => {
	const lacking = { body: '{"signature":{"timestamp":1}}' };
	await expect(signed(example("mailgun"), lacking)).rejects.toThrow(
		"it lacks {bodyPointer:/signature/token}",
	);
	await expect(signed(example("mailgun"), { body: "[]" })).rejects.toThrow(
		"nothing at /signature/timestamp",
	);
});
