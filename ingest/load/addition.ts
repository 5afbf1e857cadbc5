import type { ManifestObject } from "../../packages/contracts/manifest.ts";
import {
	addUnfit,
	type HeldDate,
	nameOf,
	rowsOf,
} from "../../packages/warehouses/load/load-day.ts";
import { outputName } from "../wire/object-name.ts";
import type { DateAddition, DateStep, Difference } from "./steps/step.ts";

/** A date, of which a table may hold a part. */
export interface WantedDate {
	objects: readonly ManifestObject[];
	/** What the ledger says that the table must have. Absent if it can't say. */
	rows?: number;
	steps?: readonly DateStep[];
}

/**
 * What a table lacks of a date; undefined if the date must be replaced, because the table doesn't hold exactly the rows of
 * recorded objects, or a recorded object is gone that neither a step nor a compaction explains.
 */
export function additionTo(
	{ objects, rows, steps = [] }: WantedDate,
	held: HeldDate,
): DateAddition | undefined {
	if (held.isFilledOtherwise || isChangedByOthers(held)) return undefined;
	const recorded = new Set(held.loads.flatMap((load) => load.objects));
	const deciding = steps.flatMap(({ deciding = [] }) => deciding);
	if (objects.length > 0 && !deciding.every((name) => recorded.has(name)))
		return undefined;
	const named = new Set([...objects.map(nameOf), ...deciding]);
	const gone = [...recorded].filter((name) => !named.has(name)).sort();
	const explained = [...steps, inputsOfOutputs].reduce<Difference | undefined>(
		(difference, { explain }) =>
			difference && explain ? explain(difference) : difference,
		{
			gone,
			added: objects.filter((object) => !recorded.has(nameOf(object))),
			without: [],
			renamed: [],
		},
	);
	if (!explained || explained.gone.length > 0) return undefined;
	const { added, without, renamed } = explained;
	const more = rowsOf(added) - rowsOf(without);
	if (rows !== undefined && held.rows + more !== rows) return undefined;
	const isNew = new Set(added.map(nameOf));
	return {
		objects: added,
		...(without.length > 0 && { without }),
		kept: {
			rows: held.rows,
			unfit: addUnfit(held.loads.map((load) => load.unfit)),
			held,
			...(gone.length > 0 && {
				renamed: [...named].filter(
					(name) => !isNew.has(name) || renamed.includes(name),
				),
			}),
		},
	};
}

/** The name of an object that was made of others derives from theirs. */
const inputsOfOutputs: DateStep = {
	explain({ gone, added, ...difference }) {
		let left = gone;
		const others = added.filter((object) => {
			const inputs = inputsAmong(left, object);
			if (inputs) left = left.filter((name) => !inputs.includes(name));
			return !inputs;
		});
		return { ...difference, gone: left, added: others };
	},
};

/**
 * The names of the objects that a compaction made this one of, if all of them are among `names`, one after the other.
 * @param names sorted.
 */
export function inputsAmong(
	names: readonly string[],
	object: ManifestObject,
): readonly string[] | undefined {
	const { inputs = 0 } = object;
	if (inputs === 0) return undefined;
	for (let at = 0; at + inputs <= names.length; at++) {
		const some = names.slice(at, at + inputs);
		if (outputName(some) === nameOf(object)) return some;
	}
	return undefined;
}

/** Whether a date holds other rows than loads have put there: somebody has deleted, inserted or changed some. */
export function isChangedByOthers(held: HeldDate): boolean {
	const { rows, digest, loadedDigest, loads } = held;
	const loaded = loads.reduce((sum, load) => sum + load.rows, 0);
	return rows !== loaded || digest !== loadedDigest;
}
