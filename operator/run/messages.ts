import type { Run, RunStatus } from "../../crds/generated/types.ts";
import { rowsText } from "../../crds/run.ts";
import { otherTypesTableOf, rescuedColumn } from "../../crds/table-name.ts";
import { unfitColumns, unfitText } from "../../crds/unfit-values.ts";
import { addDays } from "../../packages/contracts/utc-date.ts";

/** What a Run loads, and into which table if that is given. */
export function loadingMessage({ status }: Run, table?: string): string {
	const { dates, dateCount } = status ?? {};
	const into = table === undefined ? "" : ` into table "${table}"`;
	if (!dates)
		return `Loading no days${into}: the Source has no events in the Run's dates.`;
	const { start, end } = dates;
	const hasGaps =
		dateCount !== undefined && addDays(start, dateCount - 1) < end;
	const count = hasGaps ? `${dateCount} dates of ` : "";
	return `Loading ${count}${start} to ${end}${into}.`;
}

/** A Run that finds nothing succeeds, and people then look for their events. */
export function loadedMessage(status: RunStatus): string {
	const { rows = 0, addedRows, dates, repairedDates = [], otherRows } = status;
	const isPart = addedRows !== undefined && addedRows < rows;
	const why =
		rows > 0
			? isPart
				? `, ${addedRows} of them new`
				: ""
			: dates
				? `: the Source has no events of ${dates.start} to ${dates.end}`
				: ": the Source has no events";
	const repaired =
		repairedDates.length === 0
			? ""
			: ` Somebody had changed rows of ${listed(repairedDates)} in the table: loaded again.`;
	const kept =
		otherRows === undefined
			? ""
			: ` The table keeps ${rowsText(otherRows)} of other dates${dates ? `, outside ${dates.start} to ${dates.end}` : ""}.`;
	const unfit = unfitText(unfitColumns(status));
	const others = status.otherTypes
		? ` Put ${rowsText(status.otherTypes.rows)} of ${status.otherTypes.types} more types of events into table "${otherTypesTableOf(status.layout!.table)}": spec.table.maxEventTypes types of the Pipeline have a table.`
		: "";
	const { rescuedRows } = status;
	const rescued = rescuedRows
		? ` What no other column holds of ${rowsText(rescuedRows)} is in "${rescuedColumn}".`
		: "";
	return `Loaded ${rowsText(rows)}${why}.${repaired}${kept}${others}${rescued}${unfit && ` ${unfit}`}`;
}

const mostListed = 5;

function listed(dates: readonly string[]): string {
	const more = dates.length - mostListed;
	return `${dates.slice(0, mostListed).join(", ")}${more > 0 ? ` and ${more} more dates` : ""}`;
}
