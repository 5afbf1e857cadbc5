import {
	createHash,
	createHmac,
	generateKeyPairSync,
	type KeyObject,
	sign,
} from "node:crypto";
import { crc32 } from "node:zlib";
import { describe, expect, test } from "vitest";
import {
	resolve,
	type SignatureSpec,
	signedAtMs,
	signedURL,
	verifier,
} from "../support/bodies/signature-verdict.ts";

type Custom = NonNullable<SignatureSpec["custom"]>;

const seconds = String(signedAtMs / 1000);
const millis = String(signedAtMs);
const rfc3339 = new Date(signedAtMs).toISOString();
const body = '{"id":"evt_1","text":"Käse 🧀","n":1.0}\r\n';
const secret = "hush";

function hmac(
	text: string,
	encoding: "hex" | "base64" = "hex",
	hash = "sha256",
): string {
	return createHmac(hash, secret).update(text).digest(encoding);
}

const ed25519 = generateKeyPairSync("ed25519");
const p256 = generateKeyPairSync("ec", { namedCurve: "P-256" });
const rsa = generateKeyPairSync("rsa", { modulusLength: 2_048 });

function der(key: KeyObject): Buffer {
	return key.export({ format: "der", type: "spki" });
}

function pem(key: KeyObject): string {
	return key.export({ format: "pem", type: "spki" }).toString();
}

interface Provider {
	custom: Omit<Custom, "signedString"> & { signedString?: string };
	/** The Secret's text. */
	key?: string;
	headers?: Record<string, string>;
	body?: string;
	query?: string;
}

const mailgun = (signature = hmac(`${seconds}tok`)) =>
	JSON.stringify({
		signature: { timestamp: seconds, token: "tok", signature },
		"event-data": { event: "opened" },
	});

const payPalText = `id-1|${rfc3339}|WH-1|${crc32(body)}`;

