import { expect, test } from "vitest";
import type {
	CustomSignature,
	SignatureAuthorization,
} from "../../../packages/contracts/route.ts";
import {
	missingSignature,
	untimelySignature,
	wrongSignature,
} from "./signature-fault.ts";

function causeOf(
	scheme: SignatureAuthorization["scheme"],
	headers: Record<string, string>,
	custom?: Partial<CustomSignature>,
) {
	const authorization: SignatureAuthorization = {
		type: "Signature",
		scheme,
		keys: [],
		toleranceSeconds: 300,
		...(custom && {
			custom: {
				algorithm: "SHA256",
				encoding: "Hex",
				signedString: "{body}",
				...custom,
			},
		}),
	};
	return missingSignature(authorization, headers).cause;
}

test.each<[string, Parameters<typeof causeOf>]>([
	["x-hub-signature-256 is missing", ["GitHub", {}]],
	["x-hub-signature-256 is missing", ["Meta", { "x-hub-signature": "sha1=0" }]],
	["x-hub-signature-256 can't", ["GitHub", { "x-hub-signature-256": "00" }]],
	["header stripe-signature is missing", ["Stripe", {}]],
	["stripe-signature can't", ["Stripe", { "stripe-signature": "v1=0" }]],
	["stripe-signature can't", ["Stripe", { "stripe-signature": "t=1,v0=0" }]],
	["x-shopify-hmac-sha256 is missing", ["Shopify", {}]],
	["x-shopify-hmac-sha256 can't", ["Shopify", { "x-shopify-hmac-sha256": "" }]],
	[
		"headers x-slack-request-timestamp, x-slack-signature are missing",
		["Slack", {}],
	],
	[
		"x-slack-request-timestamp can't",
		[
			"Slack",
			{ "x-slack-request-timestamp": "x", "x-slack-signature": "v0=0" },
		],
	],
	["x-twilio-signature is missing", ["Twilio", {}]],
	["webhook-id, webhook-timestamp, webhook-sig", ["StandardWebhooks", {}]],
	["svix-id, svix-timestamp", ["StandardWebhooks", { "svix-signature": "" }]],
	["svix-id, svix-timestamp, svix-signature are", ["Svix", {}]],
	["webhook-id, webhook-timestamp", ["Svix", { "webhook-signature": "" }]],
	[
		"webhook-signature can't",
		[
			"StandardWebhooks",
			{
				"webhook-id": "1",
				"webhook-timestamp": "1",
				"webhook-signature": "v2,x",
			},
		],
	],
	["headers x-sig, x-time are", ["Custom", {}, timed()]],
	["x-sig can't", ["Custom", { "x-sig": "v=0", "x-time": "1" }, timed()]],
	["x-time can't", ["Custom", { "x-sig": "s=h-0", "x-time": "a" }, timed()]],
	[
		"x-id is missing",
		[
			"Custom",
			{ "x-sig": "0" },
			{ header: "x-sig", signedString: "{header:X-Id}" },
		],
	],
	["at /sig", ["Custom", {}, { bodyPointer: "/sig" }]],
	[
		"x-cert-url can't be decoded: scheme Custom wants an https URL on one of",
		[
			"Custom",
			{ "x-sig": "0", "x-cert-url": "https://evil.example/" },
			{
				header: "x-sig",
				publicKey: { urlHeader: "x-cert-url", keyHosts: ["api.example"] },
			},
		],
	],
])("people read that %s (case %#)", (cause, request) => {
	expect(causeOf(...request)).toContain(cause);
	expect(causeOf(...request)).toMatch(/\. No key was tried\.$/);
});

function timed(): Partial<CustomSignature> {
	return {
		header: "x-sig",
		headerPart: "s",
		prefix: "h-",
		timestampHeader: "x-time",
	};
}

const authorization = (
	keys: SignatureAuthorization["keys"],
	custom?: CustomSignature,
): SignatureAuthorization => ({
	type: "Signature",
	scheme: custom ? "Custom" : "Stripe",
	keys,
	toleranceSeconds: 300,
	...(custom && { custom }),
});

const hmacKey = { algorithm: "HMAC" as const, sealed: "" };

test("a signature that can't be decoded is told from one that no secret matches", () => {
	const cause = (text: string, encoding: "hex" | "base64", keys = 2) =>
		wrongSignature(
			{
				texts: [{ algorithm: "HMAC", text }],
				hash: "sha1",
				encoding,
				signed: [],
			},
			authorization([hmacKey]),
			keys,
		).cause;
	expect(cause("00".repeat(20), "hex")).toMatch(/^None of 2 secrets/);
	expect(cause("00".repeat(20), "hex", 1)).toMatch(/^The one secret/);
	expect(cause("A".repeat(27), "base64")).toMatch(/^None of 2 secrets/);
	for (const text of ["", "00", "zz".repeat(20), "0".repeat(39)])
		expect(cause(text, "hex")).toMatch(/not hexadecimal of the right length/);
	expect(cause("é".repeat(27), "base64")).toMatch(/not Base64 of the right/);
});

test("people read which form was read, and which Secret and key were tried", () => {
	const text = "ab".repeat(32);
	const presented = {
		texts: [{ algorithm: "HMAC" as const, text }],
		hash: "sha256" as const,
		encoding: "hex" as const,
		signed: [],
		signedAt: 1_000,
	};
	const keys = ["new", "old"].map((key) => ({
		...hmacKey,
		from: { secret: "provider", key },
	}));
	const { cause } = wrongSignature(presented, authorization(keys), 2);
	expect(cause).toBe(
		'None of 2 secrets matches the signature. Read: 1 signature (HMAC-SHA256) in hexadecimal, as scheme Stripe has it. Tried: key "new" of Secret "provider", key "old" of Secret "provider".',
	);
	const custom: CustomSignature = {
		algorithm: "SHA256",
		encoding: "Hex",
		header: "x-sig",
		headerPart: "v1",
		signedString: "{timestamp}.{body}",
	};
	const other = { texts: presented.texts, signed: [], signedAt: 2_000 };
	expect(
		wrongSignature(
			{ ...presented, other },
			authorization(keys.slice(1), custom),
			1,
		).cause,
	).toBe(
		'The one secret doesn\'t match the signature. Read: 2 signatures (HMAC-SHA256) of 2 times in hexadecimal, in the part v1 of the header x-sig, of the signedString {timestamp}.{body}. Tried: key "old" of Secret "provider".',
	);
	// What is signed with a private key is nothing that a shared secret can check.
	const signed = {
		...presented,
		texts: [{ algorithm: "Ed25519" as const, text: "ab".repeat(64) }],
	};
	expect(wrongSignature(signed, authorization(keys), 2).cause).toMatch(
		/Read: 1 signature \(Ed25519\).* No key was tried, because none is for such a signature\.$/,
	);
	expect(
		untimelySignature(presented, authorization(keys), 2_000_000).cause,
	).toMatch(
		/^The signed time is 1000 s behind .*; toleranceSeconds is 300\. Read: 1 signature .* No key was tried\.$/,
	);
	const at = { url: "https://keys.example", id: undefined };
	expect(
		wrongSignature(
			{ ...presented, keyAt: { ...at, isSenders: true } },
			authorization([]),
			0,
		).cause,
	).toMatch(
		/^No public key at the URL has the id that the request names\. Read: .* No key was tried\.$/,
	);
	expect(
		wrongSignature(
			{ ...presented, keyAt: { ...at, isSenders: false } },
			authorization([]),
			1,
		).cause,
	).toMatch(/Tried: what is at publicKey\.url\.$/);
});
