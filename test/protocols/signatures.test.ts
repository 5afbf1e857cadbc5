import {
	createHmac,
	generateKeyPairSync,
	sign as signBytes,
} from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { sign as signForGitHub } from "@octokit/webhooks-methods";
import { Webhook } from "standardwebhooks";
import Stripe from "stripe";
import { describe, expect, test } from "vitest";
import {
	resolve,
	resolveSource,
	type SignatureSpec as Signature,
	signedAtMs,
	signedBody,
	verifier,
} from "../support/bodies/signature-verdict.ts";

const now = signedAtMs;
const nowSeconds = now / 1000;
const body = signedBody;

const whsec = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const otherWhsec = `whsec_${Buffer.alloc(24, 9).toString("base64")}`;

function standardHeaders(secret: string, at = now): Record<string, string> {
	return {
		"webhook-id": "msg_1",
		"webhook-timestamp": String(at / 1000),
		"webhook-signature": new Webhook(secret).sign("msg_1", new Date(at), body),
	};
}

function slackHeaders(secret: string, text: string, seconds = nowSeconds) {
	const digest = createHmac("sha256", secret)
		.update(`v0:${seconds}:${text}`)
		.digest("hex");
	return {
		"x-slack-request-timestamp": String(seconds),
		"x-slack-signature": `v0=${digest}`,
	};
}

function stripeHeader(secret: string, seconds = nowSeconds): string {
	return new Stripe("sk_test_x").webhooks.generateTestHeaderString({
		payload: body,
		secret,
		timestamp: seconds,
	});
}

describe("what a provider's own library signs is accepted, and not with one byte changed", () => {
	const cases: {
		name: string;
		scheme: Signature["scheme"];
		secret: string;
		headers: () => Promise<IncomingHttpHeaders> | IncomingHttpHeaders;
	}[] = [
		{
			name: "Standard Webhooks",
			scheme: "StandardWebhooks",
			secret: whsec,
			headers: () => standardHeaders(whsec),
		},
		{
			name: "Standard Webhooks under Svix's names",
			scheme: "StandardWebhooks",
			secret: whsec,
			headers: () =>
				Object.fromEntries(
					Object.entries(standardHeaders(whsec)).map(([name, value]) => [
						name.replace("webhook", "svix"),
						value,
					]),
				),
		},
		{
			name: "GitHub",
			scheme: "GitHub",
			secret: "It's a Secret to Everybody",
			headers: async () => ({
				"x-hub-signature-256": await signForGitHub(
					"It's a Secret to Everybody",
					body,
				),
			}),
		},
		{
			name: "Stripe",
			scheme: "Stripe",
			secret: "whsec_test",
			headers: () => ({ "stripe-signature": stripeHeader("whsec_test") }),
		},
		{
			name: "Shopify",
			scheme: "Shopify",
			secret: "hush",
			headers: () => ({
				"x-shopify-hmac-sha256": createHmac("sha256", "hush")
					.update(body, "utf8")
					.digest("base64"),
			}),
		},
		{
			name: "Slack",
			scheme: "Slack",
			secret: "hush",
			headers: () => slackHeaders("hush", body),
		},
	];
	test.each(cases)("$name", async ({ scheme, secret, headers }) => {
		const signed = await headers();
		const accepts = verifier({ scheme }, secret);
		expect(await accepts(signed)).toBe(true);
		expect(await accepts(signed, body.replace("1.0", "1.1"))).toBe(false);
		expect(await accepts(signed, "")).toBe(false);
		expect(await accepts({})).toBe(false);
		for (const name of Object.keys(signed)) {
			const value = String(signed[name]);
			const changed = value.replace(/.(?=.{2}$)/, (c) =>
				c === "a" ? "b" : "a",
			);
			expect(await accepts({ ...signed, [name]: changed })).toBe(false);
			expect(await accepts({ ...signed, [name]: "" })).toBe(false);
			expect(await accepts({ ...signed, [name]: undefined })).toBe(false);
		}
		expect(await verifier({ scheme }, otherWhsec)(signed)).toBe(false);
	});
});

