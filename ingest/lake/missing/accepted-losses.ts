import type {
	ObjectKeys,
	SourceName,
} from "../../../packages/bucket/object-keys.ts";
import type { Store } from "../../../packages/bucket/object-store.ts";
import type { LostByDate } from "../../../packages/contracts/ledger.ts";
import type { UtcDate } from "../../../packages/contracts/utc-date.ts";
import { mapConcurrently } from "../../../packages/fair/fair-limit.ts";
import { aboutKind, objectKinds, ofKind } from "../../wire/object-kinds.ts";
import { requireVersion } from "../request/requirements.ts";

/** A date of a source. */
export interface SourceDate extends SourceName {
	date: UtcDate;
}

/** An object that records name. */
export interface NamedObject {
	folder: string;
	name: string;
	rows: number;
}

/** A person's word that objects are gone for good. An object that comes back counts again. */
export interface AcceptedLoss extends SourceDate {
	version: 1;
	/** RFC 3339. */
	time: string;
	objects: NamedObject[];
}

const readsAtOnce = 8;

/** The records of a date are numbered from 1, and none is ever changed. Nobody reads them unless an object is missing. */
export class AcceptedLosses {
	readonly #store: Store;

	constructor(store: Store) {
		this.#store = store;
	}

	async add(loss: AcceptedLoss): Promise<void> {
		const { keys } = this.#store;
		const listed = this.#store.list(keys.acceptedLossesOfDate(loss));
		let number = (await Array.fromAsync(listed)).length;
		const text = JSON.stringify(loss);
		const put = (key: string) =>
			this.#store.putNew(key, text, "application/json");
		while ((await put(keys.acceptedLoss(loss, ++number))) === "exists");
	}

	/** Whether the loss of an object of the date, by its key, is accepted. */
	async of(dated: SourceDate): Promise<(key: string) => boolean> {
		const { keys } = this.#store;
		const records = await this.#read(keys.acceptedLossesOfDate(dated));
		return isIn(keys, dated, records);
	}

	/** How many records there are, by the folders of their dates. */
	async folders(): Promise<Map<string, number>> {
		const listed = this.#store.list(this.#store.keys.allAcceptedLosses());
		const found = new Map<string, number>();
		for await (const { key } of listed) {
			const folder = key.slice(0, key.lastIndexOf("/") + 1);
			found.set(folder, 1 + (found.get(folder) ?? 0));
		}
		return found;
	}

	/** Those of the date's objects that are there, or whose loss nobody has accepted. @param folder of all these keys. */
	async without(
		dated: SourceDate,
		folder: string,
		keys: readonly string[],
	): Promise<string[]> {
		const records = await this.#read(
			this.#store.keys.acceptedLossesOfDate(dated),
		);
		if (records.length === 0) return [...keys];
		const isAccepted = isIn(this.#store.keys, dated, records);
		const there = new Set<string>();
		for await (const { key } of this.#store.list(folder)) there.add(key);
		return keys.filter((key) => there.has(key) || !isAccepted(key));
	}

	/** How much is lost of which dates. */
	async ofSource(source: SourceName): Promise<LostByDate> {
		const { keys } = this.#store;
		const records = await this.#read(keys.acceptedLossesOfSource(source));
		const lost: LostByDate = {};
		for (const [date, ofDate] of Map.groupBy(records, ({ date }) => date)) {
			const objects = objectsOf(ofDate);
			const events = objects.reduce((sum, { rows }) => sum + rows, 0);
			lost[date] = { events, objects: objects.length };
		}
		return lost;
	}

	async #read(prefix: string): Promise<AcceptedLoss[]> {
		const listed = await Array.fromAsync(this.#store.list(prefix));
		const found = await mapConcurrently(
			listed,
			readsAtOnce,
			async ({ key }) => {
				const text = await this.#store.get(key);
				return text === undefined
					? []
					: [
							requireVersion<AcceptedLoss>(
								JSON.parse(text),
								`The record ${key}`,
							),
						];
			},
		);
		return found.flat();
	}
}

function isIn(
	keys: ObjectKeys,
	dated: SourceDate,
	records: readonly AcceptedLoss[],
): (key: string) => boolean {
	const named = new Set(
		objectsOf(records).map((object) => keyOf(keys, dated, object)),
	);
	return (key) => named.has(key);
}

/** Each once. */
function objectsOf(records: readonly AcceptedLoss[]): NamedObject[] {
	const all = records.flatMap(({ objects }) => objects);
	return [
		...new Map(all.map((one) => [`${one.folder}/${one.name}`, one])).values(),
	];
}

/** The folder of a date's objects. */
export function folderOfDate(
	keys: ObjectKeys,
	dated: SourceDate,
	folder: string,
): string {
	const kind = objectKinds.find((kind) => aboutKind(kind).folder === folder);
	return kind === undefined
		? keys.addedOfDate(dated)
		: keys.eventsOfDate(ofKind(dated, kind));
}

export function keyOf(
	keys: ObjectKeys,
	dated: SourceDate,
	{ folder, name }: Pick<NamedObject, "folder" | "name">,
): string {
	return folderOfDate(keys, dated, folder) + name;
}
