import { dayMs } from "../../../contracts/utc-date.ts";
import type { BigQueryTable, DatasetResource } from "./rest/api.ts";

/**
 * What the dataset's defaults do to tables that Runs create; undefined for nothing
 * (cloud.google.com/bigquery/docs/reference/rest/v2/datasets#Dataset.FIELDS.default_partition_expiration_ms).
 */
export function defaultExpiration({
	defaultTableExpirationMs: table,
	defaultPartitionExpirationMs: partition,
}: DatasetResource): string | undefined {
	if (!table && !partition) return undefined;
	const whole = (what: string) =>
		`deletes ${what}, with all its days, ${daysIn(table)} after it was created`;
	const days = `deletes a day ${daysIn(partition)} after its date`;
	const words = !partition
		? whole("a table")
		: table
			? `${days}, and ${whole("a table without Date").slice("deletes ".length)}`
			: days;
	return `By default expirations of the dataset, BigQuery ${words}. If that isn't wanted, remove them; tables that exist keep theirs.`;
}

/**
 * When BigQuery deletes the table or its days; undefined for never.
 * @param chosenDays what the Pipeline chose, which needs no word.
 */
export function tableExpiration(
	{ expirationTime, timePartitioning }: BigQueryTable,
	chosenDays: number | undefined,
): string | undefined {
	const { expirationMs } = timePartitioning ?? {};
	const isChosen = expirationMs === String((chosenDays ?? 0) * dayMs);
	const found = [
		...(expirationTime
			? [
					`the table on ${new Date(Number(expirationTime)).toISOString().slice(0, 10)}`,
				]
			: []),
		...(expirationMs && !isChosen
			? [`a day ${daysIn(expirationMs)} after its date`]
			: []),
	];
	if (found.length === 0) return undefined;
	return `By an expiration of the table, BigQuery deletes ${found.join(", and ")}.`;
}

function daysIn(ms = "0"): string {
	const days = Math.round((Number(ms) / dayMs) * 10) / 10;
	return days === 1 ? "1 day" : `${days} days`;
}