/** Each as the provider's page says that it signs. */
const providers: Record<string, Provider> = {
	// developer.paddle.com/webhooks/signature-verification
	Paddle: {
		custom: {
			header: "paddle-signature",
			headerPart: "h1",
			algorithm: "SHA256",
			encoding: "Hex",
			signedString: "{timestamp}:{body}",
			timestampHeader: "paddle-signature",
			timestampHeaderPart: "ts",
		},
		headers: {
			"paddle-signature": `ts=${seconds};h1=${hmac(`${seconds}:${body}`)}`,
		},
	},
	// developer.zendesk.com/documentation/webhooks/verifying
	Zendesk: {
		custom: {
			header: "x-zendesk-webhook-signature",
			algorithm: "SHA256",
			encoding: "Base64",
			signedString: "{timestamp}{body}",
			timestampHeader: "x-zendesk-webhook-signature-timestamp",
			timestampFormat: "RFC3339",
		},
		headers: {
			"x-zendesk-webhook-signature": hmac(`${rfc3339}${body}`, "base64"),
			"x-zendesk-webhook-signature-timestamp": rfc3339,
		},
	},
	// developers.webflow.com/data/docs/working-with-webhooks
	Webflow: {
		custom: {
			header: "x-webflow-signature",
			algorithm: "SHA256",
			encoding: "Hex",
			signedString: "{timestamp}:{body}",
			timestampHeader: "x-webflow-timestamp",
			timestampFormat: "UnixMillis",
		},
		headers: {
			"x-webflow-signature": hmac(`${millis}:${body}`),
			"x-webflow-timestamp": millis,
		},
	},
	// developer.calendly.com/api-docs/webhook-signatures; docs.mux.com/guides/verify-webhook-signatures
	"Calendly and Mux": {
		custom: {
			header: "calendly-webhook-signature",
			headerPart: "v1",
			algorithm: "SHA256",
			encoding: "Hex",
			signedString: "{timestamp}.{body}",
			timestampHeader: "calendly-webhook-signature",
			timestampHeaderPart: "t",
		},
		headers: {
			"calendly-webhook-signature": `t=${seconds}, v1=${hmac("old")}, v1=${hmac(`${seconds}.${body}`)}`,
		},
	},
	// developers.hubspot.com/docs/api/webhooks/validating-requests, version 3
	"HubSpot v3": {
		custom: {
			header: "x-hubspot-signature-v3",
			algorithm: "SHA256",
			encoding: "Base64",
			signedString: "{method}{url}{body}{timestamp}",
			timestampHeader: "x-hubspot-request-timestamp",
			timestampFormat: "UnixMillis",
		},
		headers: {
			"x-hubspot-signature-v3": hmac(
				`POST${signedURL}?portal=1${body}${millis}`,
				"base64",
			),
			"x-hubspot-request-timestamp": millis,
		},
		query: "portal=1",
	},
	// twilio.com/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook-security-features
	SendGrid: {
		custom: {
			header: "x-twilio-email-event-webhook-signature",
			algorithm: "ECDSA-P256",
			encoding: "Base64",
			signedString: "{timestamp}{body}",
			timestampHeader: "x-twilio-email-event-webhook-timestamp",
			publicKey: { secretRef: { name: "s0", key: "k" } },
		},
		key: der(p256.publicKey).toString("base64"),
		headers: {
			"x-twilio-email-event-webhook-signature": sign(
				"sha256",
				Buffer.from(seconds + body),
				p256.privateKey,
			).toString("base64"),
			"x-twilio-email-event-webhook-timestamp": seconds,
		},
	},
	// documentation.mailgun.com/docs/mailgun/user-manual/webhooks/securing-webhooks
	Mailgun: {
		custom: {
			bodyPointer: "/signature/signature",
			algorithm: "SHA256",
			encoding: "Hex",
			signedString: "{timestamp}{bodyPointer:/signature/token}",
			timestampBodyPointer: "/signature/timestamp",
			bodyUnsigned: true,
		},
		body: mailgun(),
	},
	// developer.paypal.com/api/rest/webhooks/rest, "Self verification method"
	"PayPal, with its certificate in a Secret": {
		custom: {
			header: "paypal-transmission-sig",
			algorithm: "RSA-SHA256",
			encoding: "Base64",
			signedString:
				"{header:PayPal-Transmission-Id}|{timestamp}|WH-1|{bodyDigest:crc32}",
			timestampHeader: "paypal-transmission-time",
			timestampFormat: "RFC3339",
			publicKey: { secretRef: { name: "s0", key: "k" } },
		},
		key: pem(rsa.publicKey),
		headers: {
			"paypal-transmission-id": "id-1",
			"paypal-transmission-time": rfc3339,
			"paypal-transmission-sig": sign(
				"sha256",
				Buffer.from(payPalText),
				rsa.privateKey,
			).toString("base64"),
		},
	},
	// discord.com/developers/docs/interactions/overview, "Setting up an endpoint"
	Discord: {
		custom: {
			header: "x-signature-ed25519",
			algorithm: "Ed25519",
			encoding: "Hex",
			signedString: "{timestamp}{body}",
			timestampHeader: "x-signature-timestamp",
			publicKey: { secretRef: { name: "s0", key: "k" } },
		},
		key: der(ed25519.publicKey).subarray(-32).toString("hex"),
		headers: {
			"x-signature-ed25519": sign(
				undefined,
				Buffer.from(seconds + body),
				ed25519.privateKey,
			).toString("hex"),
			"x-signature-timestamp": seconds,
		},
	},
	// developer.xero.com/documentation/guides/webhooks/configuring-your-server
	Xero: {
		custom: {
			header: "x-xero-signature",
			algorithm: "SHA256",
			encoding: "Base64",
		},
		headers: { "x-xero-signature": hmac(body, "base64") },
	},
	// developer.atlassian.com/cloud/trello/guides/rest-api/webhooks, "Webhook signatures"
	Trello: {
		custom: {
			header: "x-trello-webhook",
			algorithm: "SHA1",
			encoding: "Base64",
			signedString: "{body}{url}",
		},
		headers: { "x-trello-webhook": hmac(body + signedURL, "base64", "sha1") },
	},
	// developers.zoom.us/docs/api/webhooks, "Verify webhook events"
	Zoom: {
		custom: {
			header: "x-zm-signature",
			prefix: "v0=",
			algorithm: "SHA256",
			encoding: "Hex",
			signedString: "v0:{timestamp}:{body}",
			timestampHeader: "x-zm-request-timestamp",
		},
		headers: {
			"x-zm-signature": `v0=${hmac(`v0:${seconds}:${body}`)}`,
			"x-zm-request-timestamp": seconds,
		},
	},
	"a digest, a path and a query": {
		custom: {
			header: "x-signature",
			algorithm: "SHA512",
			encoding: "Hex",
			signedString:
				'{"{path}?{query}" {{method} {bodyDigest:sha256} {header:x-id}}',
		},
		headers: {
			"x-id": "id 123",
			"x-signature": hmac(
				`{"${new URL(signedURL).pathname}?a=%20&b" {POST ${createHash("sha256").update(body).digest("hex")} id 123}`,
				"hex",
				"sha512",
			),
		},
		query: "a=%20&b",
	},
	"a form": {
		custom: {
			bodyPointer: "/signature",
			algorithm: "SHA256",
			encoding: "Hex",
			signedString: "{timestamp}{bodyPointer:/token}",
			timestampBodyPointer: "/timestamp",
			bodyUnsigned: true,
		},
		headers: { "content-type": "application/x-www-form-urlencoded" },
		body: `timestamp=${seconds}&token=t+ok&signature=${hmac(`${seconds}t ok`)}`,
	},
};

