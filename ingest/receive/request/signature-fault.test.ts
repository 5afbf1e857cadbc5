import { expect, test } from "vitest";
import type {
	CustomSignature,
	SignatureAuthorization,
} from "../../../packages/contracts/route.ts";
import { missingSignature, wrongSignature } from "./signature-fault.ts";

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
});

function timed(): Partial<CustomSignature> {
	return {
		header: "x-sig",
		headerPart: "s",
		prefix: "h-",
		timestampHeader: "x-time",
	};
}

test("a signature that can't be decoded is told from one that no secret matches", () => {
	const cause = (text: string, encoding: "hex" | "base64", keys = 2) =>
		wrongSignature(
			{
				texts: [{ algorithm: "HMAC", text }],
				hash: "sha1",
				encoding,
				signed: [],
			},
			keys,
		).cause;
	expect(cause("00".repeat(20), "hex")).toMatch(/^None of 2 secrets/);
	expect(cause("00".repeat(20), "hex", 1)).toMatch(/^The one secret/);
	expect(cause("A".repeat(27), "base64")).toMatch(/^None of 2 secrets/);
	for (const text of ["", "00", "zz".repeat(20), "0".repeat(39)])
		expect(cause(text, "hex")).toMatch(/not hexadecimal of the right length/);
	expect(cause("é".repeat(27), "base64")).toMatch(/not Base64 of the right/);
});
