import { randomBytes } from "node:crypto";
import { stat } from "node:fs/promises";
import type { ReleaseFilter } from "../../../contracts/release.ts";
import { Rewriter } from "../compaction/rewriter.ts";
import { mapConcurrently } from "../concurrency/map-concurrently.ts";
import type { IndexedObject } from "../ledger/date-objects.ts";
import { RequestFailure } from "../request/errors.ts";
import type { DateFolder, ObjectKeys } from "../s3/object-keys.ts";
import type { FileStore, ObjectStore } from "../s3/object-store.ts";
import { filterSql } from "./filter-sql.ts";
import { ReleaseStore } from "./release-store.ts";

/** Each manifest reads the records of its dates. */
const maxReleasesOfDate = 100;

export interface DateReleaseOptions {
	store: ObjectStore & FileStore;
	keys: ObjectKeys;
	scratch: string;
	/** Settles before anything is written. Throws if the source is deleted. */
	idle(): Promise<void>;
	signal: AbortSignal;
}

/**
 * Makes events in quarantine rows of their date, with their ids and times. It copies what archive itself wrote, and the
 * filter only compares texts: no stranger's schema and no stranger's file comes into archive.
 */
export class DateRelease {
	readonly #options: DateReleaseOptions;
	readonly #releases: ReleaseStore;

	constructor(options: DateReleaseOptions) {
		this.#options = options;
		this.#releases = new ReleaseStore(options.store, options.keys);
	}

	/**
	 * Returns how many events the Operation has released, now or before. Throws {@link RequestFailure} ReleasesTooMany or
	 * ObjectMissing.
	 * @param objects of the date in quarantine.
	 */
	async run(
		folder: DateFolder,
		operation: string,
		filter: ReleaseFilter,
		objects: readonly IndexedObject[],
	): Promise<number> {
		const { scratch, signal } = this.#options;
		const rewriter = await Rewriter.open(scratch, signal);
		try {
			const files = await this.#download(
				rewriter,
				objects.map(({ stream, first }) =>
					this.#options.keys.events(
						{ ...folder, quarantined: true },
						stream,
						first,
					),
				),
			);
			for (;;) {
				const rows = await this.#try(
					rewriter,
					folder,
					operation,
					filterSql(filter),
					files,
				);
				if (rows !== undefined) return rows;
			}
		} finally {
			await rewriter.close();
		}
	}

	/** Undefined if another release came first. */
	async #try(
		rewriter: Rewriter,
		folder: DateFolder,
		operation: string,
		condition: string,
		files: string[],
	): Promise<number | undefined> {
		const { store, keys, idle } = this.#options;
		const { account, sourceKey, date } = folder;
		const before = await this.#releases.ofDate(folder);
		const own = before.find((record) => record.operation === operation);
		if (own) return own.rows;
		if (before.length >= maxReleasesOfDate)
			throw new RequestFailure(
				"ReleasesTooMany",
				`Events of ${date} were released ${before.length} times`,
			);
		const released = await this.#download(
			rewriter,
			before.map(({ key }) => key),
		);
		const file = await rewriter.select(files, condition, released);
		const [found] = await rewriter.contents([file]);
		const rows = found!.rows;
		if (rows === 0) return 0;
		await idle();
		const number = before.length + 1;
		const key = keys.released(folder, number, randomBytes(8).toString("hex"));
		await store.putNewFile(key, file, "application/vnd.apache.parquet");
		const { size: bytes } = await stat(file);
		const decided = await this.#releases.decide(number, {
			version: 1,
			account,
			sourceKey,
			date,
			operation,
			key,
			rows,
			bytes,
		});
		if (decided === key) return rows;
		// Nobody names it. If this fails, it goes with its date.
		await store.remove([key]);
		return undefined;
	}

	#download(rewriter: Rewriter, keys: string[]): Promise<string[]> {
		const { store } = this.#options;
		return mapConcurrently(keys, 8, async (key) => {
			const file = rewriter.newFile();
			if ((await store.getFile(key, file)) === undefined)
				throw new RequestFailure(
					"ObjectMissing",
					`The object ${key} is not in the bucket`,
				);
			return file;
		});
	}
}
