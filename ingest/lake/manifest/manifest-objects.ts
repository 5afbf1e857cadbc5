import {
	type DateFolder,
	earlyDays,
} from "../../../packages/bucket/object-keys.ts";
import type { Store } from "../../../packages/bucket/object-store.ts";
import {
	type LostOfDate,
	type ManifestDate,
	type ManifestObject,
	maxLostNames,
	withObjectLists,
} from "../../../packages/contracts/manifest.ts";
import { mapConcurrently } from "../../../packages/fair/fair-limit.ts";
import { objectId } from "../../../packages/service/log.ts";
import type { IndexedObject } from "../../archive/ledger/date-objects.ts";
import { nameIn } from "../../wire/object-name.ts";
import {
	AdditionStore,
	type DateAdditions,
} from "../addition/addition-store.ts";
import { EarlyObjects } from "../early/early-objects.ts";
import { AcceptedLosses, type SourceDate } from "../missing/accepted-losses.ts";
import {
	type Replacements,
	sameEvents,
	visibleObjects,
} from "../objects/replacements.ts";
import type { LakeContext } from "../request/context.ts";
import { RequestFailure } from "../request/errors.ts";

/** Finds the objects of a date that a manifest names: each event is in exactly one of them. */
export class ManifestObjects {
	readonly early: EarlyObjects;
	readonly #store: Store;
	readonly #replaced: Replacements;
	readonly #releases: AdditionStore;
	readonly #acceptedLosses: AcceptedLosses;

	constructor({
		store,
		replaced,
	}: Pick<LakeContext, "replaced"> & { store: Store }) {
		this.#store = store;
		this.early = new EarlyObjects(store);
		this.#replaced = replaced;
		this.#releases = new AdditionStore(store);
		this.#acceptedLosses = new AcceptedLosses(store);
	}

	/**
	 * `objectsOf` returns the objects of all cuts of the date, as the ledger knows them by then. Throws {@link RequestFailure} ObjectMissing
	 * unless a person has accepted that, or LedgerMismatch if the objects hold another number of rows than the ledger says.
	 */
	async ofDate(
		group: DateFolder,
		objectsOf: () => Iterable<IndexedObject> | undefined,
		linkSeconds: number,
	): Promise<ManifestDate> {
		const before = objectsOf();
		if (!before) return { date: group.date, rows: 0, objects: [] };
		const folder = this.#store.keys.eventsOfDate(group);
		const nameOf = ({ stream, first }: IndexedObject) =>
			this.#store.keys.events(group, stream, first).slice(folder.length);
		// The lists are copied because cuts go on.
		const unreplaced = [...before];
		const record = await this.#replaced.of(group);
		// What a record replaces is among the objects that are known after it. Without one, those that were known before count:
		// once it is written, the ledger may forget what it replaced.
		const objects = record ? [...(objectsOf() ?? [])] : unreplaced;
		const rows = sumOf(objects);
		const bytesOf = new Map<string, number>();
		for await (const { key, bytes } of this.#store.list(folder))
			bytesOf.set(key, bytes);
		const { originals, outputs } = visibleObjects(objects, nameOf, record);
		const named: CountedKey[] = [
			...outputs.map(({ name, rows, inputs }) => ({
				key: folder + name,
				rows,
				inputs,
			})),
			...originals.map((original) => ({
				key: folder + nameOf(original),
				rows: original.rows,
			})),
		];
		if (sumOf(named) !== rows)
			throw new RequestFailure(
				"LedgerMismatch",
				`The objects of ${group.date} don't hold the ${rows} events that the ledger says`,
				{ internals: folder },
			);
		const { there, lost } = await this.#divide(group, named, bytesOf, "events");
		return {
			date: group.date,
			rows: sumOf(there),
			objects: await mapConcurrently(there, 1, async (object) => {
				const { key, rows, inputs, bytes } = object;
				const url = await this.#store.presign(key, linkSeconds);
				return {
					...{ key, rows, ...(inputs && { inputs: inputs.length }) },
					...{ url, bytes },
				};
			}),
			...(lost && { lost }),
		};
	}

	/** Those that are there, and what is lost of the others by a person's word. Throws {@link RequestFailure} ObjectMissing without it. */
	async #divide<Named extends CountedKey>(
		dated: SourceDate,
		named: readonly Named[],
		bytesOf: ReadonlyMap<string, number>,
		events: "events" | "released events",
	): Promise<{ there: (Named & { bytes: number })[]; lost?: LostOfDate }> {
		const there: (Named & { bytes: number })[] = [];
		const absent: Named[] = [];
		for (const object of named) {
			const bytes = bytesOf.get(object.key);
			if (bytes === undefined) absent.push(object);
			else there.push({ ...object, bytes });
		}
		if (absent.length === 0) return { there };
		const isAccepted = await this.#acceptedLosses.of(dated);
		const missing = absent.find(({ key }) => !isAccepted(key));
		if (missing)
			throw new RequestFailure(
				"ObjectMissing",
				`The object ${objectId(missing.key)} of ${dated.date} with ${missing.rows} ${events} is not in the bucket`,
				{ internals: missing.key },
			);
		return { there, lost: lostOf(absent) };
	}

