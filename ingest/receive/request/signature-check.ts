import {
	createHmac,
	createPublicKey,
	type KeyObject,
	timingSafeEqual,
	verify,
} from "node:crypto";
import { promisify } from "node:util";
import type { SignatureAuthorization } from "../../../packages/contracts/route.ts";
import type { SecretSealer } from "../../../packages/service/seal-key.ts";
import { type LongWork, stepBytes } from "../admission/long-work.ts";
import type { PresentedSignature } from "./presented-signature.ts";

export type SigningKey =
	| { algorithm: "HMAC"; key: Buffer }
	| { algorithm: "Ed25519"; key: KeyObject };

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
		if (n > 0)
			for (const part of body)
				for (let at = 0; at < part.length; at += stepBytes)
					yield part.subarray(at, at + stepBytes);
		yield bytes;
	}
}

/** Whether {@link isEd25519Signed} can be true. */
export function mayBeEd25519Signed(
	presented: PresentedSignature,
	keys: readonly SigningKey[],
): boolean {
	return (
		textsOf(presented, "Ed25519").length > 0 &&
		keys.some(({ algorithm }) => algorithm === "Ed25519")
	);
}

const verifyInThread = promisify<
	undefined,
	Uint8Array,
	KeyObject,
	Buffer,
	boolean
>(verify);

/** The same for an Ed25519 signature, checked off the event loop: it can't be checked in pieces. */
export async function isEd25519Signed(
	presented: PresentedSignature,
	keys: readonly SigningKey[],
	body: readonly Uint8Array[],
): Promise<boolean> {
	const signed = Buffer.concat([...signedPieces(presented, body)]);
	for (const { algorithm, key } of keys) {
		if (algorithm !== "Ed25519") continue;
		for (const text of textsOf(presented, "Ed25519")) {
			const signature = Buffer.from(text, "base64");
			if (await verifyInThread(undefined, signed, key, signature)) return true;
		}
	}
	return false;
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

/** The DER bytes in front of a raw public key (RFC 8410 §4). */
const ed25519Prefix = Buffer.from("302a300506032b6570032100", "hex");

function ed25519Key(bytes: Buffer): KeyObject {
	return createPublicKey({
		key: Buffer.concat([ed25519Prefix, bytes]),
		format: "der",
		type: "spki",
	});
}
