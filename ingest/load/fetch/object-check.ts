import { quoteText } from "../../duckdb/quoting.ts";
import type { Session } from "../../duckdb/session.ts";
import type { LoadDay } from "../days.ts";
import { JobFailure } from "../errors.ts";
import { objectRows } from "./object-rows.ts";

/**
 * Compares a day's objects, which were downloaded, with the manifest: the rows in each object's footer, and that the
 * events have different ids and the day's date. Throws {@link JobFailure} ObjectMismatch.
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
	const rowsOf = new Map(
		footers.map(({ file_name, num_rows }) => [file_name, Number(num_rows)]),
	);
	for (const { key, file, rows } of day.objects)
		if (rowsOf.get(file) !== rows)
			throw new JobFailure(
				"ObjectMismatch",
				`Object ${key} of ${day.date} holds ${rowsOf.get(file) ?? "no"} rows where the manifest says ${rows}`,
			);
}

async function checkEvents(day: LoadDay, session: Session): Promise<void> {
	const [events] = await session.rows<{ ids: bigint; strays: bigint }>(
		`SELECT count(DISTINCT event_id) AS ids,` +
			` count(*) FILTER ("date"::DATE IS DISTINCT FROM DATE ${quoteText(day.date)}) AS strays` +
			` FROM ${objectRows(day.objects.map(({ file }) => file))}`,
	);
	if (Number(events?.strays) !== 0)
		throw new JobFailure(
			"ObjectMismatch",
			`The objects of ${day.date} hold ${events?.strays} rows of other dates`,
		);
	if (Number(events?.ids) !== day.rows)
		throw new JobFailure(
			"ObjectMismatch",
			`The objects of ${day.date} hold ${events?.ids} different event ids in ${day.rows} rows`,
		);
}

/** DuckDB names a file that is no Parquet by its path here; people know it by its key. */
function unreadable(error: unknown, day: LoadDay): unknown {
	if (!(error instanceof Error) || error instanceof JobFailure) return error;
	if (/^(INTERRUPT|Out of Memory) Error/i.test(error.message)) return error;
	const object = day.objects.find(({ file }) => error.message.includes(file));
	return new JobFailure(
		"ObjectMismatch",
		`${object ? `Object ${object.key}` : "An object"} of ${day.date} can't be read: ${firstLine(error)}`,
		{ cause: error },
	);
}

function firstLine(error: Error): string {
	return error.message.split("\n", 1)[0] ?? "";
}
