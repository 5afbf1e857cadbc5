import {
	maxUnfitColumns,
	maxUnfitExamples,
	type UnfitValues,
} from "../../packages/contracts/job.ts";
import type { ManifestObject } from "../../packages/contracts/manifest.ts";
import {
	type HeldDate,
	type KeptRows,
	nameOf,
	type UnfitCount,
	type UnfitRows,
} from "../../packages/warehouses/load/load-day.ts";
import { outputName } from "../wire/output-name.ts";

/** A date of a manifest, of which a table may hold a part. */
export interface WantedDate {
	objects: readonly ManifestObject[];
	/** What the ledger says that the table must have. Absent if it can't say. */
	rows?: number;
	/** Names of the objects that decide which rows of `objects` count. */
	deciding?: readonly string[];
}

/** What to insert beside the rows that stay. No objects: the date hasn't changed. */
export interface DateAddition {
	objects: ManifestObject[];
	kept: KeptRows;
}

/**
 * What a table lacks of a date; undefined if the date must be replaced, because the table doesn't hold exactly the rows of
 * recorded objects, or a recorded object is gone that no compaction explains.
 */
export function additionTo(
	{ objects, rows, deciding = [] }: WantedDate,
	held: HeldDate,
): DateAddition | undefined {
	if (isChangedByOthers(held)) return undefined;
	const kept = held.rows;
	const recorded = new Set(held.loads.flatMap((load) => load.objects));
	if (objects.length > 0 && !deciding.every((name) => recorded.has(name)))
		return undefined;
	const named = new Set([...objects.map(nameOf), ...deciding]);
	const gone = [...recorded].filter((name) => !named.has(name)).sort();
	const added: ManifestObject[] = [];
	let explained = 0;
	for (const object of objects) {
		if (recorded.has(nameOf(object))) continue;
		const inputs = gone.slice(explained, explained + (object.inputs ?? 0));
		if (inputs.length > 0 && outputName(inputs) === nameOf(object))
			explained += inputs.length;
		else added.push(object);
	}
	if (explained < gone.length) return undefined;
	const more = added.reduce((sum, object) => sum + object.rows, 0);
	if (rows !== undefined && kept + more !== rows) return undefined;
	const isNew = new Set(added.map(nameOf));
	return {
		objects: added,
		kept: {
			rows: kept,
			unfit: addUnfit(held.loads.map((load) => load.unfit)),
			held,
			...(explained > 0 && {
				renamed: [...named].filter((name) => !isNew.has(name)),
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

export function addUnfit(counts: Iterable<UnfitRows>): UnfitRows {
	const sum: Record<string, UnfitCount> = {};
	for (const count of counts)
		for (const [column, { rows, values, eventID = "" }] of Object.entries(
			count,
		)) {
			const before = sum[column];
			// Ids begin with their time.
			const [, latest = ""] = [before?.eventID ?? "", eventID].sort();
			sum[column] = {
				rows: rows + (before?.rows ?? 0),
				values: values + (before?.values ?? 0),
				...(latest !== "" && { eventID: latest }),
			};
		}
	return sum;
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
