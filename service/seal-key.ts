import {
	createCipheriv,
	createDecipheriv,
	createHmac,
	hkdfSync,
} from "node:crypto";
import { readFileSync } from "node:fs";
import { SettingError, type Settings } from "./settings.ts";

const cipher = "aes-256-gcm";
const nonceBytes = 12;
const tagBytes = 16;
const minKeyBytes = 32;

/**
 * Seals and digests secrets on their way from operator to receive, which alone have the key. AES-256-GCM binds each secret to its
 * purpose, so a sealed secret can't be moved to another Source. The nonce derives from the secret (as in RFC 8452): the same
 * secret seals to the same text, so an unchanged Source's route isn't rewritten, and a nonce repeats only with its secret.
 */
export class SealKey {
	readonly #sealing: Buffer;
	readonly #nonces: Buffer;
	readonly #digests: Buffer;

	/** @param key at least 32 unguessable bytes. */
	constructor(key: Uint8Array) {
		if (key.length < minKeyBytes)
			throw new RangeError(`a seal key needs at least ${minKeyBytes} bytes`);
		const derive = (purpose: string) =>
			Buffer.from(hkdfSync("sha256", key, "", `tidemill ${purpose}`, 32));
		this.#sealing = derive("seal");
		this.#nonces = derive("nonce");
		this.#digests = derive("digest");
	}

	/** Returns nonce, ciphertext and tag in base64. @param purpose what the secret is for. */
	seal(secret: Uint8Array, purpose: string): string {
		const nonce = createHmac("sha256", this.#nonces)
			.update(`${purpose}\0`)
			.update(secret)
			.digest()
			.subarray(0, nonceBytes);
		const sealing = createCipheriv(cipher, this.#sealing, nonce, {
			authTagLength: tagBytes,
		}).setAAD(Buffer.from(purpose));
		return Buffer.concat([
			nonce,
			sealing.update(secret),
			sealing.final(),
			sealing.getAuthTag(),
		]).toString("base64");
	}

	/** HMAC-SHA-256 in hex, so that nobody without the key can try out secrets. @param purpose what the secret is for. */
	digest(secret: string | Uint8Array, purpose: string): string {
		return createHmac("sha256", this.#digests)
			.update(`${purpose}\0`)
			.update(secret)
			.digest("hex");
	}

	/** Throws when the text was sealed with another key or for another purpose, or was changed. */
	open(sealed: string, purpose: string): Buffer {
		const bytes = Buffer.from(sealed, "base64");
		const opening = createDecipheriv(
			cipher,
			this.#sealing,
			bytes.subarray(0, nonceBytes),
			{ authTagLength: tagBytes },
		)
			.setAAD(Buffer.from(purpose))
			.setAuthTag(bytes.subarray(-tagBytes));
		return Buffer.concat([
			opening.update(bytes.subarray(nonceBytes, -tagBytes)),
			opening.final(),
		]);
	}
}

/** Reads the key from the file that TIDEMILL_SEAL_KEY names; undefined when it isn't set. Throws {@link SettingError}. */
export function readSealKey(settings: Settings): SealKey | undefined {
	const path = settings.optional("TIDEMILL_SEAL_KEY");
	if (path === undefined) return undefined;
	try {
		return new SealKey(Buffer.from(readFileSync(path, "utf8").trim()));
	} catch (error) {
		throw new SettingError(
			`TIDEMILL_SEAL_KEY is "${path}", which can't be used: ${(error as Error).message}. It must name a file with at least ${minKeyBytes} random characters, and operator and receive need the same file.`,
		);
	}
}