function verifierOf({ custom, key = secret }: Provider) {
	const defaults = { signedString: "{body}", ...custom };
	return verifier({ scheme: "Custom", custom: defaults }, key);
}

describe("a provider's way to sign can be said", () => {
	test.each(Object.entries(providers))("%s", async (_name, provider) => {
		const { custom, headers = {}, query } = provider;
		const sent = provider.body ?? body;
		const accepts = verifierOf(provider);
		const at = (text: string, own: object = {}, atMs = signedAtMs) =>
			accepts({ ...headers, ...own }, text, atMs, query);
		expect(await at(sent)).toBe(true);

		const isTimed = custom.signedString?.includes("{timestamp}");
		expect(await at(sent, {}, signedAtMs + 301_000)).toBe(!isTimed);
		expect(await at(sent, {}, signedAtMs - 301_000)).toBe(!isTimed);
		if (!custom.bodyUnsigned)
			for (const other of [sent.replace("1.0", "1.1"), `${sent} `, ""])
				expect(await at(other)).toBe(false);
		for (const [name, value] of Object.entries(headers)) {
			if (name === "content-type") continue;
			expect(await at(sent, { [name]: undefined })).toBe(false);
			expect(await at(sent, { [name]: "" })).toBe(false);
			const changed = value.replace(/.(?=.{3}$)/, (c) =>
				c === "1" ? "2" : "1",
			);
			expect(await at(sent, { [name]: changed })).toBe(false);
		}
		if (query)
			expect(await accepts(headers, sent, signedAtMs, "a")).toBe(false);
	});
});

