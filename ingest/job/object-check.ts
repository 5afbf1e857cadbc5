import { isOutOfMemory } from "../../packages/duckdb/memory.ts";
import { parquetRows, quoteText } from "../../packages/duckdb/quoting.ts";
import { DuckDBRefusal } from "../../packages/duckdb/refusal.ts";
import type { Session } from "../../packages/duckdb/session.ts";
import { objectId } from "../../packages/service/withheld.ts";
import { JobFailure } from "../../packages/warehouses/load/failure.ts";
import {
	type DayObject,
	type LoadDay,
	rowsOf,
} from "../../packages/warehouses/load/load-day.ts";

/**
 * Checks a day's downloaded objects against the manifest: each object's footer has its number of rows, all event ids
 * differ, and all events have the day's date. Returns the objects with what their footers say about their size.
 * Throws {@link JobFailure} ObjectMismatch.
 */
export async function checkObjects(
	day: LoadDay,
	session: Session,
): Promise<DayObject[]> {
	try {
		const objects = await checkFooters(day, session);
		await checkEvents(day, session);
		return objects;
	} catch (error) {
		throw unreadable(error, day);
	}
}

async function checkFooters(
	day: LoadDay,
	session: Session,
): Promise<DayObject[]> {
	const files = day.objects.map(({ file }) => quoteText(file)).join(", ");
	const footers = await session.rows<{
		file: string;
		rows: bigint;
		bytes: bigint;
		groupRows: bigint;
		repeats: boolean;
	}>(
		`SELECT file_name AS file, sum(row_group_num_rows)::BIGINT AS rows, sum(total_uncompressed_size)::BIGINT AS bytes,` +
			` max(row_group_num_rows) AS "groupRows", bool_or(encodings LIKE '%DICTIONARY%') AS repeats` +
			` FROM parquet_metadata([${files}]) WHERE path_in_schema = 'body' GROUP BY file_name`,
	);
	const found = new Map(footers.map((footer) => [footer.file, footer]));
	// A dictionary has each body once, however often it is in the rows.
	const repeated = footers.filter(({ repeats }) => repeats);
	const lengths = new Map(
		repeated.length === 0
			? []
			: (
					await session.rows<{ file: string; bytes: bigint }>(
						`SELECT filename AS file, sum(strlen(body))::BIGINT AS bytes` +
							` FROM ${parquetRows(
								repeated.map(({ file }) => file),
								{ filename: true },
							)} GROUP BY filename`,
					)
				).map(({ file, bytes }) => [file, bytes]),
	);
	return day.objects.map((object) => {
		const { key, file, rows } = object;
		const footer = found.get(file);
		if (Number(footer?.rows) !== rows)
			throw new JobFailure(
				"ObjectMismatch",
				`Object ${objectId(key)} of ${day.date} holds ${footer?.rows ?? "no"} rows, but the manifest says ${rows}`,
			);
		return {
			...object,
			bodyBytes: Number(lengths.get(file) ?? footer!.bytes),
			groupRows: Number(footer!.groupRows),
		};
	});
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
	if (!(error instanceof DuckDBRefusal)) return error;
	if (isOutOfMemory(error) || /^INTERRUPT Error/i.test(error.message))
		return error;
	const object = day.objects.find(({ file }) =>
		error.match(new RegExp(RegExp.escape(file))),
	);
	return new JobFailure(
		"ObjectMismatch",
		`${object ? `Object ${objectId(object.key)}` : "An object"} of ${day.date} can't be read: ${error.message}`,
		{ cause: error },
	);
}
