import { maxResultBytes } from "../../../contracts/job.ts";
import type { Manifest } from "../../../contracts/manifest.ts";
import { mapConcurrently } from "../concurrency/map-concurrently.ts";
import type { ObjectKeys } from "../s3/object-keys.ts";
import type { ObjectStore } from "../s3/object-store.ts";
import type { ManifestObjects } from "./manifest-objects.ts";

/** Without the link for the result, which each signing has its own of. */
export type Unsigned = Omit<Manifest, "result">;

/** A manifest in the bucket. */
export interface SignedManifest {
	manifest: Manifest;
	key: string;
	/** Which of the Run's manifests it is, from 1. */
	signing: number;
}

/**
 * The manifests of Runs. What a Run loads is decided once, for all its attempts. When the links are about to expire, a
 * further object holds new links to the same events. Only a Run that needs the whole window gets other events, once.
 */
export class ManifestStore {
	readonly #store: ObjectStore;
	readonly #keys: ObjectKeys;
	readonly #objects: ManifestObjects;

	constructor(store: ObjectStore, keys: ObjectKeys, objects: ManifestObjects) {
		this.#store = store;
		this.#keys = keys;
		this.#objects = objects;
	}

	/** The Run's manifest with its newest links; undefined if it has none yet. */
	async newest(run: string): Promise<SignedManifest | undefined> {
		let newest: SignedManifest | undefined;
		for (let signing = 1; ; signing++) {
			const key = this.#keys.run(run, signing);
			const text = await this.#store.get(key);
			if (text === undefined) return newest;
			newest = { manifest: JSON.parse(text) as Manifest, key, signing };
		}
	}

	/** Writes a Run's manifest after `former`, or returns the one that another archiver wrote first. */
	create(manifest: Unsigned, former?: SignedManifest): Promise<SignedManifest> {
		return this.#write(manifest, (former?.signing ?? 0) + 1);
	}

	/** The same events with links that live until then. Throws like {@link ManifestObjects.renew}. */
	async renew(
		{ manifest, signing }: SignedManifest,
		expiresAtMs: number,
	): Promise<SignedManifest> {
		const seconds = Math.floor((expiresAtMs - Date.now()) / 1000);
		const { account, sourceKey } = manifest;
		const dates = await mapConcurrently(manifest.dates, 8, (date) =>
			this.#objects.renew(
				{ account, sourceKey, date: date.date },
				date,
				seconds,
			),
		);
		const expiresAt = new Date(expiresAtMs).toISOString();
		return this.#write({ ...manifest, expiresAt, dates }, signing + 1);
	}

	/** What the Job of a manifest has left; undefined if it hasn't. */
	async result({ manifest, signing }: SignedManifest) {
		return this.#store.get(this.#keys.runResult(manifest.run, signing));
	}

	async #write(unsigned: Unsigned, signing: number): Promise<SignedManifest> {
		const { run, expiresAt } = unsigned;
		const leftMs = Date.parse(expiresAt) - Date.now();
		const result = await this.#store.presignPut(
			this.#keys.runResult(run, signing),
			maxResultBytes,
			Math.floor(leftMs / 1000),
		);
		const manifest: Manifest = { ...unsigned, result };
		const key = this.#keys.run(run, signing);
		const text = JSON.stringify(manifest);
		const written = await this.#store.putNew(key, text, "application/json");
		const own = { manifest, key, signing };
		return written === "created"
			? own
			: ((await this.newest(manifest.run)) ?? own);
	}
}