describe("the providers' published examples are accepted", () => {
	test("Standard Webhooks v1", async () => {
		const accepts = verifier({ scheme: "StandardWebhooks" }, whsec);
		const headers = {
			"webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
			"webhook-timestamp": "1614265330",
			"webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
		};
		expect(
			await accepts(headers, '{"test": 2432232314}', 1_614_265_330_000),
		).toBe(true);
	});

	test("GitHub", async () => {
		const accepts = verifier(
			{ scheme: "GitHub" },
			"It's a Secret to Everybody",
		);
		const hex =
			"757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
		for (const text of [hex, hex.toUpperCase()])
			expect(
				await accepts(
					{ "x-hub-signature-256": `sha256=${text}` },
					"Hello, World!",
				),
			).toBe(true);
	});

	test("Slack", async () => {
		const text =
			"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";
		const headers = {
			"x-slack-request-timestamp": "1531420618",
			"x-slack-signature":
				"v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
		};
		const accepts = verifier(
			{ scheme: "Slack" },
			"8f742231b10e8888abcd99yyyzzz85a5",
		);
		expect(await accepts(headers, text, 1_531_420_618_000)).toBe(true);
	});
});

test("Standard Webhooks v1a: an Ed25519 signature, with the public key alone in the Secret", async () => {
	const { publicKey, privateKey } = generateKeyPairSync("ed25519");
	const raw = publicKey.export({ format: "der", type: "spki" }).subarray(-32);
	const accepts = verifier(
		{ scheme: "StandardWebhooks" },
		`whpk_${raw.toString("base64")}`,
	);
	const signature = signBytes(
		undefined,
		Buffer.from(`msg_1.${nowSeconds}.${body}`),
		privateKey,
	).toString("base64");
	const headers = {
		"webhook-id": "msg_1",
		"webhook-timestamp": String(nowSeconds),
		"webhook-signature": `v1,${signature} v1a,${signature}`,
	};
	expect(await accepts(headers)).toBe(true);
	expect(await accepts(headers, `${body} `)).toBe(false);
	// The public key is no HMAC key: who knows it can't sign with it.
	const forged = createHmac("sha256", raw)
		.update(`msg_1.${nowSeconds}.${body}`)
		.digest("base64");
	for (const version of ["v1", "v1a"])
		expect(
			await accepts({
				...headers,
				"webhook-signature": `${version},${forged}`,
			}),
		).toBe(false);
});

test("during a rotation either secret is good, and so is either of a request's signatures", async () => {
	const accepts = verifier({ scheme: "StandardWebhooks" }, whsec, otherWhsec);
	expect(await accepts(standardHeaders(whsec))).toBe(true);
	expect(await accepts(standardHeaders(otherWhsec))).toBe(true);

	const onlyNew = verifier({ scheme: "StandardWebhooks" }, otherWhsec);
	const both = [whsec, otherWhsec]
		.map((secret) => standardHeaders(secret)["webhook-signature"])
		.join(" ");
	expect(
		await onlyNew({ ...standardHeaders(whsec), "webhook-signature": both }),
	).toBe(true);
	expect(await onlyNew(standardHeaders(whsec))).toBe(false);

	const stripe = verifier({ scheme: "Stripe" }, "new");
	const [, newSignature] = stripeHeader("new").split(",");
	expect(
		await stripe({
			"stripe-signature": `${stripeHeader("old")},${newSignature}`,
		}),
	).toBe(true);
});

test("a signed time may be as far from now as the Source allows, into the past or the future", async () => {
	const accepts = verifier({ scheme: "Slack", toleranceSeconds: 60 }, "hush");
	const at = (seconds: number) =>
		accepts(slackHeaders("hush", body, nowSeconds + seconds));
	expect(await Promise.all([-61, -60, 0, 60, 61].map(at))).toEqual([
		false,
		true,
		true,
		true,
		false,
	]);
});

test("a scheme of one's own: its header, prefix, hash, encoding and signed text", async () => {
	const custom: Signature["custom"] = {
		header: "x-signature",
		prefix: "sig ",
		algorithm: "SHA512",
		encoding: "Base64",
		signedString: "ü{timestamp}|{body}|{body}",
		timestampHeader: "x-time",
	};
	const accepts = verifier({ scheme: "Custom", custom }, "hush");
	const digest = createHmac("sha512", "hush")
		.update(`ü${nowSeconds}|${body}|${body}`)
		.digest("base64");
	const headers = {
		"x-signature": `sig ${digest}`,
		"x-time": String(nowSeconds),
	};
	expect(await accepts(headers)).toBe(true);
	expect(await accepts({ ...headers, "x-signature": digest })).toBe(false);
	expect(await accepts({ ...headers, "x-time": `${nowSeconds}{body}` })).toBe(
		false,
	);
	expect(await accepts({ "x-signature": `sig ${digest}` })).toBe(false);
	expect(await accepts(headers, body, now + 301_000)).toBe(false);

	const plain = verifier(
		{
			scheme: "Custom",
			custom: {
				header: "x-signature",
				algorithm: "SHA1",
				encoding: "Hex",
				signedString: "{body}",
			},
		},
		"hush",
	);
	expect(
		await plain({
			"x-signature": createHmac("sha1", "hush").update(body).digest("hex"),
		}),
	).toBe(true);
});

