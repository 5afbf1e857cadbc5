import type { webcrypto } from "node:crypto";
import { createPublicKey, type KeyObject, X509Certificate } from "node:crypto";

/** A public key, with the id under which its owner publishes it. */
export interface PublishedKey {
	id?: string | undefined;
	key: KeyObject;
	/** Until when its certificate is valid. */
	validToMs?: number;
}

/** More than any provider has. */
const maxKeys = 100;
/** Each of so many is tried on a signature that names none. */
export const maxTriedKeys = 10;

/**
 * The keys in a text: PEM, a certificate valid now (the first of a chain), the Base64 of DER, an Ed25519 key's 32 bytes in Hex or Base64, a JWK or
 * a set of them (RFC 7517 §5), GitHub's `public_keys`, or an object with PEM by id. Those for other algorithms are left out.
 *
 * @param nowMs undefined for a certificate that somebody keeps: its key counts, even if it has expired.
 * @returns at least one key, or what is wrong with the text.
 */
export function publicKeysIn(
	text: string,
	algorithm: keyof typeof fitting,
	nowMs?: number,
): PublishedKey[] | string {
	const fits: KeyFamily = fitting[algorithm];
	try {
		const found = keysIn(text.trim(), algorithm, nowMs).filter(({ key }) =>
			fits.includes(key),
		);
		if (found.length > 0) return found.slice(0, maxKeys);
	} catch {
		// Never the error's own text, which may hold some of the key.
	}
	return `holds no ${fits.words}, as PEM, a valid certificate, the Base64 of DER or a JWK`;
}

interface KeyFamily {
	words: string;
	includes(key: KeyObject): boolean;
}

const fitting = {
	"ECDSA-P256": {
		words: "public key of the curve P-256",
		includes: ({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject) =>
			asymmetricKeyType === "ec" &&
			asymmetricKeyDetails?.namedCurve === "prime256v1",
	},
	Ed25519: {
		words: "public key of Ed25519",
		includes: ({ asymmetricKeyType }: KeyObject) =>
			asymmetricKeyType === "ed25519",
	},
	"RSA-SHA256": {
		words: "public key of RSA with 2048 to 8192 bits",
		includes({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject) {
			const { modulusLength = 0, publicExponent = 0n } =
				asymmetricKeyDetails ?? {};
			// A large exponent makes each check slow.
			return (
				asymmetricKeyType === "rsa" &&
				modulusLength >= 2_048 &&
				modulusLength <= 8_192 &&
				publicExponent < 2n ** 33n
			);
		},
	},
} as const satisfies Record<string, KeyFamily>;

function keysIn(
	text: string,
	algorithm: keyof typeof fitting,
	nowMs: number | undefined,
): PublishedKey[] {
	if (text.startsWith("{")) return keysOf(JSON.parse(text), nowMs);
	if (text.includes("-----BEGIN ")) return pemKeys(text, nowMs);
	const bytes = Buffer.from(
		text,
		/^[0-9a-f]{64}$/i.test(text) ? "hex" : "base64",
	);
	const isRaw = algorithm === "Ed25519" && bytes.length === 32;
	return [{ key: isRaw ? ed25519Key(bytes) : spkiKey(bytes) }];
}

/** The labels of public keys (RFC 7468 §13, RFC 8017 §A.1.1) and certificates: createPublicKey would take a private key, too. */
const pem =
	/-----BEGIN (PUBLIC KEY|RSA PUBLIC KEY|CERTIFICATE)-----[^-]+-----END \1-----/g;

function pemKeys(text: string, nowMs: number | undefined): PublishedKey[] {
	const blocks = [...text.matchAll(pem)].slice(0, maxKeys);
	const certificate = blocks.find(([, label]) => label === "CERTIFICATE");
	if (!certificate)
		return blocks.map(([block]) => ({ key: createPublicKey(block) }));
	const { publicKey, validFromDate, validToDate } = new X509Certificate(
		certificate[0],
	);
	const isValid =
		nowMs === undefined || (+validFromDate <= nowMs && nowMs < +validToDate);
	if (!isValid) return [];
	return [
		{ key: publicKey, ...(nowMs !== undefined && { validToMs: +validToDate }) },
	];
}

type PublishedJSON = webcrypto.JsonWebKey & {
	keys?: PublishedJSON[];
	public_keys?: { key_identifier?: unknown; key: string }[];
	kid?: unknown;
};

function keysOf(
	json: PublishedJSON,
	nowMs: number | undefined,
): PublishedKey[] {
	if (Array.isArray(json.keys)) return json.keys.flatMap(jwkKey);
	if (typeof json.kty === "string") return jwkKey(json);
	// docs.github.com, "Verifying webhook signatures" of secret scanning.
	if (Array.isArray(json.public_keys))
		return json.public_keys.flatMap(({ key_identifier: id, key }) =>
			pemKeys(key, nowMs).map((found) => ({ ...found, id: idOf(id) })),
		);
	return Object.entries(json).flatMap(([id, text]) =>
		typeof text === "string"
			? pemKeys(text, nowMs).map((found) => ({ ...found, id }))
			: [],
	);
}

/** A set may hold keys of kinds that Node.js doesn't know. */
function jwkKey(jwk: PublishedJSON): PublishedKey[] {
	if (jwk.kty === "oct" || "d" in jwk) return [];
	// RFC 7517 §4.2: a key for encryption signs nothing.
	if (jwk.use !== undefined && jwk.use !== "sig") return [];
	try {
		const key = createPublicKey({ key: jwk, format: "jwk" });
		return [{ id: idOf(jwk.kid), key }];
	} catch {
		return [];
	}
}

function idOf(id: unknown): string | undefined {
	return typeof id === "string" ? id : undefined;
}

/** @param bytes SubjectPublicKeyInfo (RFC 5280 §4.1.2.7). */
export function spkiKey(bytes: Buffer): KeyObject {
	return createPublicKey({ key: bytes, format: "der", type: "spki" });
}

/** The DER bytes in front of a raw public key (RFC 8410 §4). */
const ed25519Prefix = Buffer.from("302a300506032b6570032100", "hex");

/** @param bytes the 32 of the key. */
export function ed25519Key(bytes: Buffer): KeyObject {
	return spkiKey(Buffer.concat([ed25519Prefix, bytes]));
}
