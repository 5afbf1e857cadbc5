import { parquetRows, quoteText } from "../../../packages/duckdb/quoting.ts";
import type { Session } from "../../../packages/duckdb/session.ts";
import { objectId } from "../../../packages/service/withheld.ts";
import { JobFailure } from "../../../packages/warehouses/load/failure.ts";
import {
	type LoadDay,
	rowsOf,
} from "../../../packages/warehouses/load/load-day.ts";

/**
 * Checks a day's downloaded objects against the manifest: each object's footer has its number of rows, all event ids
 * differ, and all events have the day's date. Throws {@link JobFailure} ObjectMismatch.
 */
export async function checkObjects(
	day: LoadDay,
	session: Session,
): Promise<void> {
	try {
		await checkFooters(day, session);
		await checkEvents(day, session);
	} catch (error) {
		throw unreadable(error, day);
	}
}

async function checkFooters(day: LoadDay, session: Session): Promise<void> {
	const files = day.objects.map(({ file }) => quoteText(file)).join(", ");
	const footers = await session.rows<{ file_name: string; num_rows: bigint }>(
		`SELECT file_name, num_rows FROM parquet_file_metadata([${files}])`,
	);
	const footerRows = new Map(
		footers.map(({ file_name, num_rows }) => [file_name, Number(num_rows)]),
	);
	for (const { key, file, rows } of day.objects)
		if (footerRows.get(file) !== rows)
			throw new JobFailure(
				"ObjectMismatch",
				`Object ${objectId(key)} of ${day.date} holds ${footerRows.get(file) ?? "no"} rows, but the manifest says ${rows}`,
			);
}

async function checkEvents(day: LoadDay, session: Session): Promise<void> {
	const rows = parquetRows(day.objects.map(({ file }) => file));
	const expected = rowsOf(day.objects);
	const [events] = await session.rows<{ hashes: bigint; otherDates: bigint }>(
		`SELECT count(DISTINCT hash(event_id)) AS hashes,` +
			` count(*) FILTER ("date"::DATE IS DISTINCT FROM DATE ${quoteText(day.date)}) AS otherDates FROM ${rows}`,
	);
	if (Number(events?.otherDates) !== 0)
		throw new JobFailure(
			"ObjectMismatch",
			`The objects of ${day.date} hold ${events?.otherDates} rows of other dates`,
		);
	// Equal ids have equal hashes, so as many hashes as rows are enough. Two ids with one hash are no error.
	if (Number(events?.hashes) === expected) return;
	const [distinct] = await session.rows<{ ids: bigint }>(
		`SELECT count(DISTINCT event_id) AS ids FROM ${rows}`,
	);
	if (Number(distinct?.ids) !== expected)
		throw new JobFailure(
			"ObjectMismatch",
			`The objects of ${day.date} hold ${distinct?.ids} different event ids in ${expected} rows`,
		);
}

/** DuckDB's error names a broken file by its local path; the failure names the object by its id. */
function unreadable(error: unknown, day: LoadDay): unknown {
	if (!(error instanceof Error) || error instanceof JobFailure) return error;
	if (/^(INTERRUPT|Out of Memory) Error/i.test(error.message)) return error;
	const object = day.objects.find(({ file }) => error.message.includes(file));
	return new JobFailure(
		"ObjectMismatch",
		`${object ? `Object ${objectId(object.key)}` : "An object"} of ${day.date} can't be read: ${firstLine(error)}`,
		{ cause: error },
	);
}

function firstLine(error: Error): string {
	return error.message.split("\n", 1)[0] ?? "";
}