test("a signature counts in its own part of the header, and after its prefix, alone", async () => {
	const accepts = (custom: Partial<Custom>, text: string) =>
		verifierOf({
			custom: {
				header: "x-signature",
				algorithm: "SHA256",
				encoding: "Hex",
				...custom,
			},
		})({ "x-signature": text }, body);
	const right = hmac(body);
	const part = { headerPart: "v1" };
	for (const text of [
		`v1=${right}`,
		`t=1,v1=${right}`,
		`v1=${hmac("x")}; v1="${right}"`,
	])
		expect(await accepts(part, text)).toBe(true);
	for (const text of [`v0=${right}`, `xv1=${right}`, right, `t=v1=${right}`])
		expect(await accepts(part, text)).toBe(false);
	const prefix = { prefix: "sha256=" };
	expect(await accepts(prefix, `sha256=${right}`)).toBe(true);
	expect(await accepts(prefix, `sha512=${right}`)).toBe(false);
	expect(await accepts(prefix, right)).toBe(false);
});

describe("a time that is signed in the body", () => {
	const custom: Provider["custom"] = {
		header: "x-signature",
		algorithm: "SHA256",
		encoding: "Hex",
		timestampBodyPointer: "/at",
	};
	const accepts = (at: unknown, format?: Custom["timestampFormat"]) => {
		const text = JSON.stringify({ at });
		const timed = { ...custom, ...(format && { timestampFormat: format }) };
		return verifierOf({ custom: timed })({ "x-signature": hmac(text) }, text);
	};

	test.each([
		[undefined, signedAtMs / 1000],
		["UnixSeconds", seconds],
		["UnixMillis", signedAtMs],
		["RFC3339", "2026-03-01T12:00:00Z"],
		["RFC3339", "2026-03-01T14:00:00.123456789+02:00"],
		["RFC3339", "2026-03-01t12:04:59z"],
		["RFC3339", "2026-03-01 12:00:00Z"],
	] as const)("may be %s %s", async (format, at) => {
		expect(await accepts(at, format)).toBe(true);
	});

	test.each([
		["UnixSeconds", signedAtMs],
		["UnixSeconds", signedAtMs / 1000 - 301],
		["UnixSeconds", `${seconds} `],
		["UnixSeconds", `+${seconds}`],
		["UnixSeconds", ""],
		["UnixSeconds", null],
		["UnixSeconds", undefined],
		["UnixMillis", signedAtMs / 1000],
		["UnixMillis", "1e12"],
		["RFC3339", seconds],
		["RFC3339", "2026-03-01T12:00:00"],
		["RFC3339", "2026-03-01"],
		["RFC3339", "2026-13-01T12:00:00Z"],
		["RFC3339", "Sun, 01 Mar 2026 12:00:00 GMT"],
	] as const)("is refused as %s %s", async (format, at) => {
		expect(await accepts(at, format)).toBe(false);
	});
});

test("what a signature in the body doesn't cover can be changed, and nothing else", async () => {
	const accepts = verifierOf(providers.Mailgun!);
	expect(await accepts({}, mailgun().replace("opened", "clicked"))).toBe(true);
	for (const other of [
		mailgun(hmac("x")),
		mailgun().replace('"tok"', '"tik"'),
		mailgun().replace('"tok"', "null"),
		mailgun().replace('"tok"', "1.5"),
		mailgun().slice(0, -1),
		"[]",
		"",
	])
		expect(await accepts({}, other)).toBe(false);
});

