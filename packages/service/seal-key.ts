import {
	createCipheriv,
	createDecipheriv,
	createHmac,
	hkdfSync,
} from "node:crypto";
import { existsSync } from "node:fs";
import type { Logger } from "./log.ts";
import { SecretFiles } from "./secret-files.ts";
import { SettingError, type Settings } from "./settings.ts";

const cipher = "aes-256-gcm";
const nonceBytes = 12;
const tagBytes = 16;
const minKeyBytes = 32;

/** What seals secrets: one key, or several while one replaces another. */
export interface SecretSealer {
	/** The key that seals and digests now. */
	readonly current: SealKey;
	/** All keys, the current one first. */
	readonly all: readonly SealKey[];
	/** The key with this id. Throws if it is none of them. */
	named(id: string): SealKey;
	/**
	 * Throws when the text was sealed with another key or for another purpose, or was changed.
	 * @param id of the key that sealed it; undefined in what an earlier version has sealed.
	 */
	open(sealed: string, purpose: string, id?: string): Buffer;
}

/**
 * Seals and digests secrets on their way from operator to receive, which alone have the key. AES-256-GCM binds each secret to its
 * purpose, so a sealed secret can't be moved to another Source. The nonce derives from the secret (as in RFC 8452): the same
 * secret seals to the same text, so an unchanged Source's route isn't rewritten, and a nonce repeats only with its secret.
 */
export class SealKey implements SecretSealer {
	/** Tells keys apart, and says nothing else about them. */
	readonly id: string;
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
		this.id = derive("id").toString("hex", 0, 6);
	}

	get current(): SealKey {
		return this;
	}

	get all(): readonly SealKey[] {
		return [this];
	}

	named(id: string): SealKey {
		if (id !== this.id) throw new UnknownSealKey(id, sharedSetting);
		return this;
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

	open(sealed: string, purpose: string, id = this.id): Buffer {
		this.named(id);
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

/** Of operator, receive and notify. */
const sharedSetting = "TIDEMILL_SEAL_KEY";

class UnknownSealKey extends Error {
	constructor(id: string, setting: string) {
		super(
			`the seal key ${id} isn't known: all processes that have ${setting} need the same file in it`,
		);
	}
}

/**
 * The key in the file of TIDEMILL_SEAL_KEY, and those in the files beside it while one key replaces another: `…-next` will
 * seal, and `…-former` has sealed. They only open. All are read again whenever they change.
 */
export class SealKeyRing implements SecretSealer {
	readonly #files: SecretFiles<readonly SealKey[]>;
	readonly #setting: string;

	/** Throws {@link SettingError}. */
	constructor(path: string, log: Logger, setting = sharedSetting) {
		this.#setting = setting;
		const files = [path, `${path}-next`, `${path}-former`];
		this.#files = new SecretFiles({
			setting,
			files: () => files.filter((file) => file === path || existsSync(file)),
			parse: (read, found): readonly SealKey[] =>
				found.map((file) => keyIn(file, read, setting)),
			log,
		});
	}

	get all(): readonly SealKey[] {
		return this.#files.value;
	}

	get current(): SealKey {
		return this.all[0]!;
	}

	named(id: string): SealKey {
		const key = this.all.find((key) => key.id === id);
		if (!key) throw new UnknownSealKey(id, this.#setting);
		return key;
	}

	open(sealed: string, purpose: string, id?: string): Buffer {
		if (id !== undefined) return this.named(id).open(sealed, purpose);
		for (const key of this.all)
			try {
				return key.open(sealed, purpose);
			} catch {
				// Another key may open it.
			}
		throw new Error("sealed with another key, or for another purpose");
	}

	/** Called after each change of the keys. */
	onChange(listener: () => void): void {
		this.#files.onChange(listener);
	}

	close(): void {
		this.#files.close();
	}
}

function keyIn(
	file: string,
	read: (file: string) => string,
	setting: string,
): SealKey {
	try {
		return new SealKey(Buffer.from(read(file).trim()));
	} catch (error) {
		throw new SettingError(
			`${setting} is "${file}", which can't be used: ${(error as Error).message}. It must name a file with at least ${minKeyBytes} random characters, the same for all who have this setting.`,
		);
	}
}

/** The keys of the file that TIDEMILL_SEAL_KEY names; undefined when it isn't set. Throws {@link SettingError}. */
export function readSealKeys(
	settings: Settings,
	log: Logger,
): SealKeyRing | undefined {
	const path = settings.optional("TIDEMILL_SEAL_KEY");
	return path === undefined ? undefined : new SealKeyRing(path, log);
}
