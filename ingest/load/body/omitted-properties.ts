import { rename } from "node:fs/promises";
import type { ValidationRecord } from "../../../packages/contracts/tracking-plan.ts";
import { parquetRows, quoteText } from "../../../packages/duckdb/quoting.ts";
import type { Session } from "../../../packages/duckdb/session.ts";
import type { LoadDay } from "../../../packages/warehouses/load/load-day.ts";
import { withoutProperties } from "./without-properties.ts";

/** In a text of JSON each quotation mark has a backslash, so this is the field's name: see packages/contracts/tracking-plan.ts. */
const omits = `contains(violations, '"omit":')`;

/**
 * Leaves out of the bodies in a day's files what the tracking plan omits. The objects in the bucket keep it. A file without
 * such events stays as it is, and so does every other body.
 */
export async function leaveOutOmitted(
	day: LoadDay,
	session: Session,
): Promise<void> {
	if (day.rows === 0) return;
	session.define("without_omitted", withoutOmitted);
	const files = day.objects.map(({ file }) => file);
	const found = await session.rows<{ filename: string }>(
		`SELECT DISTINCT filename FROM ${parquetRows(files, { filename: true })} WHERE ${omits}`,
	);
	for (const { filename } of found) {
		const made = `${filename}.omitted`;
		await session.run(
			`COPY (SELECT * REPLACE (CASE WHEN ${omits} THEN without_omitted(body, violations) ELSE body END AS body)` +
				` FROM ${parquetRows([filename])}) TO ${quoteText(made)} (FORMAT parquet)`,
		);
		await rename(made, filename);
	}
}

function withoutOmitted(body: string, violations: string): string {
	const { omit = [] }: Partial<ValidationRecord> = JSON.parse(violations);
	return withoutProperties(body, omit);
}
