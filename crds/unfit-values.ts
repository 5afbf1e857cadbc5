import type { RunStatus } from "./generated/types.ts";

/**
 * From this share of a column's values on, something has changed; below it are the odd values that a public webhook always
 * gets. Missing values don't count, so a column that few events have isn't hidden by the others.
 */
const unfitShare = 0.01;

/** What Runs say about a column whose values don't fit. */
interface UnfitColumn {
	column: string;
	rows: number;
	values: number;
	eventID?: string;
}

/** The columns of a Run of which too many values don't fit, those with the largest share first. */
export function unfitColumns({ unfitValues = [], rows = 0 }: RunStatus) {
	const share = ({ rows, values }: UnfitColumn) => rows / values;
	return unfitValues
		.map((unfit): UnfitColumn => ({ ...unfit, values: unfit.values ?? rows }))
		.filter((column) => share(column) >= unfitShare)
		.sort((a, b) => share(b) - share(a) || b.rows - a.rows);
}

/** What doesn't fit, in a sentence without a value of any event. */
export function unfitText([worst, ...others]: readonly UnfitColumn[]): string {
	if (!worst) return "";
	const { column, rows, values, eventID } = worst;
	const percent = Math.max(1, Math.floor((rows / values) * 100));
	const example =
		eventID === undefined ? "" : `, such as that of event ${eventID}`;
	const more =
		others.length === 0
			? ""
			: ` So it is with ${others.map((other) => `"${other.column}"`).join(", ")}.`;
	return `${rows} of ${values} values of column "${column}" (${percent} %) don't fit its type${example}.${more}`;
}