	/**
	 * The same events with new links, in the objects that hold them now. Throws {@link RequestFailure} ManifestOutdated if
	 * a compaction has merged them with later events.
	 */
	async renew(
		group: DateFolder,
		date: ManifestDate,
		linkSeconds: number,
	): Promise<ManifestDate> {
		return withObjectLists(date, async ({ objects, folder }) =>
			this.withLinks(
				folder
					? await this.current(
							{ ...group, ...folder },
							{ date: date.date, objects },
						)
					: objects,
				linkSeconds,
			),
		);
	}

	/** The same without links. Throws as {@link renew} does. */
	async current(
		group: DateFolder,
		date: Pick<ManifestDate, "date" | "objects">,
	): Promise<Omit<ManifestObject, "url">[]> {
		const folder = this.#store.keys.eventsOfDate(group);
		const early = date.objects.filter(({ key }) => this.early.isEarly(key));
		const others = date.objects.filter((object) => !early.includes(object));
		for (const { key } of early)
			if (!(await this.early.isStored(key)))
				throw new RequestFailure(
					"ManifestOutdated",
					`The object ${objectId(key)} of ${date.date} that the manifest names was for ${earlyDays} days, and they are over`,
				);
		const record =
			others.length > 0 ? await this.#replaced.of(group) : undefined;
		const same = sameEvents(
			others,
			({ key }) => key.slice(folder.length),
			record,
		);
		if (!same)
			throw new RequestFailure(
				"ManifestOutdated",
				`The objects of ${date.date} that the manifest names were merged with later events`,
			);
		const outputs = same.outputs.map(({ name, rows, bytes, inputs }) => ({
			key: folder + name,
			rows,
			bytes,
			inputs: inputs.length,
		}));
		return [...outputs, ...same.originals, ...early];
	}

	/**
	 * The day with the rows that were released from its quarantine, and those that were imported.
	 * @param only Without the former. Throws {@link RequestFailure} ObjectMissing.
	 */
	async withAdded(
		day: ManifestDate,
		releases: DateAdditions | undefined,
		linkSeconds: number,
		only?: "imported",
	): Promise<ManifestDate> {
		const { objects, lost } = await this.released(releases, linkSeconds, only);
		return {
			...withLost(day, lost),
			rows: day.rows + sumOf(objects),
			objects: [...day.objects, ...objects],
		};
	}

	/** The objects with a day's released rows. Throws {@link RequestFailure} ObjectMissing. */
	async released(
		releases: DateAdditions | undefined,
		linkSeconds: number,
		only?: "imported",
	): Promise<{ objects: ManifestObject[]; lost?: LostOfDate | undefined }> {
		if (!releases) return { objects: [] };
		const all = await this.#releases.read(releases);
		const [first] = all;
		if (!first) return { objects: [] };
		const records = only ? all.filter(({ imported }) => imported) : all;
		const { there, lost } = await this.#divide(
			first,
			records,
			releases.bytesOf,
			"released events",
		);
		const objects = await mapConcurrently(
			there,
			1,
			async ({ key, rows, bytes }): Promise<ManifestObject> => {
				const url = await this.#store.presign(key, linkSeconds);
				return { key, url, rows, bytes, released: true };
			},
		);
		return { objects, lost };
	}

	/** The same objects with new links. */
	withLinks(
		objects: readonly Omit<ManifestObject, "url">[],
		linkSeconds: number,
	): Promise<ManifestObject[]> {
		return mapConcurrently(objects, 1, async (object) => ({
			...object,
			url: await this.#store.presign(object.key, linkSeconds),
		}));
	}
}

/** An object that records name. */
interface CountedKey {
	key: string;
	rows: number;
	inputs?: readonly string[];
}

function lostOf(absent: readonly CountedKey[]): LostOfDate {
	const names = absent.flatMap(({ key, inputs = [] }) => [
		nameIn(key),
		...inputs,
	]);
	return {
		rows: sumOf(absent),
		objects: absent.length,
		names: names.slice(0, maxLostNames),
	};
}

/** The day, which has lost more. */
export function withLost<Day extends Pick<ManifestDate, "lost">>(
	day: Day,
	more: LostOfDate | undefined,
): Day {
	const { lost } = day;
	if (!more) return day;
	if (!lost) return { ...day, lost: more };
	const sum = {
		rows: lost.rows + more.rows,
		objects: lost.objects + more.objects,
		names: [...lost.names, ...more.names].slice(0, maxLostNames),
	};
	return { ...day, lost: sum };
}

function sumOf(objects: readonly { rows: number }[]): number {
	return objects.reduce((sum, { rows }) => sum + rows, 0);
}
