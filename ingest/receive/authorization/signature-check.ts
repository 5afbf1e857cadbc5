import {
	createHmac,
	createPublicKey,
	type KeyObject,
	timingSafeEqual,
	verify,
} from "node:crypto";
import type { SignatureAuthorization } from "../../../contracts/route.ts";
import type { SealKey } from "../../../service/seal-key.ts";
import type { PresentedSignature } from "./presented-signature.ts";

export type SigningKey =
	| { algorithm: "HMAC"; key: Buffer }
	| { algorithm: "Ed25519"; key: KeyObject };

/** Opens a Source's keys. Throws if they were sealed with another key or for another Source. */
export function openSigningKeys(
	{ keys }: SignatureAuthorization,
	sourceKey: string,
	sealKey: SealKey,
): SigningKey[] {
	return keys.map(({ algorithm, sealed }) => {
		const key = sealKey.open(sealed, sourceKey);
		return algorithm === "HMAC"
			? { algorithm, key }
			: { algorithm, key: ed25519Key(key) };
	});
}

/** Whether the signed time is close enough to now. Schemes that sign no time always pass. */
export function isTimely(
	{ signedAt }: PresentedSignature,
	toleranceSeconds: number,
	nowMs: number,
): boolean {
	return (
		signedAt === undefined ||
		Math.abs(nowMs / 1000 - signedAt) <= toleranceSeconds
	);
}

/** More than any provider sends while it rotates a key. An Ed25519 check of each one reads the whole body. */
const maxSignatures = 10;

/** Whether one of the presented texts signs the raw body with one of the keys. */
export function isSigned(
	presented: PresentedSignature,
	keys: readonly SigningKey[],
	body: Buffer,
): boolean {
	const texts = presented.texts.slice(0, maxSignatures);
	let signed = false;
	// Compare all of them, so that timing doesn't reveal which one was close.
	for (const key of keys) {
		const expected = key.algorithm === "HMAC" && hmac(presented, key.key, body);
		for (const { algorithm, text } of texts) {
			if (algorithm !== key.algorithm) continue;
			const matches =
				key.algorithm === "HMAC"
					? sameText(text, expected as string, presented.encoding)
					: verify(
							undefined,
							signedBytes(presented, body),
							key.key,
							Buffer.from(text, "base64"),
						);
			signed = matches || signed;
		}
	}
	return signed;
}

function hmac(
	{ hash, signed, encoding }: PresentedSignature,
	key: Buffer,
	body: Buffer,
): string {
	const digest = createHmac(hash, key).update(signed[0]!);
	for (const bytes of signed.slice(1)) digest.update(body).update(bytes);
	return digest.digest(encoding);
}

function signedBytes({ signed }: PresentedSignature, body: Buffer): Buffer {
	return Buffer.concat(
		signed.flatMap((bytes, i) => (i === 0 ? [bytes] : [body, bytes])),
	);
}

/** Hexadecimal may be in upper case. */
function sameText(
	text: string,
	expected: string,
	encoding: PresentedSignature["encoding"],
): boolean {
	const presented = Buffer.from(
		encoding === "hex" ? text.toLowerCase() : text,
		"latin1",
	);
	return (
		presented.length === expected.length &&
		timingSafeEqual(presented, Buffer.from(expected, "latin1"))
	);
}

/** The DER bytes in front of a raw public key (RFC 8410 §4). */
const ed25519Prefix = Buffer.from("302a300506032b6570032100", "hex");

function ed25519Key(bytes: Buffer): KeyObject {
	return createPublicKey({
		key: Buffer.concat([ed25519Prefix, bytes]),
		format: "der",
		type: "spki",
	});
}
