import { isOutOfMemory } from "../../packages/duckdb/memory.ts";
import { parquetRows, quoteText } from "../../packages/duckdb/quoting.ts";
import { DuckDBRefusal, type Session } from "../../packages/duckdb/session.ts";
import { type Logger, objectId } from "../../packages/service/log.ts";
import { JobFailure } from "../../packages/warehouses/load/failure.ts";
import {
	broughtBy,
	type DayObject,
	type LoadDay,
	rowsOf,
} from "../../packages/warehouses/load/load-day.ts";
import { LinkReader } from "./link-reader.ts";

/** Enough to hide the object store's latency. More would only share the same bandwidth. */
const concurrency = 6;

/** Until the first object has arrived, which a warehouse may begin with: all at once would arrive together, and late. */
const concurrencyAtFirst = 2;

/**
 * Downloads every object of the days into its file. Each day is checked once its objects have arrived, one day at a time,
 * while other downloads go on. The first failure stops the rest, and is thrown once they have stopped.
 * @param onArrival is called with each object, before it is checked.
 */
export async function downloadObjects(
	days: LoadDay[],
	check: (day: LoadDay) => Promise<void>,
	log: Logger,
	signal: AbortSignal,
	onArrival: (object: DayObject) => void = () => undefined,
): Promise<void> {
	const stop = new AbortController();
	const links = new LinkReader(log, AbortSignal.any([signal, stop.signal]));
	const objects = days
		.flatMap((day) => filesOf(day).map((object) => ({ day, object })))
		.values();
	const missing = new Map(days.map((day) => [day, filesOf(day).length]));
	let failure: unknown;
	const fail = (error: unknown) => {
		failure ??= error;
		stop.abort();
	};
	let checks = Promise.resolve();
	const { promise: hasFirst, resolve: noteFirst } =
		Promise.withResolvers<void>();
	const arrived = (day: LoadDay, object: DayObject) => {
		onArrival(object);
		const left = missing.get(day)! - 1;
		missing.set(day, left);
		if (left > 0) return;
		checks = checks
			.then(() => (stop.signal.aborted ? undefined : check(day)))
			.catch(fail);
	};
	const worker = async () => {
		try {
			for (const { day, object } of objects) {
				const { key, url, file, bytes } = object;
				await links.download(
					{
						name: `object ${objectId(key)}`,
						url,
						unavailable: "ObjectUnavailable",
					},
					file,
					bytes,
				);
				arrived(day, object);
				noteFirst();
			}
		} catch (error) {
			fail(error);
		} finally {
			noteFirst();
		}
	};
	await Promise.all(
		Array.from({ length: concurrency }, (_, index) =>
			index < concurrencyAtFirst ? worker() : hasFirst.then(worker),
		),
	);
	await checks;
	if (failure !== undefined) throw failure;
}

/** All that is downloaded for a day. */
export function filesOf(day: LoadDay): DayObject[] {
	return [...day.objects, ...broughtBy(day)];
}

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
