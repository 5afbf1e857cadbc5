import { Readable } from "node:stream";
import type { TableColumn } from "../../../contracts/job.ts";
import type { UtcDate } from "../../../contracts/utc-date.ts";
import {
	type HeldDate,
	type LoadDay,
	type RecordedLoad,
	rowsOf,
	type UnfitRows,
} from "../../load/load-day.ts";
import {
	recordedDays,
	recordNames,
	recordOfDay,
	takenOver,
} from "../../load/table-plan.ts";
import type { Connection } from "./connection.ts";
import { ClickHouseFailure } from "./failure.ts";
import {
	datesSql,
	digestSql,
	quoteName,
	quoteText,
	type Statements,
} from "./statements.ts";

/**
 * Which objects a date's rows come from, for all tables of the database. ClickHouse can't change two tables at once, so an
 * entry is written before the rows change, and says what they are before and after: what the table then holds tells whether
 * the change took place, wherever a process was killed.
 */
export const recordTable = "_tidemill-loads";

/** A change of one date. */
export interface RecordEntry extends RecordedLoad {
	date: UtcDate;
	/** Digests of the date's rows. */
	before: string;
	after: string;
	/** Whether the rows of `before` stay. */
	adds: boolean;
	/** Whether the load that wrote it has ended, so that the table can't be as it was before. */
	isDone: boolean;
}

/** What a date has in a table now. */
export interface DateRows {
	rows: number;
	digest: string;
}

export const noRows: DateRows = { rows: 0, digest: "0" };

const recordTypes = {
	table_name: "String",
	record: "String",
	date: "Date",
	load: "String",
	before: "String",
	after: "String",
	adds: "Bool",
	objects: "Array(String)",
	rows: "UInt64",
	unfit: "String",
	run: "String",
	done: "Bool",
};

/** Those that a load fills. */
export const recordColumns = Object.keys(recordTypes).map((name) => ({ name }));

export function createRecord(statements: Statements): string {
	const columns = [
		...Object.entries(recordTypes).map((column) => column.join(" ")),
		"at DateTime64(6, 'UTC') DEFAULT now64(6)",
	];
	return `CREATE TABLE IF NOT EXISTS ${statements.of(recordTable)}${statements.onCluster} (${columns.join(", ")})
ENGINE = ${statements.engine} ORDER BY (table_name, date, at) TTL toDateTime(at) + INTERVAL ${recordedDays + 5} DAY
COMMENT 'Which objects the rows of tables come from. Tidemill keeps it; without it, Runs replace their days.'`;
}

/** Small blocks, which stay in a processor's cache, and no step of its own for the dates, by which tables are partitioned: a quarter less CPU time. */
const inCache =
	" SETTINGS max_block_size = 8192, optimize_move_to_prewhere = 0";

/** The rows that a table has on these dates, or on all. Without columns they are only counted. */
export async function rowsByDate(
	connection: Connection,
	table: string,
	columns: readonly TableColumn[],
	dates?: readonly UtcDate[],
): Promise<Map<UtcDate, DateRows>> {
	if (dates?.length === 0) return new Map();
	const where = dates ? ` WHERE date IN (${datesSql(dates)})` : "";
	const found = await connection.rows<{
		day: UtcDate;
		rows: string;
		digest: string;
	}>(
		`SELECT toString(date) AS day, toString(count()) AS rows, ${columns.length > 0 ? digestSql(columns) : quoteText(noRows.digest)} AS digest FROM ${table}${where} GROUP BY date${inCache}`,
	);
	return new Map(
		found.map(({ day, rows, digest }) => [day, { rows: Number(rows), digest }]),
	);
}

/** Copies entries of the record that a table had before, since ClickHouse can't change them in an instant. May be repeated. */
export function takeOver(
	statements: Statements,
	table: string,
	record: string,
	former: string,
): string {
	const of = statements.of(recordTable);
	const about = `table_name = ${quoteText(table)} AND record`;
	const next = quoteText(takenOver(record));
	const names = recordNames(former).map(quoteText).join(", ");
	const columns = [...Object.keys(recordTypes), "at"];
	const copied = columns.map((name) => (name === "record" ? next : name));
	return (
		`INSERT INTO ${of} (${columns.join(", ")}) SELECT ${copied.join(", ")} FROM ${of}` +
		` WHERE ${about} IN (${names}) AND load NOT IN (SELECT load FROM ${of} WHERE ${about} = ${next})`
	);
}

/** The entries about these dates, oldest first. There must be a {@link createRecord record}. */
export async function recordedEntries(
	connection: Connection,
	statements: Statements,
	table: string,
	record: string,
	dates: readonly UtcDate[],
): Promise<Map<UtcDate, RecordEntry[]>> {
	const about = `table_name = ${quoteText(table)} AND record = ${quoteText(record)}`;
	const found = await connection.rows<
		Omit<RecordEntry, "unfit" | "isDone" | "rows"> & {
			unfit: string;
			rows: string;
			isDone: number;
		}
	>(
		`SELECT toString(date) AS date, before, after, adds, objects, toString(rows) AS rows, unfit, run,` +
			` load IN (SELECT load FROM ${statements.of(recordTable)} WHERE ${about} AND done) AS isDone` +
			` FROM ${statements.of(recordTable)} AS entries WHERE ${about} AND NOT done AND entries.date IN (${datesSql(dates)}) ORDER BY at`,
	);
	return Map.groupBy(
		found.map((entry) => ({
			...entry,
			rows: Number(entry.rows),
			unfit: JSON.parse(entry.unfit) as UnfitRows,
			isDone: Boolean(entry.isDone),
		})),
		({ date }) => date,
	);
}

