import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { SignJWT, UnsecuredJWT } from "jose";
import { describe, expect, test } from "vitest";
import {
	tokenIn,
	tokenRefusal,
} from "../../ingest/receive/request/web-token.ts";
import { unprovenOf } from "../../operator/source/routes/authorization.ts";
import type { JWTAuthorization } from "../../packages/contracts/route.ts";
import { publicKeysIn } from "../../packages/service/public-keys.ts";

const rsa = generateKeyPairSync("rsa", { modulusLength: 2_048 });
const p256 = generateKeyPairSync("ec", { namedCurve: "P-256" });
const other = generateKeyPairSync("rsa", { modulusLength: 2_048 });
const now = new Date("2026-03-01T12:00:00Z");
const seconds = now.getTime() / 1_000;

const authorization: JWTAuthorization = {
	type: "JWT",
	jwksURL: "https://keys.example/certs",
	issuer: "https://accounts.google.com",
	audience: "tidemill",
	header: "authorization",
	requiredClaims: [
		{ name: "email", value: "push@my-project.iam.gserviceaccount.com" },
		{ name: "email_verified", value: "true" },
	],
	clockSkewSeconds: 60,
};

const claims = {
	iss: authorization.issuer,
	aud: "tidemill",
	exp: seconds + 600,
	email: "push@my-project.iam.gserviceaccount.com",
	email_verified: true,
};

const jwk = (key: KeyObject, kid?: string, more: object = {}) => ({
	...key.export({ format: "jwk" }),
	...(kid && { kid }),
	...more,
});
const published = {
	keys: [
		jwk(other.publicKey, "other"),
		jwk(rsa.publicKey, "rsa", { use: "sig", alg: "RS256" }),
		jwk(p256.publicKey, "p256"),
	],
};

interface Signing {
	key?: KeyObject;
	header?: { alg?: string; kid?: string | undefined };
	more?: object;
}

function signed(
	change: object = {},
	{ key = rsa.privateKey, header = {}, more = {} }: Signing = {},
): Promise<string> {
	const given = { alg: "RS256", kid: "rsa", ...header, ...more };
	const payload = JSON.parse(JSON.stringify({ ...claims, ...change }));
	return new SignJWT(payload)
		.setProtectedHeader(given as { alg: string })
		.sign(key, {
			crit: { "x-new": true },
		});
}

const asked: (string | undefined)[] = [];

/** The refusal's code and cause; undefined for a token that is accepted. */
async function refusalOf(
	token: string,
	change: Partial<JWTAuthorization> = {},
	set: object | null = published,
): Promise<string | undefined> {
	const asks = { ...authorization, ...change };
	const presented = tokenIn(asks, { [asks.header]: token });
	const refusal =
		"status" in presented
			? presented
			: await tokenRefusal(
					presented,
					asks,
					async (algorithm, { url, id }) => {
						expect(url).toBe(asks.jwksURL);
						asked.push(id);
						if (!set) return "Notify doesn't answer.";
						const keys = publicKeysIn(JSON.stringify(set), algorithm);
						return typeof keys === "string"
							? keys
							: keys.flatMap((one) =>
									id === undefined || one.id === id ? [one.key] : [],
								);
					},
					(work) => work(),
					now,
				);
	return refusal && `${refusal.code}: ${refusal.cause}`;
}

describe("a token is accepted", () => {
	test.each([
		["of Google's push", {}, {}, {}],
		[
			"by ES256",
			{},
			{ key: p256.privateKey, header: { alg: "ES256", kid: "p256" } },
			{},
		],
		["that names no key", {}, { header: { kid: undefined } }, {}],
		["for several audiences", { aud: ["other", "tidemill"] }, {}, {}],
		["that expired within the skew", { exp: seconds - 59 }, {}, {}],
		[
			"whose required claim is a number",
			{ level: 3 },
			{},
			{ requiredClaims: [{ name: "level", value: "3" }] },
		],
		[
			"without required claims",
			{ email: undefined },
			{},
			{ requiredClaims: [] },
		],
		[
			"with a nonce in its header",
			{},
			{ more: { typ: "JWT", x5t: "abc" } },
			{},
		],
	])("%s", async (_, change, how, settings) => {
		expect(
			await refusalOf(`Bearer ${await signed(change, how)}`, settings),
		).toBe(undefined);
	});

	test("in another header, without Bearer", async () => {
		const settings = { header: "x-goog-iap-jwt-assertion" };
		expect(await refusalOf(await signed(), settings)).toBe(undefined);
	});
});

