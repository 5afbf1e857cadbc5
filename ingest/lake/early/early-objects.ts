import type { SourceName } from "../../../packages/bucket/object-keys.ts";
import type { Store } from "../../../packages/bucket/object-store.ts";
import type {
	ManifestDate,
	ManifestObject,
} from "../../../packages/contracts/manifest.ts";
import type { UtcDate } from "../../../packages/contracts/utc-date.ts";
import { mapConcurrently } from "../../../packages/fair/fair-limit.ts";
import type { IndexedObject } from "../../archive/ledger/date-objects.ts";
import type { UncutFiles } from "../../archive/read/uncut-work.ts";
import { earlyName } from "../../wire/object-name.ts";
import type { CutsHeld } from "../request/shares.ts";

/** How much of {@link earlyDays} a manifest counts on: Runs that begin then still read them. */
const namedForMs = 24 * 3_600_000;

/** An early object that a manifest names; without its link and its place. */
export type StoredEarly = Omit<ManifestObject, "url"> & { date: UtcDate };

/** What a manifest has: of the cuts, and of what was in none. */
export interface ManifestContents {
	cuts: CutsHeld;
	early: StoredEarly[];
}

/** As the bucket has it: streams, and one name that none has. */
export function contentsText({ cuts, early }: ManifestContents): string {
	return JSON.stringify({ ...cuts, ...(early.length > 0 && { early }) });
}

export function readContents(text: string): ManifestContents {
	const { early = [], ...cuts } = JSON.parse(text);
	return { cuts, early };
}

/**
 * What Runs got of a source before its cut: events that are in the lake later, in objects of cuts. Here they stay for a few
 * days, for the Runs alone. No ledger counts them and no reader of the lake finds them.
 */
export class EarlyObjects {
	readonly #store: Store;

	constructor(store: Store) {
		this.#store = store;
	}

	/** Stores the events, an object for each date. */
	write(source: SourceName, early: UncutFiles): Promise<StoredEarly[]> {
		return mapConcurrently(early.files, 2, async ({ date, rows, body }) => {
			const folder = { ...source, date };
			const key = this.#store.keys.early(folder, earlyName({ ...early, rows }));
			const type = "application/vnd.apache.parquet";
			const written = await this.#store.putNew(key, body, type);
			if (written === "created") return { date, key, rows, bytes: body.length };
			// Another version has made the same rows into another file.
			return { date, key, rows, bytes: (await this.#bytesOf(key))! };
		});
	}

	/** The day with its early objects, and those that the former Run's manifest had. */
	async withEarly(
		day: ManifestDate,
		own: readonly StoredEarly[],
		former: readonly StoredEarly[],
		linkSeconds: number,
	): Promise<ManifestDate> {
		const link = (all: readonly StoredEarly[]) =>
			mapConcurrently(
				all.filter(({ date }) => date === day.date),
				1,
				async ({ date: _, ...object }) => ({
					...object,
					url: await this.#store.presign(object.key, linkSeconds),
				}),
			);
		const objects = await link(own);
		const isOwn = new Set(objects.map(({ key }) => key));
		const earlier = await link(former.filter(({ key }) => !isOwn.has(key)));
		return {
			...day,
			rows: objects.reduce((sum, { rows }) => sum + rows, day.rows),
			objects: [...day.objects, ...objects],
			...(earlier.length > 0 && { earlier }),
		};
	}

	isEarly(key: string): boolean {
		return key.startsWith(this.#store.keys.allEarly());
	}

	async isStored(key: string): Promise<boolean> {
		return (await this.#bytesOf(key)) !== undefined;
	}

	async #bytesOf(key: string): Promise<number | undefined> {
		for await (const found of this.#store.list(key)) return found.bytes;
		return undefined;
	}
}

/** Whether the early objects of a Run of this time are there for long enough to name them. */
export function areKept(sinceMs: number, nowMs: number): boolean {
	return nowMs - sinceMs < namedForMs;
}

/** The objects of cuts that have no event of these in them: the ledger may have learned more cuts meanwhile. */
export function beforeEarly(
	early: UncutFiles | undefined,
	objects: IndexedObject[] | undefined,
): IndexedObject[] | undefined {
	return early
		? objects?.filter(
				({ stream, first }) => stream !== early.stream || first < early.first,
			)
		: objects;
}

/** The cuts that a manifest with these events has. */
export function cutsBeforeEarly(
	early: UncutFiles | undefined,
	held: CutsHeld,
): CutsHeld {
	const newest = early && held[early.stream];
	return newest === undefined
		? held
		: { ...held, [early!.stream]: Math.min(newest, early!.first - 1) };
}
