import {
	maxUnfitColumns,
	maxUnfitExamples,
	type UnfitValues,
} from "../../packages/contracts/job.ts";
import type { ManifestObject } from "../../packages/contracts/manifest.ts";
import {
	addUnfit,
	type HeldDate,
	type KeptRows,
	nameOf,
	rowsOf,
	type UnfitRows,
} from "../../packages/warehouses/load/load-day.ts";
import { follows, outputName, readEarlyName } from "../wire/object-name.ts";

/** A date of a manifest, of which a table may hold a part. */
export interface WantedDate {
	objects: readonly ManifestObject[];
	/** What the ledger says that the table must have. Absent if it can't say. */
	rows?: number;
	/** Names of the objects that decide which rows of `objects` count. */
	deciding?: readonly string[];
	/** Early objects that the table may hold, whose rows are rows of `objects`. */
	earlier?: readonly ManifestObject[];
}

/** What to insert beside the rows that stay. No objects: the date hasn't changed. */
export interface DateAddition {
	objects: ManifestObject[];
	/** Early objects: the table holds their rows, and they are among those of `objects`. */
	without?: ManifestObject[];
	kept: KeptRows;
}

/**
 * What a table lacks of a date; undefined if the date must be replaced, because the table doesn't hold exactly the rows of
 * recorded objects, or a recorded object is gone that neither a compaction nor the cut of an early object explains.
 */
export function additionTo(
	{ objects, rows, deciding = [], earlier = [] }: WantedDate,
	held: HeldDate,
): DateAddition | undefined {
	if (isChangedByOthers(held)) return undefined;
	const kept = held.rows;
	const recorded = new Set(held.loads.flatMap((load) => load.objects));
	if (objects.length > 0 && !deciding.every((name) => recorded.has(name)))
		return undefined;
	const named = new Set([...objects.map(nameOf), ...deciding]);
	const early = earlier.filter(
		(object) => recorded.has(nameOf(object)) && !named.has(nameOf(object)),
	);
	const isEarly = new Set(early.map(nameOf));
	const gone = [...recorded]
		.filter((name) => !named.has(name) && !isEarly.has(name))
		.sort();
	let added: ManifestObject[] = [];
	let explained = 0;
	for (const object of objects) {
		if (recorded.has(nameOf(object))) continue;
		const inputs = gone.slice(explained, explained + (object.inputs ?? 0));
		if (inputs.length > 0 && outputName(inputs) === nameOf(object))
			explained += inputs.length;
		else added.push(object);
	}
	if (explained < gone.length) return undefined;
	const without: ManifestObject[] = [];
	/** Objects with rows that the table holds from early ones. */
	const holding = new Set<string>();
	for (const object of early) {
		const range = readEarlyName(nameOf(object));
		const later = added.filter((one) => range && follows(nameOf(one), range));
		const rowsLater = rowsOf(later);
		for (const one of later) holding.add(nameOf(one));
		if (later.length === 0 || rowsLater < object.rows) return undefined;
		// They have all of its events, so as many rows are the same ones.
		if (rowsLater === object.rows)
			added = added.filter((one) => !later.includes(one));
		else without.push(object);
	}
	const more = rowsOf(added) - rowsOf(without);
	if (rows !== undefined && kept + more !== rows) return undefined;
	const isNew = new Set(added.map(nameOf));
	return {
		objects: added,
		...(without.length > 0 && { without }),
		kept: {
			rows: kept,
			unfit: addUnfit(held.loads.map((load) => load.unfit)),
			held,
			...(explained + early.length > 0 && {
				renamed: [...named].filter(
					(name) => !isNew.has(name) || holding.has(name),
				),
			}),
		},
	};
}

/** Whether a date holds other rows than loads have put there: somebody has deleted, inserted or changed some. */
export function isChangedByOthers(held: HeldDate): boolean {
	const { rows, digest, loadedDigest, loads } = held;
	const loaded = loads.reduce((sum, load) => sum + load.rows, 0);
	return rows !== loaded || digest !== loadedDigest;
}

/** For a Job's result: the columns with such values. */
export function unfitValues(count: UnfitRows): UnfitValues[] {
	return Object.entries(count)
		.map(([column, counted]) => ({ column, ...counted }))
		.filter(({ rows }) => rows > 0)
		.sort((a, b) => b.rows - a.rows)
		.slice(0, maxUnfitColumns)
		.map(({ eventID, ...counted }, index) =>
			eventID === undefined || index >= maxUnfitExamples
				? counted
				: { ...counted, eventID },
		);
}

/** How many rows of a day a Run inserts, or an earlier attempt of it that died before it could say so has. */
export function addedRows(
	run: string,
	{ rows, kept }: { rows: number; kept?: KeptRows },
): number {
	const { loads = [] } = kept?.held ?? {};
	return loads.reduce(
		(sum, load) => sum + (load.run === run ? load.rows : 0),
		rows,
	);
}
