import {
	createHmac,
	type KeyObject,
	timingSafeEqual,
	type VerifyKeyObjectInput,
	verify,
} from "node:crypto";
import { promisify } from "node:util";
import type {
	PublicKeyAlgorithm,
	SignatureAuthorization,
} from "../../../packages/contracts/route.ts";
import { ed25519Key, spkiKey } from "../../../packages/service/public-keys.ts";
import type { SecretSealer } from "../../../packages/service/seal-key.ts";
import type { LongWork } from "../admission/long-work.ts";
import type { PresentedSignature } from "./presented-signature.ts";
import { shortPieces } from "./signed-string.ts";

export type SigningKey =
	| { algorithm: "HMAC"; key: Buffer }
	| { algorithm: PublicKeyAlgorithm; key: KeyObject };

/** Opens a Source's keys. Throws if they were sealed with another key or for another Source. */
export function openSigningKeys(
	{ keys }: SignatureAuthorization,
	sourceKey: string,
	sealKeys: SecretSealer,
): SigningKey[] {
	return keys.map(({ algorithm, sealed, sealKeyId }) => {
		const key = sealKeys.open(sealed, sourceKey, sealKeyId);
		return algorithm === "HMAC"
			? { algorithm, key }
			: {
					algorithm,
					key: algorithm === "Ed25519" ? ed25519Key(key) : spkiKey(key),
				};
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

/** More than any provider sends while it rotates a key. */
const maxSignatures = 10;
/** Of signatures by public keys. Each reads the whole body. */
const maxKeyChecks = 20;

/**
 * Whether one of the presented texts is an HMAC of the raw body with one of the keys.
 *
 * @param body in parts.
 */
export function* isHmacSigned(
	presented: PresentedSignature,
	keys: readonly SigningKey[],
	body: readonly Uint8Array[],
): LongWork<boolean> {
	let signed = false;
	const derived =
		presented.signedTexts &&
		(yield* presented.signedTexts(body)).map((text) => [text]);
	// Compare all of them, so that timing doesn't reveal which one was close.
	for (const key of keys) {
		if (key.algorithm !== "HMAC") continue;
		for (const pieces of derived ?? [signedPieces(presented, body)]) {
			const digest = createHmac(presented.hash, key.key);
			for (const piece of pieces) {
				digest.update(piece);
				yield piece.length;
			}
			const expected = digest.digest(presented.encoding);
			for (const text of textsOf(presented, "HMAC"))
				signed = sameText(text, expected, presented.encoding) || signed;
		}
	}
	return signed;
}

/** The signed bytes of a scheme without `signedTexts`, in pieces of at most {@link stepBytes} if they hold the body as it is. */
export function* signedPieces(
	{ signed }: Pick<PresentedSignature, "signed">,
	body: readonly Uint8Array[],
): Generator<Uint8Array, void> {
	for (const [n, bytes] of signed.entries()) {
		if (n > 0) yield* shortPieces(body);
		yield bytes;
	}
}

/** Whether {@link isSignedWithPrivateKey} can be true. */
export function mayBeSignedWithPrivateKey(
	presented: PresentedSignature,
	keys: readonly SigningKey[],
): boolean {
	return keys.some(
		({ algorithm }) =>
			algorithm !== "HMAC" && textsOf(presented, algorithm).length > 0,
	);
}

const verifyInThread = promisify<
	"sha256" | undefined,
	Uint8Array,
	KeyObject | VerifyKeyObjectInput,
	Buffer,
	boolean
>(verify);

/** The same for a signature that a public key checks, off the event loop: it can't be checked in pieces. */
export async function isSignedWithPrivateKey(
	presented: PresentedSignature,
	keys: readonly SigningKey[],
	body: readonly Uint8Array[],
): Promise<boolean> {
	const signed = Buffer.concat([...signedPieces(presented, body)]);
	let checks = 0;
	for (const { algorithm, key } of keys) {
		if (algorithm === "HMAC") continue;
		for (const text of textsOf(presented, algorithm)) {
			if (++checks > maxKeyChecks) return false;
			const signature = Buffer.from(text, presented.encoding);
			const hash = algorithm === "Ed25519" ? undefined : "sha256";
			const how =
				algorithm === "ECDSA-P256"
					? { key, dsaEncoding: ecdsaEncoding(signature) }
					: key;
			if (await verifyInThread(hash, signed, how, signature)) return true;
		}
	}
	return false;
}

/** ASN.1 of a signature by P-256 has about 70 bytes (RFC 3279 §2.2.3), the two numbers of JWS have 64 (RFC 7518 §3.4). */
function ecdsaEncoding({ length }: Buffer): "der" | "ieee-p1363" {
	return length === 64 ? "ieee-p1363" : "der";
}

function textsOf(
	{ texts }: PresentedSignature,
	algorithm: SigningKey["algorithm"],
): string[] {
	return texts
		.slice(0, maxSignatures)
		.filter((text) => text.algorithm === algorithm)
		.map(({ text }) => text);
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
