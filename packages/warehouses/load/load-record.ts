import { createHash } from "node:crypto";
import type { LoadInput } from "../../contracts/job.ts";
import type { Manifest } from "../../contracts/manifest.ts";
import { addDays, type UtcDate, utcDate } from "../../contracts/utc-date.ts";
import type { TableMark } from "./table-mark.ts";

/* What the records of all types of warehouse have alike: which objects a date's rows come from. */

/**
 * ClickHouse forgets loads of such a date, which is replaced when a Run comes back to it. DuckDB and Postgres remember, but earlier builds didn't
 * there.
 */
export const recordedDays = 35;

/** The first date of which a load is remembered. */
export function oldestRecorded({
	snapshotTime,
}: Pick<Manifest, "snapshotTime">): UtcDate {
	return addDays(utcDate(Date.parse(snapshotTime)), -recordedDays);
}

/**
 * The record that the table's mark names, or a new one if that is about another Source, or about columns that were filled
 * in another way, or about events of another filter; undefined for a full reload, which replaces the table.
 *
 * @param filling How the columns are filled.
 */
export function recordNameOf(
	{ strategy, filter }: Pick<LoadInput, "strategy" | "filter">,
	{ sourceKey, run }: Pick<Manifest, "sourceKey" | "run">,
	mark: TableMark | undefined,
	filling: readonly unknown[],
): string | undefined {
	if (strategy !== "Incremental") return undefined;
	const content = createHash("sha256")
		.update(
			JSON.stringify([sourceKey, ...filling, ...(filter ? [filter] : [])]),
		)
		.digest("hex")
		.slice(0, 16);
	return mark?.record?.startsWith(content) ? mark.record : `${content}-${run}`;
}
