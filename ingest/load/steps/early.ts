import type { ManifestObject } from "../../../packages/contracts/manifest.ts";
import { nameOf, rowsOf } from "../../../packages/warehouses/load/load-day.ts";
import { TableChanged } from "../../../packages/warehouses/load/warehouse.ts";
import { follows, readEarlyName } from "../../wire/object-name.ts";
import {
	type DateStep,
	type DateWords,
	type Difference,
	withoutEventsOf,
} from "./step.ts";

/**
 * A Run may have got events before their cut, in early objects: a table that holds these holds rows of the cut's objects, which stay and
 * are left out of what is added.
 */
export function early({
	date: { date, earlier = [] },
	isBeside,
	input,
}: Omit<DateWords, "manifest">): DateStep | undefined {
	if (isBeside || earlier.length === 0) return undefined;
	return {
		leavesOut: 0,
		explain: (difference) => explain(earlier, difference),
		on: ({ addition, files }) => {
			const { without = [] } = addition ?? {};
			if (without.length === 0) return undefined;
			const rows = rowsOf(without);
			return {
				...withoutEventsOf(files("without", without)),
				leavesOut: rows,
				requireLeftOut: (found) => {
					if (found !== rows)
						throw new TableChanged(
							input.table.name,
							`has events of ${date} that were given early and are in no cut`,
						);
				},
			};
		},
	};
}

/** Of the names that are gone, those of early objects; undefined if no object that is added has all of the events of one. */
function explain(
	earlier: readonly ManifestObject[],
	{ gone, ...difference }: Difference,
): Difference | undefined {
	let { added } = difference;
	const renamed = [...difference.renamed];
	const without = [...difference.without];
	const held = earlier.filter((object) => gone.includes(nameOf(object)));
	for (const object of held) {
		const range = readEarlyName(nameOf(object));
		const later = added.filter((one) => range && follows(nameOf(one), range));
		const rowsLater = rowsOf(later);
		if (later.length === 0 || rowsLater < object.rows) return undefined;
		renamed.push(...later.map(nameOf));
		// They have all of its events, so as many rows are the same ones.
		if (rowsLater === object.rows)
			added = added.filter((one) => !later.includes(one));
		else without.push(object);
	}
	const names = held.map(nameOf);
	return {
		gone: gone.filter((name) => !names.includes(name)),
		added,
		without,
		renamed,
	};
}
