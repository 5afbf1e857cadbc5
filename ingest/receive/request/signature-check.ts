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
import type { PresentedSignature, SignedSet } from "./presented-signature.ts";
import { maxSignatures, signatureBytes } from "./signature-sets.ts";
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

/** What was signed at a time close enough to now; undefined if nothing was. Schemes that sign no time always pass. */
export function timely(
	presented: PresentedSignature,
	toleranceSeconds: number,
	nowMs: number,
): PresentedSignature | undefined {
	const isTimely = ({ signedAt }: SignedSet) =>
		signedAt === undefined ||
		Math.abs(nowMs / 1000 - signedAt) <= toleranceSeconds;
	if (!presented.other) return isTimely(presented) ? presented : undefined;
	const { other, ...first } = presented;
	if (!isTimely(first))
		return isTimely(other) ? { ...first, ...other } : undefined;
	return isTimely(other) ? presented : first;
}

/** Of signatures by public keys. Each reads the whole body. */
const maxKeyChecks = 20;

/** The signature by each time that it presents, with no more texts than are checked. */
function bySet(presented: PresentedSignature): PresentedSignature[] {
	if (!presented.other && presented.texts.length <= maxSignatures)
		return [presented];
	const { other, ...first } = presented;
	const texts = first.texts.slice(0, maxSignatures);
	const rest = other?.texts.slice(0, maxSignatures - texts.length) ?? [];
	const sets = [{ ...first, texts }];
	return rest.length > 0
		? [...sets, { ...first, ...other, texts: rest }]
		: sets;
}

/**
 * The signature, if one of its texts is an HMAC of the raw body with one of the keys, by the time of the first such text.
 *
 * @param body in parts.
 */
export function* signedBySecret(
	presented: PresentedSignature,
	keys: readonly SigningKey[],
	body: readonly Uint8Array[],
): LongWork<PresentedSignature | undefined> {
	let signed: PresentedSignature | undefined;
	// All of them are compared, so that timing doesn't reveal which one was close.
	for (const set of bySet(presented))
		if (yield* isHmacSigned(set, keys, body)) signed ??= set;
	return signed;
}

function* isHmacSigned(
	presented: PresentedSignature,
	keys: readonly SigningKey[],
	body: readonly Uint8Array[],
): LongWork<boolean> {
	const { hash, signedTexts } = presented;
	const derived =
		signedTexts && (yield* signedTexts(body)).map((text) => [text]);
	const signatures = bytesOf(presented, "HMAC");
	let signed = false;
	for (const key of keys) {
		if (key.algorithm !== "HMAC") continue;
		for (const pieces of derived ?? [signedPieces(presented, body)]) {
			const digest = createHmac(hash, key.key);
			for (const piece of pieces) {
				digest.update(piece);
				yield piece.length;
			}
			// By way of a text, whose bytes come from Node's pool: a Buffer of its own costs as much as the HMAC.
			const expected = Buffer.from(digest.digest("latin1"), "latin1");
			for (const bytes of signatures)
				signed = isSame(bytes, expected) || signed;
		}
	}
	return signed;
}

function isSame(a: Buffer, b: Buffer): boolean {
	return a.length === b.length && timingSafeEqual(a, b);
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

/** Whether {@link signedByPrivateKey} can find one. */
export function mayBeSignedByPrivateKey(
	presented: PresentedSignature,
	keys: readonly SigningKey[],
): boolean {
	const texts = [...presented.texts, ...(presented.other?.texts ?? [])];
	return keys.some(
		({ algorithm }) =>
			algorithm !== "HMAC" &&
			texts.some((text) => text.algorithm === algorithm),
	);
}

const verifyInThread = promisify<
	"sha256" | undefined,
	Uint8Array,
	KeyObject | VerifyKeyObjectInput,
	Buffer,
	boolean
>(verify);

/** As {@link signedBySecret} for what a public key checks, off the event loop: it can't be checked in pieces. */
export async function signedByPrivateKey(
	presented: PresentedSignature,
	keys: readonly SigningKey[],
	body: readonly Uint8Array[],
): Promise<PresentedSignature | undefined> {
	let checks = 0;
	for (const set of bySet(presented)) {
		const signed = Buffer.concat([...signedPieces(set, body)]);
		for (const { algorithm, key } of keys) {
			if (algorithm === "HMAC") continue;
			for (const signature of bytesOf(set, algorithm)) {
				if (++checks > maxKeyChecks) return undefined;
				const hash = algorithm === "Ed25519" ? undefined : "sha256";
				const how =
					algorithm === "ECDSA-P256"
						? { key, dsaEncoding: ecdsaEncoding(signature) }
						: key;
				if (await verifyInThread(hash, signed, how, signature)) return set;
			}
		}
	}
	return undefined;
}

/** ASN.1 of a signature by P-256 has about 70 bytes (RFC 3279 §2.2.3), the two numbers of JWS have 64 (RFC 7518 §3.4). */
function ecdsaEncoding({ length }: Buffer): "der" | "ieee-p1363" {
	return length === 64 ? "ieee-p1363" : "der";
}

function bytesOf(
	{ texts, encoding }: PresentedSignature,
	algorithm: SigningKey["algorithm"],
): Buffer[] {
	return texts.flatMap((text) =>
		text.algorithm === algorithm
			? (signatureBytes(text.text, encoding) ?? [])
			: [],
	);
}
