import type { ManifestObject } from "../../../packages/contracts/manifest.ts";
import {
	type HeldDate,
	type KeptRows,
	nameOf,
} from "../../../packages/warehouses/load/load-day.ts";
import { outputName } from "../../wire/output-name.ts";
import { addUnfit } from "./unfit-rows.ts";

/** A date of a manifest, of which a table may hold a part. */
export interface WantedDate {
	objects: readonly ManifestObject[];
	/** What the ledger says that the table must have. Absent if it can't say. */
	rows?: number;
	/** Names of the objects that decide which rows of `objects` count. */
	deciding?: readonly string[];
}

/** What to insert beside the rows that stay. No objects: the date hasn't changed. */
export interface Addition {
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
): Addition | undefined {
	const kept = held.loads.reduce((sum, load) => sum + load.rows, 0);
	if (held.rows !== kept) return undefined;
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
