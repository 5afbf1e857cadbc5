import { randomUUID } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { SourceName } from "../../../packages/bucket/object-keys.ts";
import type { Store } from "../../../packages/bucket/object-store.ts";
import { logSizes, maxResultBytes } from "../../../packages/contracts/job.ts";
import {
	type Manifest,
	type ManifestDate,
	maxReportBytes,
} from "../../../packages/contracts/manifest.ts";
import {
	importPartBytes,
	maxImportParts,
} from "../../../packages/contracts/transfer.ts";
import type { UtcDate } from "../../../packages/contracts/utc-date.ts";
import { mapConcurrently } from "../../../packages/fair/fair-limit.ts";
import { manifestText, readManifestText } from "../../wire/manifest-text.ts";
import { RequestFailure } from "../request/errors.ts";
import type { ManifestObjects } from "./manifest-objects.ts";

/** All of a manifest but its dates, which are too much for memory. */
export type ManifestHead = Omit<Manifest, "dates">;

/** Without the links for what the Job leaves, which each signing has its own of. Its dates are made one by one. */
export type UnsignedManifest = Omit<
	Manifest,
	"result" | "logs" | "report" | "imports" | "dates"
> & {
	/** Whether the Job leaves a report. */
	report?: unknown;
	/** The files of an Import. */
	imports?: { files: { sha256: string; bytes: number }[] };
	dates: AsyncIterable<ManifestDate>;
};

/** A manifest in the bucket. */
export interface SignedManifest {
	manifest: ManifestHead;
	named: NamedDates;
	key: string;
	/** Which of the Run's manifests it is, from 1. */
	signing: number;
}

/** How much a manifest names. */
export interface NamedDates {
	/** Ascending. */
	dates: UtcDate[];
	rows: number;
	objects: number;
	bytes: number;
}

export interface ManifestStoreOptions {
	store: Store;
	/** A folder for files. */
	scratch: string;
}

/**
 * The manifests of Runs. What a Run loads is decided once, for all its attempts. When the links are about to expire, a
 * further object holds new links to the same events. Only a Run that needs the whole window gets other events, once.
 * Memory holds some dates of a manifest; the whole stands in a file.
 */
export class ManifestStore {
	readonly #store: Store;
	readonly #scratch: string;
	readonly #objects: ManifestObjects;

	constructor(
		{ store, scratch }: ManifestStoreOptions,
		objects: ManifestObjects,
	) {
		this.#store = store;
		this.#scratch = scratch;
		this.#objects = objects;
	}

	/** The Run's manifest with its newest links; undefined if it has none yet. */
	async newest(run: string): Promise<SignedManifest | undefined> {
		let newest: SignedManifest | undefined;
		for (let signing = 1; ; signing++) {
			const key = this.#store.keys.run(run, signing);
			const found = await this.#read(key);
			if (found === undefined) return newest;
			newest = { ...found, key, signing };
		}
	}

	/** The dates of a manifest, ascending. */
	async *datesOf({ key }: SignedManifest): AsyncGenerator<ManifestDate> {
		await using file = await this.#newFile();
		if ((await this.#store.getFile(key, file.path)) === undefined)
			throw new Error(`S3: ${key} existed and is gone. Trying again.`);
		yield* readManifestText<Manifest>(createReadStream(file.path));
	}

	async #read(
		key: string,
	): Promise<Pick<SignedManifest, "manifest" | "named"> | undefined> {
		await using file = await this.#newFile();
		if ((await this.#store.getFile(key, file.path)) === undefined)
			return undefined;
		const named = new DateCounter();
		const days = readManifestText<Manifest>(createReadStream(file.path));
		for (;;) {
			const { done, value } = await days.next();
			if (!done) {
				named.count(value);
				continue;
			}
			const { dates: _, ...manifest } = value;
			return { manifest, named: named.counted };
		}
	}

	async #newFile() {
		await mkdir(this.#scratch, { recursive: true });
		const path = join(this.#scratch, `manifest-${randomUUID()}.json`);
		return {
			path,
			[Symbol.asyncDispose]: () => rm(path, { force: true }),
		};
	}

	/** Writes a Run's manifest after `former`, or returns the one that another archiver wrote first. */
	create(
		manifest: UnsignedManifest,
		former?: SignedManifest,
	): Promise<SignedManifest> {
		return this.#write(manifest, (former?.signing ?? 0) + 1);
	}

	/** Notes what the Run's manifest has, before it is written: then it may have more, and no less. */
	async noteContents(run: string, text: string): Promise<void> {
		const key = this.#store.keys.runThrough(run);
		await this.#store.putNew(key, text, "application/json");
	}

	/** Undefined for a Run of a month ago, or of 0.1. */
	contentsOf(run: string): Promise<string | undefined> {
		return this.#store.get(this.#store.keys.runThrough(run));
	}

	/** The same events with links that live until then. Throws like {@link ManifestObjects.renew}. */
	async renew(
		signed: SignedManifest,
		expiresAtMs: number,
	): Promise<SignedManifest> {
		const { manifest, signing } = signed;
		const seconds = Math.floor((expiresAtMs - Date.now()) / 1000);
		const { account, sourceKey } = manifest;
		const renewed = (day: ManifestDate) =>
			this.#objects.renew({ account, sourceKey, date: day.date }, day, seconds);
		const days = this.datesOf(signed);
		const dates = (async function* () {
			for await (const day of days) yield await renewed(day);
		})();
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
		const { report, imports, dates, ...common } = unsigned;
		const { run, expiresAt } = common;
		const leftMs = Date.parse(expiresAt) - Date.now();
		const sign = (key: string, bytes: number) =>
			this.#store.presignPut(key, bytes, Math.floor(leftMs / 1000));
		const manifest: ManifestHead = {
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
		await using file = await this.#newFile();
		const named = new DateCounter();
		const text = manifestText(manifest, named.counting(dates));
		await pipeline(text, createWriteStream(file.path));
		const type = "application/json";
		const written = await this.#store.putNewFile(key, file.path, type);
		const own = { manifest, named: named.counted, key, signing };
		return written === "created"
			? own
			: ((await this.newest(manifest.run)) ?? own);
	}
}

class DateCounter {
	readonly counted: NamedDates = { dates: [], rows: 0, objects: 0, bytes: 0 };

	count({ date, rows, objects }: ManifestDate): void {
		const { counted } = this;
		counted.dates.push(date);
		counted.rows += rows;
		counted.objects += objects.length;
		for (const { bytes } of objects) counted.bytes += bytes;
	}

	/** The same dates. */
	async *counting(
		dates: AsyncIterable<ManifestDate>,
	): AsyncGenerator<ManifestDate> {
		for await (const day of dates) {
			this.count(day);
			yield day;
		}
	}
}

/** Throws {@link RequestFailure} ManifestTaken if the manifest is of another source than who asks says. */
export function requireOwner(
	{ manifest: { run, account, sourceKey } }: SignedManifest,
	asked: SourceName,
): void {
	if (account !== asked.account || sourceKey !== asked.sourceKey)
		throw new RequestFailure(
			"ManifestTaken",
			`The manifest of Run ${run} belongs to another source`,
			{ internals: `source ${sourceKey} of ${account}` },
		);
}