/**
 * The dates of which the table's TTL may have deleted rows: all those that begin before, as far as the date and the timestamp tell. By
 * other columns it may be any.
 */
export async function expiringDates(
	connection: Connection,
	deletions: readonly string[],
	columns: readonly TableColumn[],
	dates: readonly UtcDate[],
): Promise<readonly UtcDate[]> {
	if (deletions.length === 0 || dates.length === 0) return [];
	const timestamp = columns.find(({ from }) => from === "Timestamp")?.name;
	const starts = [
		`toDate(arrayJoin([${datesSql(dates)}])) AS \`date\``,
		...(timestamp === undefined
			? []
			: [`toDateTime64(\`date\`, 6, 'UTC') AS ${quoteName(timestamp)}`]),
	];
	const isOver = deletions.map((at) => `(${at}) <= now()`).join(" OR ");
	try {
		const found = await connection.rows<{ day: UtcDate }>(
			`SELECT toString(\`date\`) AS day FROM (SELECT ${starts.join(", ")}) WHERE ${isOver}`,
		);
		return found.map(({ day }) => day);
	} catch (error) {
		if (!(error instanceof ClickHouseFailure) || error.retryable) throw error;
		return dates;
	}
}

/**
 * What a date of a table holds, by what is recorded about it; undefined if that was forgotten.
 * @param entries oldest first.
 * @param isOld Whether entries about the date may be forgotten.
 * @param expires What it lacks that the table's TTLs have deleted: that is done.
 */
export function heldDate(
	now: DateRows,
	entries: readonly RecordEntry[],
	isOld: boolean,
	expires: { rows?: boolean; values?: boolean } = {},
): HeldDate | undefined {
	const held = recordedDate(now, entries, isOld);
	const last = entries.at(-1);
	if (!last?.isDone || held?.digest === held?.loadedDigest) return held;
	const from = entries.findLastIndex(({ adds }) => !adds);
	const loads = loadsIn(entries.slice(Math.max(0, from)));
	const rows = rowsOf(loads);
	const isExpired =
		now.rows < rows ? expires.rows : now.rows === rows && expires.values;
	const digest = "expiring";
	return isExpired ? { rows, digest, loadedDigest: digest, loads } : held;
}

/** The same of rows that were filled otherwise, so that their digest isn't one of the entries'. All count that may have taken place. */
export function heldByRows(
	{ rows }: DateRows,
	entries: readonly RecordEntry[],
	isOld: boolean,
): HeldDate | undefined {
	if (isOld && entries.length === 0 && rows > 0) return undefined;
	const from = entries.findLastIndex(({ adds, isDone }) => !adds && isDone);
	const { digest } = noRows;
	const loads = loadsIn(entries.slice(Math.max(0, from)));
	return { rows, digest, loadedDigest: digest, loads, isFilledOtherwise: true };
}

function loadsIn(entries: readonly RecordEntry[]): RecordedLoad[] {
	return entries
		.filter(({ objects }) => objects.length > 0)
		.map(({ objects, rows, unfit, run }) => ({ objects, rows, unfit, run }));
}

function recordedDate(
	now: DateRows,
	entries: readonly RecordEntry[],
	isOld: boolean,
): HeldDate | undefined {
	const last = entries.at(-1);
	if (!last)
		return isOld && now.rows > 0
			? undefined
			: { ...now, loadedDigest: "0", loads: [] };
	const isInterrupted = !last.isDone && now.digest !== last.after;
	const loadedDigest = isInterrupted ? last.before : last.after;
	const loads = loadsThrough(
		entries,
		isInterrupted ? entries.length - 2 : entries.length - 1,
		loadedDigest,
	);
	// Rows that no entry explains are somebody else's, beside those that loads have put there.
	return loads && now.digest === loadedDigest
		? { ...now, loadedDigest, loads }
		: { ...now, loadedDigest: "", loads: loads ?? [] };
}

/** The loads whose rows are those of `digest`; undefined if entries are missing. */
function loadsThrough(
	entries: readonly RecordEntry[],
	from: number,
	digest: string,
): RecordedLoad[] | undefined {
	const loads: RecordedLoad[] = [];
	let wanted = digest;
	for (const entry of entries.slice(0, from + 1).reverse()) {
		if (entry.after !== wanted) continue;
		const { objects, rows, unfit, run } = entry;
		if (objects.length > 0) loads.unshift({ objects, rows, unfit, run });
		if (!entry.adds) return loads;
		wanted = entry.before;
	}
	return wanted === noRows.digest ? loads : undefined;
}

/** What to record about a day that is about to become `after`. */
export function entriesOf(
	day: LoadDay,
	run: string,
	before: DateRows,
	after: DateRows,
): Omit<RecordEntry, "isDone">[] {
	const { date, kept } = day;
	const { stays, added } = recordOfDay(day, run);
	const from = { date, before: before.digest };
	return [
		...(stays
			? [{ ...stays, ...from, after: before.digest, adds: false }]
			: []),
		...(added
			? [{ ...added, ...from, after: after.digest, adds: kept !== undefined }]
			: []),
	];
}

/** Lines of the record's table. */
export function recordLines(
	entries: readonly Omit<RecordEntry, "isDone">[],
	about: { table_name: string; record: string; load: string; done: boolean },
): Readable {
	return Readable.from(
		entries.map(
			(entry) =>
				`${JSON.stringify({ ...about, ...entry, unfit: JSON.stringify(entry.unfit) })}\n`,
		),
	);
}