describe("a public key", () => {
	const algorithms = {
		"ECDSA-P256": p256,
		Ed25519: ed25519,
		"RSA-SHA256": rsa,
	};
	const spec = (algorithm: keyof typeof algorithms) => ({
		custom: {
			header: "x-signature",
			algorithm,
			encoding: "Base64" as const,
			publicKey: { secretRef: { name: "s0", key: "k" } },
		},
	});
	const signed = (
		algorithm: keyof typeof algorithms,
		dsaEncoding: "der" | "ieee-p1363" = "der",
	) => ({
		"x-signature": sign(
			algorithm === "Ed25519" ? undefined : "sha256",
			Buffer.from(body),
			{ key: algorithms[algorithm].privateKey, dsaEncoding },
		).toString("base64"),
	});

	test.each(Object.keys(algorithms) as (keyof typeof algorithms)[])(
		"of %s may be PEM, the Base64 of DER, a JWK or one of a set of them",
		async (algorithm) => {
			const { publicKey } = algorithms[algorithm];
			const jwk = publicKey.export({ format: "jwk" });
			const others = Object.values(algorithms).map(({ publicKey }) => ({
				...publicKey.export({ format: "jwk" }),
				use: "sig",
			}));
			for (const key of [
				pem(publicKey),
				pem(publicKey).replaceAll("\n", "\r\n"),
				der(publicKey).toString("base64"),
				JSON.stringify(jwk),
				JSON.stringify({ keys: [{ kty: "oct", k: "AAAA" }, ...others] }),
				JSON.stringify({
					public_keys: [{ key_identifier: "a", key: pem(publicKey) }],
				}),
				JSON.stringify({ a: pem(publicKey) }),
			]) {
				const accepts = verifierOf({ ...spec(algorithm), key });
				expect(await accepts(signed(algorithm), body)).toBe(true);
				expect(await accepts(signed(algorithm), `${body} `)).toBe(false);
			}
		},
	);

	test("refuses what is no signature at all", async () => {
		for (const [algorithm, { publicKey }] of Object.entries(algorithms)) {
			const accepts = verifierOf({
				...spec(algorithm as keyof typeof algorithms),
				key: pem(publicKey),
			});
			for (const length of [0, 1, 63, 64, 70, 256, 4_000])
				for (const fill of [0, 0x30, 0xff]) {
					const text = Buffer.alloc(length, fill).toString("base64");
					expect(await accepts({ "x-signature": text }, body)).toBe(false);
				}
		}
	});

	test("of ECDSA checks both ways to write a signature", async () => {
		const accepts = verifierOf({
			...spec("ECDSA-P256"),
			key: pem(p256.publicKey),
		});
		const headers = signed("ECDSA-P256", "ieee-p1363");
		expect(await accepts(headers, body)).toBe(true);
		expect(await accepts(headers, `${body} `)).toBe(false);
	});

	test("may be one of several, for a rotation", async () => {
		const other = generateKeyPairSync("ed25519").publicKey;
		const key = pem(other) + pem(ed25519.publicKey);
		const accepts = verifierOf({ ...spec("Ed25519"), key });
		expect(await accepts(signed("Ed25519"), body)).toBe(true);
	});

	test.each([
		["ECDSA-P256", pem(ed25519.publicKey)],
		[
			"ECDSA-P256",
			pem(generateKeyPairSync("ec", { namedCurve: "P-384" }).publicKey),
		],
		[
			"RSA-SHA256",
			pem(generateKeyPairSync("rsa", { modulusLength: 1_024 }).publicKey),
		],
		["Ed25519", "AAAA"],
		["Ed25519", "{"],
		["Ed25519", '{"keys":[]}'],
		["Ed25519", ""],
		[
			"Ed25519",
			ed25519.privateKey.export({ format: "pem", type: "pkcs8" }).toString(),
		],
		["Ed25519", JSON.stringify(ed25519.privateKey.export({ format: "jwk" }))],
	] as const)("of %s that can't be one is a problem", (algorithm, key) => {
		const { authorization, problem } = resolve(
			{
				scheme: "Custom",
				custom: { signedString: "{body}", ...spec(algorithm).custom },
			},
			key,
		);
		expect(authorization).toMatchObject({ type: "Unavailable" });
		expect(problem!.reason).toBe("SigningSecretInvalid");
		expect(problem!.message).toMatch(/^Key "k" of Secret "s0" holds no public/);
	});

	test("is no HMAC key: who knows it can't sign with it", async () => {
		const raw = der(ed25519.publicKey).subarray(-32);
		const accepts = verifierOf({
			...spec("Ed25519"),
			key: raw.toString("hex"),
		});
		const forged = createHmac("sha256", raw).update(body).digest("base64");
		expect(await accepts({ "x-signature": forged }, body)).toBe(false);
	});
});
