import { logSizes, maxResultBytes } from "../../../packages/contracts/job.ts";
import type { Manifest } from "../../../packages/contracts/manifest.ts";
import { maxReportBytes } from "../../../packages/contracts/operation.ts";
import {
	importPartBytes,
	maxImportParts,
} from "../../../packages/contracts/transfer.ts";
import { mapConcurrently } from "../../../packages/fair/fair-limit.ts";
import type { ObjectStore } from "../../archive/s3/object-store.ts";
import type { CutsHeld } from "../shards/shares.ts";
import type { ManifestObjects } from "./manifest-objects.ts";

/** Without the links for what the Job leaves, which each signing has its own of. */
export type UnsignedManifest = Omit<
	Manifest,
	"result" | "logs" | "report" | "imports"
> & {
	/** Whether the Job leaves a report. */
	report?: unknown;
	/** The files of an Import. */
	imports?: { files: { sha256: string; bytes: number }[] };
};

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
	readonly #objects: ManifestObjects;

	constructor(store: ObjectStore, objects: ManifestObjects) {
		this.#store = store;
		this.#objects = objects;
	}

	/** The Run's manifest with its newest links; undefined if it has none yet. */
	async newest(run: string): Promise<SignedManifest | undefined> {
		let newest: SignedManifest | undefined;
		for (let signing = 1; ; signing++) {
			const key = this.#store.keys.run(run, signing);
			const text = await this.#store.get(key);
			if (text === undefined) return newest;
			newest = { manifest: JSON.parse(text) as Manifest, key, signing };
		}
	}

	/** Writes a Run's manifest after `former`, or returns the one that another archiver wrote first. */
	create(
		manifest: UnsignedManifest,
		former?: SignedManifest,
	): Promise<SignedManifest> {
		return this.#write(manifest, (former?.signing ?? 0) + 1);
	}

	/** Notes which cuts the Run's manifest has, before it is written: then it may have more, and no less. */
	async noteCuts(run: string, held: CutsHeld): Promise<void> {
		const key = this.#store.keys.runThrough(run);
		await this.#store.putNew(key, JSON.stringify(held), "application/json");
	}

	/** Undefined for a Run of a month ago or of an earlier version. */
	async cutsOf(run: string): Promise<CutsHeld | undefined> {
		const text = await this.#store.get(this.#store.keys.runThrough(run));
		return text === undefined ? undefined : JSON.parse(text);
	}

	/** The same events with links that live until then. Throws like {@link ManifestObjects.renew}. */
	async renew(
		{ manifest, signing }: SignedManifest,
		expiresAtMs: number,
	): Promise<SignedManifest> {
		const seconds = Math.floor((expiresAtMs - Date.now()) / 1000);
		const { account, sourceKey } = manifest;
		const dates = await mapConcurrently(manifest.dates, 8, async (day) => {
			const folder = { account, sourceKey, date: day.date };
			const renewed = await this.#objects.renew(folder, day, seconds);
			if (!day.quarantine) return renewed;
			const apart = { ...folder, quarantined: true } as const;
			const { rows, objects } = await this.#objects.renew(
				apart,
				{ date: day.date, ...day.quarantine },
				seconds,
			);
			const { released } = day.quarantine;
			return {
				...renewed,
				quarantine: {
					rows,
					objects,
					...(released && {
						released: await this.#objects.withLinks(released, seconds),
					}),
				},
			};
		});
		const expiresAt = new Date(expiresAtMs).toISOString();
		return this.#write({ ...manifest, expiresAt, dates }, signing + 1);
	}

	/** What the Job of a manifest has left; undefined if it hasn't. */
	async left({ manifest, signing }: SignedManifest) {
		const { run, report: link } = manifest;
		const result = await this.#store.get(
			this.#store.keys.runResult(run, signing),
		);
		const report =
			link && (await this.#store.get(this.#store.keys.report(run, signing)));
		return {
			...(result !== undefined && { result }),
			...(report !== undefined && { report }),
		};
	}

	async #write(
		unsigned: UnsignedManifest,
		signing: number,
	): Promise<SignedManifest> {
		const { report, imports, ...common } = unsigned;
		const { run, expiresAt } = common;
		const leftMs = Date.parse(expiresAt) - Date.now();
		const sign = (key: string, bytes: number) =>
			this.#store.presignPut(key, bytes, Math.floor(leftMs / 1000));
		const manifest: Manifest = {
			...common,
			result: await sign(
				this.#store.keys.runResult(run, signing),
				maxResultBytes,
			),
			logs: await Promise.all(
				logSizes.map((bytes) => sign(this.#store.keys.log(common), bytes)),
			),
			...(report !== undefined && {
				report: await sign(
					this.#store.keys.report(run, signing),
					maxReportBytes,
				),
			}),
			...(imports && {
				imports: {
					files: await mapConcurrently(imports.files, 8, async (file) => ({
						sha256: file.sha256,
						bytes: file.bytes,
						url: await this.#store.presign(
							this.#store.keys.upload(common.account, file.sha256),
							Math.floor(leftMs / 1000),
						),
					})),
					parts: await Promise.all(
						Array.from({ length: maxImportParts }, (_, index) =>
							sign(
								this.#store.keys.importPart(common, run, index + 1),
								importPartBytes,
							),
						),
					),
				},
			}),
		};
		const key = this.#store.keys.run(run, signing);
		const text = JSON.stringify(manifest);
		const written = await this.#store.putNew(key, text, "application/json");
		const own = { manifest, key, signing };
		return written === "created"
			? own
			: ((await this.newest(manifest.run)) ?? own);
	}
}
