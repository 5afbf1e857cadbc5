import { cutOfName } from "../../../packages/bucket/object-keys.ts";
import type { Store } from "../../../packages/bucket/object-store.ts";
import type { UtcDate } from "../../../packages/contracts/utc-date.ts";
import type { IndexedObject } from "../../archive/ledger/date-objects.ts";
import type { IndexedSource } from "../../archive/ledger/ledger-index.ts";
import { type ObjectKind, ofKind } from "../../wire/object-kinds.ts";
import { nameIn } from "../../wire/object-name.ts";
import type { StoredAddition } from "../addition/addition-store.ts";
import {
	type Replacements,
	type ReplacingObject,
	visibleObjects,
} from "../objects/replacements.ts";

/** A source and the objects of its dates. */
export type ArchivedSource = Pick<
	IndexedSource,
	"account" | "sourceKey" | ObjectKind
>;

/** An object with events of one source and date. */
export interface EventObject {
	key: string;
	/** In the date's folder. */
	name: string;
	date: UtcDate;
	kind: ObjectKind;
	/** Of the latest cut that has rows in it. */
	stream: string;
	first: number;
	/** Where the earliest of its cuts in that stream begins. In quarantine, the cuts of an object are of one stream. */
	from: number;
	/** Whether it has the rows of that cut alone. */
	isOfOneCut: boolean;
	/** The cuts that a compacted object has the rows of, in their order. Absent where 0.1 compacted it. */
	cuts?: CutOfRows[];
	/** When an Import added it: `stream` and `first` are those of its record. Absent for events that were received. */
	importedMs?: number;
}

/** A cut, and when its first and last row of an object were received. */
export interface CutOfRows {
	stream: string;
	first: number;
	fromMs: number;
	toMs: number;
}

/** Finds the objects that have each event once, as manifests do. */
export class SourceObjects {
	readonly #store: Store;
	readonly #replaced: Pick<Replacements, "of">;

	constructor(store: Store, replaced: Pick<Replacements, "of">) {
		this.#store = store;
		this.#replaced = replaced;
	}

	/** In the order of their cuts; a compacted object stands where its latest cut is. */
	async ofDate(
		source: ArchivedSource,
		date: UtcDate,
		kind: ObjectKind,
	): Promise<EventObject[]> {
		const { account, sourceKey } = source;
		const group = ofKind({ account, sourceKey, date }, kind);
		const ofDates = source[kind];
		if (!ofDates.has(date)) return [];
		// Before and after the record, as for a manifest.
		const unreplaced = [...(ofDates.get(date) ?? [])];
		const record = await this.#replaced.of(group);
		const all = record ? [...(ofDates.get(date) ?? [])] : unreplaced;
		const folder = this.#store.keys.eventsOfDate(group);
		const nameOf = ({ stream, first }: IndexedObject) =>
			this.#store.keys.events(group, stream, first).slice(folder.length);
		const { originals, outputs } = visibleObjects(all, nameOf, record);
		const outputOf = new Map<string, ReplacingObject>();
		for (const output of outputs)
			for (const input of output.inputs) outputOf.set(input, output);
		const visible = new Set(originals);
		const objects = new Map<string, EventObject>();
		for (const each of all) {
			const own = nameOf(each);
			const output = visible.has(each) ? undefined : outputOf.get(own);
			const name = output?.name ?? own;
			// The latest of its cuts decides where it stands.
			const earlier = objects.get(name);
			objects.delete(name);
			const { stream, first } = each;
			const isOfSame = earlier?.stream === stream;
			const from = isOfSame
				? earlier.from
				: output
					? firstOf(output, stream)
					: first;
			const place = { stream, first, from, isOfOneCut: !output };
			const cuts = earlier?.cuts ?? (output && cutsOf(output));
			const key = folder + name;
			objects.set(name, {
				...{ key, name, date, kind, ...place },
				...(cuts && { cuts }),
			});
		}
		return [...objects.values()];
	}
}

/** Inputs are in the order of their cuts. */
function firstOf({ inputs }: ReplacingObject, stream: string): number {
	const input = inputs.find((name) => cutOfName(name).stream === stream);
	return cutOfName(input!).first;
}

function cutsOf({
	inputs,
	inputTimes,
}: ReplacingObject): CutOfRows[] | undefined {
	return inputTimes?.map(([fromMs, toMs], at) => ({
		...cutOfName(inputs[at]!),
		...{ fromMs, toMs },
	}));
}

/** The objects of Imports that these records name. */
export function importedObjects(
	additions: readonly StoredAddition[],
): EventObject[] {
	return additions
		.filter(({ record }) => record.imported)
		.map(({ record: { key, date, stream, first }, timeMs }) => ({
			key,
			name: nameIn(key),
			date,
			kind: "objects",
			stream,
			first,
			from: first,
			isOfOneCut: false,
			importedMs: timeMs,
		}));
}
