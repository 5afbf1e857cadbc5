import {
	createHmac,
	createPublicKey,
	type KeyObject,
	timingSafeEqual,
	verify,
} from "node:crypto";
import type { SignatureAuthorization } from "../../../../contracts/route.ts";
import type { SealKey } from "../../../../service/seal-key.ts";
import type { SignatureClaim } from "./scheme.ts";

export type SigningKey =
	| { algorithm: "HMAC"; key: Buffer }
	| { algorithm: "Ed25519"; key: KeyObject };

/** A Source's keys, opened. Throws when they were sealed with another key or for another Source. */
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

/** Whether a signed time, if there is one, is near enough to now. */
export function isTimely(
	{ signedAt }: SignatureClaim,
	toleranceSeconds: number,
	nowMs: number,
): boolean {
	return (
		signedAt === undefined ||
		Math.abs(nowMs / 1000 - signedAt) <= toleranceSeconds
	);
}

/** More than any provider sends while it replaces a key; each costs a pass over the body. */
const maxSignatures = 10;

/** Whether one of the claimed signatures is that of the raw body with one of the keys. */
export function isSigned(
	claim: SignatureClaim,
	keys: readonly SigningKey[],
	body: Buffer,
): boolean {
	const signatures = claim.signatures.slice(0, maxSignatures);
	let signed = false;
	// All are compared, so that time doesn't tell which was near.
	for (const key of keys) {
		const expected = key.algorithm === "HMAC" && hmac(claim, key.key, body);
		for (const { algorithm, text } of signatures) {
			if (algorithm !== key.algorithm) continue;
			const matches =
				key.algorithm === "HMAC"
					? sameText(text, expected as string, claim.encoding)
					: verify(
							undefined,
							signedBytes(claim, body),
							key.key,
							Buffer.from(text, "base64"),
						);
			signed = matches || signed;
		}
	}
	return signed;
}

function hmac(
	{ hash, signed, encoding }: SignatureClaim,
	key: Buffer,
	body: Buffer,
): string {
	const digest = createHmac(hash, key).update(signed[0]!);
	for (const bytes of signed.slice(1)) digest.update(body).update(bytes);
	return digest.digest(encoding);
}

function signedBytes({ signed }: SignatureClaim, body: Buffer): Buffer {
	return Buffer.concat(
		signed.flatMap((bytes, i) => (i === 0 ? [bytes] : [body, bytes])),
	);
}

/** Compares texts, of which hexadecimal ones may be in capitals. */
function sameText(
	text: string,
	expected: string,
	encoding: SignatureClaim["encoding"],
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

/** RFC 8410 §4: the bytes of a public key within its DER form. */
const ed25519Prefix = Buffer.from("302a300506032b6570032100", "hex");

function ed25519Key(bytes: Buffer): KeyObject {
	return createPublicKey({
		key: Buffer.concat([ed25519Prefix, bytes]),
		format: "der",
		type: "spki",
	});
}
