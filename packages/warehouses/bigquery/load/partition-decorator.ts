import type { UtcDate } from "../../../contracts/utc-date.ts";

/**
 * The id of one day's partition, `table$YYYYMMDD`
 * (cloud.google.com/bigquery/docs/managing-partitioned-table-data#write-partition): a load job that truncates it replaces
 * that day alone, and deleting it deletes that day alone.
 */
export function partitionOf(table: string, date: UtcDate): string {
	return `${table}$${date.replaceAll("-", "")}`;
}

/** Whether a table id names a partition. */
export function isPartition(tableId: string): boolean {
	return tableId.includes("$");
}