describe("a token is refused", () => {
	test.each([
		[
			"of another project's service account",
			{ email: "evil@other.iam.gserviceaccount.com" },
			{},
			"claim email isn't",
		],
		[
			"whose email isn't verified",
			{ email_verified: false },
			{},
			"claim email_verified isn't",
		],
		["without a required claim", { email: undefined }, {}, "claim email isn't"],
		[
			"whose required claim is a list",
			{ email: [claims.email] },
			{},
			"claim email isn't",
		],
		[
			"of another issuer",
			{ iss: "https://evil.example" },
			{},
			"claim iss is not accepted",
		],
		["for another audience", { aud: "other" }, {}, "claim aud is not accepted"],
		["without an audience", { aud: undefined }, {}, "claim aud is missing"],
		["that has expired", { exp: seconds - 61 }, {}, "has expired"],
		["that never expires", { exp: undefined }, {}, "claim exp is missing"],
		[
			"that isn't valid yet",
			{ nbf: seconds + 61 },
			{},
			"claim nbf is not accepted",
		],
		[
			"by another key under the right kid",
			{},
			{ key: other.privateKey },
			"No key matches the token's signature",
		],
		[
			"with an unknown kid",
			{},
			{ header: { kid: "new" } },
			"No key at jwksURL has the token's kid",
		],
		[
			"by PS256",
			{},
			{ header: { alg: "PS256" } },
			"isn't signed by RS256 or ES256",
		],
		[
			"by RS512",
			{},
			{ header: { alg: "RS512" } },
			"isn't signed by RS256 or ES256",
		],
		[
			"with jku",
			{},
			{ more: { jku: "https://evil.example/keys" } },
			"header has jku",
		],
		[
			"with x5u",
			{},
			{ more: { x5u: "https://evil.example/cert" } },
			"header has x5u",
		],
		["with jwk", {}, { more: { jwk: jwk(rsa.publicKey) } }, "header has jwk"],
		[
			"with crit",
			{},
			{ more: { crit: ["x-new"], "x-new": 1 } },
			"header has crit",
		],
	])("%s", async (_, change, how, why) => {
		const refusal = await refusalOf(`Bearer ${await signed(change, how)}`);
		expect(refusal).toMatch(/^WebTokenInvalid: /);
		expect(refusal).toContain(why);
	});

	test("that nobody signed, or with the public key as a secret", async () => {
		const unsigned = new UnsecuredJWT(claims).encode();
		expect(await refusalOf(`Bearer ${unsigned}`)).toContain("RS256 or ES256");
		const secret = new TextEncoder().encode(
			rsa.publicKey.export({ format: "pem", type: "spki" }).toString(),
		);
		const confused = await new SignJWT(claims)
			.setProtectedHeader({ alg: "HS256", kid: "rsa" })
			.sign(secret);
		expect(await refusalOf(`Bearer ${confused}`)).toContain("RS256 or ES256");
	});

	test("that isn't one, and its sender can't have keys fetched", async () => {
		asked.length = 0;
		for (const token of [
			"",
			"Bearer ",
			"a.b.c",
			"Basic x",
			`Bearer ${"a".repeat(9_000)}`,
		])
			expect(await refusalOf(token)).toContain("can't be decoded");
		expect(tokenIn(authorization, {})).toMatchObject({
			status: 401,
			cause: "The header authorization is missing. No key was tried.",
		});
		expect(asked).toEqual([]);
	});

	test("with a changed claim, whatever its header says", async () => {
		const [header, payload, signature] = (await signed({ email: "x" })).split(
			".",
		);
		const changed = Buffer.from(
			JSON.stringify({
				...JSON.parse(Buffer.from(payload!, "base64url").toString()),
				email: claims.email,
			}),
		).toString("base64url");
		expect(
			await refusalOf(`Bearer ${header}.${changed}.${signature}`),
		).toContain("No key matches");
	});

	test("by a key for encryption", async () => {
		const keys = [
			jwk(rsa.publicKey, "rsa", { use: "enc" }),
			jwk(other.publicKey, "other"),
		];
		expect(await refusalOf(`Bearer ${await signed()}`, {}, { keys })).toContain(
			"has the token's kid",
		);
	});
});

test("its sender sends again while no keys can be had", async () => {
	const refusal = await refusalOf(`Bearer ${await signed()}`, {}, null);
	expect(refusal).toBe("KeysUnavailable: Notify doesn't answer.");
});

test("people read which form was read and what was tried, and nothing of what was sent", async () => {
	const refusal = await refusalOf(
		`Bearer ${await signed({ email: "evil@other" })}`,
	);
	expect(refusal).toBe(
		"WebTokenInvalid: The token's claim email isn't what requiredClaims says. Read: a JSON Web Token (RS256) in the header authorization. Tried: 1 key at jwksURL.",
	);
});

test("Ready says that the token doesn't cover the body", () => {
	const source = { spec: { webhook: { authorization: { type: "JWT" } } } };
	expect(unprovenOf(source as never)).toMatch(
		/doesn't cover it: who sees a request can send its token with another body/,
	);
});
