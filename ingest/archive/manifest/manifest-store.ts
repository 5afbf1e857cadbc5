import type { Manifest } from "../../../contracts/manifest.ts";
import { mapConcurrently } from "../concurrency/map-concurrently.ts";
import type { ObjectKeys } from "../s3/object-keys.ts";
import type { ObjectStore } from "../s3/object-store.ts";
import type { ManifestObjects } from "./manifest-objects.ts";

/** A manifest as it stands in the store. */
export interface StoredManifest {
	manifest: Manifest;
	key: string;
	/** How often its links were signed, from 1. */
	signing: number;
}

/**
 * The manifests of Runs. What a Run loads is written once and for all its attempts; when its links run out, it gets new
 * ones to the same events in a further object of the store.
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

	/** The Run's manifest with its newest links; undefined when it has none yet. */
	async newest(run: string): Promise<StoredManifest | undefined> {
		let newest: StoredManifest | undefined;
		for (let signing = 1; ; signing++) {
			const key = this.#keys.run(run, signing);
			const text = await this.#store.get(key);
			if (text === undefined) return newest;
			newest = { manifest: JSON.parse(text) as Manifest, key, signing };
		}
	}

	/** Writes a Run's first manifest; who was faster is adopted. */
	create(manifest: Manifest): Promise<StoredManifest> {
		return this.#write(manifest, 1);
	}

	/** The same events with links that live until then. Throws as {@link ManifestObjects.renew}. */
	async renew(
		{ manifest, signing }: StoredManifest,
		expiresAtMs: number,
	): Promise<StoredManifest> {
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

	async #write(manifest: Manifest, signing: number): Promise<StoredManifest> {
		const key = this.#keys.run(manifest.run, signing);
		const text = JSON.stringify(manifest);
		const written = await this.#store.putNew(key, text, "application/json");
		const own = { manifest, key, signing };
		return written === "created"
			? own
			: ((await this.newest(manifest.run)) ?? own);
	}
}
