import {
	createHmac,
	generateKeyPairSync,
	randomBytes,
	sign,
} from "node:crypto";
import { describe, expect, test } from "vitest";
import { SealKey } from "../../../packages/service/seal-key.ts";
import { isSigned } from "../../../test/support/bodies/signed-body.ts";
import type { PresentedSignature } from "./presented-signature.ts";
import { openSigningKeys, type SigningKey, timely } from "./signature-check.ts";

const body = Buffer.from('{"n":1}');
const time = Buffer.from("1700000000.");
const secret = randomBytes(32);
const hmacKey: SigningKey = { algorithm: "HMAC", key: secret };
const { publicKey, privateKey } = generateKeyPairSync("ed25519");
const ed25519Key: SigningKey = { algorithm: "Ed25519", key: publicKey };

const hmacText = createHmac("sha256", secret)
	.update(time)
	.update(body)
	.digest("base64");
const ed25519Text = sign(
	undefined,
	Buffer.concat([time, body]),
	privateKey,
).toString("base64");

/** Another signature of the same length. */
function flipped(text: string): string {
	return `${text.startsWith("A") ? "B" : "A"}${text.slice(1)}`;
}

function presented(
	texts: PresentedSignature["texts"],
	change: Partial<PresentedSignature> = {},
): PresentedSignature {
	return {
		texts,
		hash: "sha256",
		encoding: "base64",
		signed: [time, Buffer.alloc(0)],
		...change,
	};
}

describe.each([
	["HMAC", hmacKey, hmacText],
	["Ed25519", ed25519Key, ed25519Text],
] as const)("%s", (algorithm, key, text) => {
	const other = algorithm === "HMAC" ? "Ed25519" : "HMAC";
	const wrong = { algorithm, text: flipped(text) };
	const right = { algorithm, text };

	test("a right signature is accepted under its own algorithm alone", async () => {
		expect(await isSigned(presented([right]), [key], body)).toBe(true);
		const mislabelled = presented([{ algorithm: other, text }]);
		expect(await isSigned(mislabelled, [key], body)).toBe(false);
		expect(await isSigned(presented([right]), [], body)).toBe(false);
	});

	test("a right signature is accepted beside wrong ones, and by any key", async () => {
		const keys = [hmacKey, ed25519Key];
		for (const order of [keys, [...keys].reverse()])
			for (const texts of [
				[right, wrong],
				[wrong, right],
			])
				expect(await isSigned(presented(texts), order, body)).toBe(true);
	});

	test("only the first sixteen signatures are checked", async () => {
		const wrongs = (count: number) => Array(count).fill(wrong);
		expect(await isSigned(presented([...wrongs(15), right]), [key], body)).toBe(
			true,
		);
		expect(await isSigned(presented([...wrongs(16), right]), [key], body)).toBe(
			false,
		);
	});
});

test("at most twenty checks by public keys read the body", async () => {
	const right = { algorithm: "Ed25519" as const, text: ed25519Text };
	const wrong = { ...right, text: flipped(ed25519Text) };
	const others = (count: number) =>
		Array.from({ length: count }, () => ({
			algorithm: "Ed25519" as const,
			key: generateKeyPairSync("ed25519").publicKey,
		}));
	const both = presented([wrong, right]);
	expect(await isSigned(both, [...others(9), ed25519Key], body)).toBe(true);
	expect(await isSigned(both, [...others(10), ed25519Key], body)).toBe(false);
});

test("hexadecimal is compared in either case, Base64 in its own", async () => {
	const hex = Buffer.from(hmacText, "base64").toString("hex").toUpperCase();
	const asHex = presented([{ algorithm: "HMAC", text: hex }], {
		encoding: "hex",
	});
	expect(await isSigned(asHex, [hmacKey], body)).toBe(true);
	const lower = hmacText.toLowerCase();
	expect(lower).not.toBe(hmacText);
	const asBase64 = presented([{ algorithm: "HMAC", text: lower }]);
	expect(await isSigned(asBase64, [hmacKey], body)).toBe(false);
});

test("a signed time may differ from now by the tolerance, in either direction", () => {
	const isTimely = (change: Partial<PresentedSignature>) =>
		timely(presented([], change), 60, 1_000_000) !== undefined;
	const at = (signedAt: number) => isTimely({ signedAt });
	expect([939, 940, 1_060, 1_061].map(at)).toEqual([false, true, true, false]);
	expect(isTimely({})).toBe(true);
});

test("keys can only be opened for the Source that they were sealed for", async () => {
	const sealKey = new SealKey(Buffer.alloc(32, 1));
	const authorization = {
		type: "Signature" as const,
		scheme: "StandardWebhooks" as const,
		keys: [
			{ algorithm: "HMAC" as const, sealed: sealKey.seal(secret, "a") },
			{
				algorithm: "Ed25519" as const,
				sealed: sealKey.seal(
					publicKey.export({ format: "der", type: "spki" }).subarray(-32),
					"a",
				),
			},
		],
		toleranceSeconds: 60,
	};
	const keys = openSigningKeys(authorization, "a", sealKey);
	for (const [algorithm, text] of [
		["HMAC", hmacText],
		["Ed25519", ed25519Text],
	] as const)
		expect(await isSigned(presented([{ algorithm, text }]), keys, body)).toBe(
			true,
		);
	expect(() => openSigningKeys(authorization, "b", sealKey)).toThrow();
});
