import { describe, expect, test } from "vitest";
import { requireSigningSecret } from "../../cli/provider/secret.ts";
import {
	signingSecretDoubt,
	signingSecretFault,
} from "../../crds/signing-secret.ts";
import {
	authorize,
	doubtsOf,
} from "../../operator/source/routes/authorization.ts";
import { SealKey } from "../../packages/service/seal-key.ts";
import { sourceOf } from "../support/examples/resource-examples.ts";

const hex = "0123456789abcdef0123456789abcdef";

/** Each with a word of what is right. */
const wrong: [string, string, string][] = [
	["Stripe", "sk_live_51H", "whsec_"],
	["Stripe", "sk_test_51H", "whsec_"],
	["Stripe", "rk_live_51H", "whsec_"],
	["Stripe", "pk_live_51H", "whsec_"],
	["Stripe", "https://hooks.example/hooks/a/b", "whsec_"],
	["StandardWebhooks", "whsk_c2VjcmV0", "whpk_"],
	["Svix", "sk_c2VjcmV0", "whsec_"],
	["GitHub", "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "webhook's secret"],
	["GitHub", "github_pat_11ABC", "webhook's secret"],
	["Slack", "xoxb-1234-abc", "signing secret"],
	["Slack", "https://hooks.slack.com/services/T0/B0/x", "signing secret"],
	["Shopify", "shpat_0123", "client secret"],
	["Meta", "EAABsbCS1234", "app secret"],
	["Meta", "IGAAQ1234", "app secret"],
	["Meta", "123456|abcdef", "app secret"],
	["Slack", "xapp-1-A0-1-abc", "signing secret"],
	["Slack", "xoxe.xoxp-1-abc", "signing secret"],
	["Shopify", "shpca_0123", "client secret"],
	["GitHub", "-----BEGIN RSA PRIVATE KEY-----\nMIIE", "webhook's secret"],
	["Custom", "amqps://user:pass@host/vhost", "sender signs with"],
	["Twilio", `AC${hex}`, "auth token"],
	["Twilio", `SK${hex}`, "auth token"],
	["Custom", "https://example.com/secret", "sender signs with"],
	[
		"Custom",
		"-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
		"sender signs with",
	],
	["GitHub", " https://example.com", "webhook's secret"],
];

test.each(wrong)("%s: %s is no signing secret", (scheme, secret, right) => {
	const fault = signingSecretFault(scheme, secret)!;
	expect(fault).toContain(right);
	expect(fault).not.toContain(secret.trim());
});

test.each([
	["Stripe", "whsec_0123456789"],
	["StandardWebhooks", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
	["StandardWebhooks", "whpk_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
	["GitHub", "It's a Secret to Everybody"],
	["GitHub", "sk_of_my_own_making"],
	["Slack", hex],
	["Shopify", `shpss_${hex}`],
	["Shopify", hex + hex],
	["Meta", hex],
	["Twilio", hex.toUpperCase()],
	// Linear's begins as its API's keys do.
	["Custom", "lin_wh_0123456789"],
	// Paystack signs with the very key of its API.
	["Custom", "sk_live_of_paystack"],
	["Custom", "anything"],
])("%s: %s is one", (scheme, secret) => {
	expect(signingSecretFault(scheme, secret)).toBeUndefined();
	expect(signingSecretDoubt(scheme, secret)).toBeUndefined();
});

test.each([
	[
		"Stripe",
		"d2hzZWNfMDEyMw==",
		"doesn't look like the endpoint's signing secret",
	],
	["Stripe", '"whsec_0123"', "stands in quotes"],
	["Slack", hex.slice(1), "32 hexadecimal digits"],
	["Shopify", "THE_SECRET", "client secret"],
	["Custom", "secret ", "white space"],
	["GitHub", "\tsecret", "white space"],
])("%s: %j is doubted, not refused", (scheme, secret, doubt) => {
	expect(signingSecretFault(scheme, secret)).toBeUndefined();
	expect(signingSecretDoubt(scheme, secret)).toContain(doubt);
});

describe("a Source", () => {
	const sourceWith = (secret: string, status: object = {}) => {
		const source = sourceOf();
		source.spec.webhook!.authorization = {
			type: "Signature",
			signature: {
				scheme: "Stripe",
				toleranceSeconds: 300,
				secretRefs: [{ name: "provider", key: "secret" }],
			},
		};
		source.status = { ...source.status, ...status };
		const secretOf = () => ({
			metadata: { name: "provider", labels: { "tidemill.dev/use": "true" } },
			data: { secret: Buffer.from(`${secret}\n`).toString("base64") },
		});
		const deps = {
			secretOf,
			sealKey: new SealKey(Buffer.alloc(32, 7)),
			sourceKey: "a".repeat(32),
			receiveURL: "https://hooks.example.com",
		};
		return { ...authorize(source, deps), doubts: doubtsOf(source, secretOf) };
	};

	test("without events is refused a secret of the wrong kind, and people read what is right", () => {
		const { authorization, problem } = sourceWith("sk_live_51H");
		expect(authorization.type).toBe("Unavailable");
		expect(problem).toEqual({
			reason: "SigningSecretInvalid",
			message:
				'Key "secret" of Secret "provider" is a secret key of an API. Right is the endpoint\'s signing secret, "whsec_…". Copy the signing secret again from the sender\'s settings.',
		});
	});

	test("that works goes on, and is warned", () => {
		for (const status of [
			{ lastEventTime: "2026-11-30T00:00:00Z" },
			{ firstEventDate: "2026-11-30" },
		]) {
			const { authorization, problem, doubts } = sourceWith(
				"sk_live_51H",
				status,
			);
			expect(problem).toBeUndefined();
			expect(authorization.type).toBe("Signature");
			expect(doubts).toMatch(
				/^ Key "secret" of Secret "provider" is a secret key of an API\. Right is/,
			);
			expect(doubts).not.toContain("51H");
		}
	});

	test("whose secret looks odd is served, and warned", () => {
		const { problem, doubts } = sourceWith("hush");
		expect(problem).toBeUndefined();
		expect(doubts).toMatch(
			/doesn't look like the endpoint's signing secret.*If senders get 401/,
		);
		expect(sourceWith("whsec_0123").doubts).toBe("");
	});

	test("is refused it by the command line, too", () => {
		const webhook = {
			authorization: {
				type: "Signature" as const,
				signature: {
					scheme: "Stripe" as const,
					toleranceSeconds: 300,
					secretRefs: [{ name: "provider", key: "secret" }],
				},
			},
		};
		expect(() => requireSigningSecret(webhook, "sk_live_51H")).toThrow(
			'the secret is a secret key of an API. Right is the endpoint\'s signing secret, "whsec_…"',
		);
		expect(() => requireSigningSecret(webhook, "whsec_1")).not.toThrow();
		expect(() => requireSigningSecret(undefined, "sk_live_51H")).not.toThrow();
	});
});
