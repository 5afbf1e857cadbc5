import { generateKeyPairSync } from "node:crypto";
import { expect, test } from "vitest";
import { snsTopic } from "../../test/support/senders/sns-topic.ts";
import { publicKeysIn } from "./public-keys.ts";

const day = 24 * 3_600_000;
const now = Date.parse("2026-03-01T00:00:00Z");

async function certificate(fromMs: number, toMs: number): Promise<string> {
	const topic = await snsTopic("orders", {
		notBefore: new Date(fromMs),
		notAfter: new Date(toMs),
	});
	return topic.certificate;
}

test("a certificate counts while it is valid, and of a chain the first alone", async () => {
	const [valid, issuer, expired, early] = await Promise.all([
		certificate(now - day, now + day),
		certificate(now - day, now + 9 * day),
		certificate(now - day, now),
		certificate(now + day, now + 2 * day),
	]);
	const chain = publicKeysIn(`${valid}\n${issuer}`, "RSA-SHA256", now);
	expect(chain).toEqual([{ key: expect.anything(), validToMs: now + day }]);
	for (const text of [expired, early, `${expired}\n${valid}`])
		expect(publicKeysIn(text, "RSA-SHA256", now)).toMatch(/^holds no/);
	// Somebody who keeps it in a Secret has decided.
	expect(publicKeysIn(expired, "RSA-SHA256")).toHaveLength(1);
});

test("keys keep the ids under which they are published", () => {
	const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
	const pem = publicKey.export({ format: "pem", type: "spki" });
	const jwk = publicKey.export({ format: "jwk" });
	for (const document of [
		{ keys: [{ ...jwk, kid: "a" }] },
		{ public_keys: [{ key_identifier: "a", key: pem }] },
		{ a: pem },
	]) {
		const keys = publicKeysIn(JSON.stringify(document), "ECDSA-P256", now);
		expect(keys).toMatchObject([{ id: "a" }]);
	}
});

test.each([
	"null",
	"[]",
	"{}",
	'{"keys":[null]}',
	'{"keys":[{"kty":"EC"}]}',
	'{"public_keys":[{}]}',
	'{"public_keys":[null]}',
	'{"kty":"oct","k":"AAAA"}',
	"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----",
	"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----",
	"<html>",
	"",
])("%s holds no key, and nothing throws", (text) => {
	expect(publicKeysIn(text, "ECDSA-P256", now)).toMatch(
		/^holds no public key of the curve P-256/,
	);
});

test("an RSA key whose exponent would make each check slow is none", () => {
	const { publicKey } = generateKeyPairSync("rsa", { modulusLength: 2_048 });
	const jwk = publicKey.export({ format: "jwk" });
	const slow = { ...jwk, e: Buffer.alloc(250, 255).toString("base64url") };
	expect(publicKeysIn(JSON.stringify(jwk), "RSA-SHA256")).toHaveLength(1);
	expect(publicKeysIn(JSON.stringify(slow), "RSA-SHA256")).toMatch(/^holds no/);
});

test("at most a hundred keys are read", () => {
	const { publicKey } = generateKeyPairSync("ed25519");
	const keys = Array(101).fill(publicKey.export({ format: "jwk" }));
	expect(publicKeysIn(JSON.stringify({ keys }), "Ed25519", now)).toHaveLength(
		100,
	);
});