test.each(["Hex", "Base64", "Text"] as const)(
	"a secret written in %s is the key that the sender signs with",
	async (secretEncoding) => {
		const custom: Signature["custom"] = {
			header: "x-signature",
			algorithm: "SHA256",
			encoding: "Hex",
			signedString: "{body}",
			secretEncoding,
		};
		const key = Buffer.from("fb".repeat(20), "hex");
		const secret = key.toString(secretEncoding === "Base64" ? "base64" : "hex");
		const signed = (by: Buffer | string) => ({
			"x-signature": createHmac("sha256", by).update(body).digest("hex"),
		});
		const accepts = verifier({ scheme: "Custom", custom }, secret);
		const isText = secretEncoding === "Text";
		expect(await accepts(signed(key))).toBe(!isText);
		expect(await accepts(signed(secret))).toBe(isText);
	},
);

test.each([
	["Hex", "fb".repeat(15), "has 15 bytes of Hex, fewer than 16"],
	["Hex", `${"fb".repeat(20)}f`, "is not Hex, as secretEncoding says"],
	[
		"Base64",
		"a key with spaces in it",
		"is not Base64, as secretEncoding says",
	],
] as const)(
	"a secret that can't be a key in %s is a problem: %s",
	(secretEncoding, secret, words) => {
		const custom = {
			header: "x-signature",
			algorithm: "SHA256" as const,
			encoding: "Hex" as const,
			signedString: "{body}",
			secretEncoding,
		};
		const { problem } = resolve({ scheme: "Custom", custom }, secret);
		expect(problem!.reason).toBe("SigningSecretInvalid");
		expect(problem!.message).toContain(words);
	},
);

test("a body of any bytes is signed as it is", async () => {
	const bytes = Buffer.from([0, 255, 128, 10, 13]);
	const signature = createHmac("sha256", "hush").update(bytes).digest("base64");
	const accepts = verifier({ scheme: "Shopify" }, "hush");
	expect(await accepts({ "x-shopify-hmac-sha256": signature }, bytes)).toBe(
		true,
	);
});

test.each([
	["GitHub", ""],
	["StandardWebhooks", "not Base64!"],
	["StandardWebhooks", "whsec_"],
	["StandardWebhooks", "whsec_YQ=="],
	["Svix", `whsec_${Buffer.alloc(15).toString("base64")}`],
	["StandardWebhooks", `whpk_${Buffer.alloc(31).toString("base64")}`],
] as const)(
	"a secret of %s that can't be one is a problem, and nothing is open: %j",
	(scheme, secret) => {
		expect(resolve({ scheme }, secret)).toMatchObject({
			authorization: { type: "Unavailable" },
			problem: { reason: "SigningSecretInvalid" },
		});
	},
);

test("a computed answer needs a secret: with public keys alone, the Source says so and nothing is open", () => {
	const answer = {
		template: "{computed}",
		compute: {
			algorithm: "SHA256",
			encoding: "Hex",
			input: "{queryParameter:a}",
		},
	} as const;
	const verification = {
		allowGet: false,
		challenges: [{ match: { method: "GET" }, answer } as const],
	};
	const publicKey = `whpk_${Buffer.alloc(32, 1).toString("base64")}`;
	const scheme = "StandardWebhooks";
	expect(resolveSource({ scheme }, { verification }, publicKey)).toMatchObject({
		authorization: { type: "Unavailable" },
		problem: { reason: "SigningSecretInvalid" },
	});
	for (const secrets of [[whsec], [publicKey, whsec]])
		expect(
			resolveSource({ scheme }, { verification }, ...secrets).problem,
		).toBeUndefined();
});
