import { join } from "node:path";
import type { LoadInput } from "../../packages/contracts/job.ts";
import type { Manifest } from "../../packages/contracts/manifest.ts";
import {
	addDays,
	type UtcDate,
	utcDate,
} from "../../packages/contracts/utc-date.ts";
import {
	type HeldDate,
	rowsOf,
} from "../../packages/warehouses/load/load-day.ts";
import { isDateType } from "../../packages/warehouses/load/table-plan.ts";
import type {
	MarkedTable,
	RowAccess,
	RowDialect,
	Warehouse,
} from "../../packages/warehouses/load/warehouse.ts";
import type { HeldDates } from "./load-days.ts";
import {
	comparedDates,
	dateNumber,
	dateOf,
	type UnrecordedDate,
	writeIDs,
} from "./lost-rows.ts";
import {
	dayWouldShrink,
	type ShrinkingDay,
	shrinkageOf,
} from "./shrinking-days.ts";
import type { WantedTable } from "./wanted-tables.ts";

/** A table of a Run, as the warehouse has it. */
export interface GuardedTable extends WantedTable {
	/** Of the tables that stand for it. */
	names: readonly string[];
	/** By their records. */
	heldOn(date: UtcDate): readonly HeldDate[];
	/** Whether its record was read; never where records can't be read whole, and none of a table that is rebuilt. */
	isRead: boolean;
}

type GuardInput = Pick<
	LoadInput,
	"strategy" | "acceptLoss" | "adopt" | "rebuild" | "run"
>;

/** Events of so many days can't have expired, whatever the Source's retention is. */
const leastRetentionDays = 30;

/**
 * The dates that would lose rows if the Run replaced them. It changes nothing. Only rows of the Pipeline's own loads count: of a table that a Run takes
 * over, those that a record tells of, since a former attempt may have left its mark on all rows that are to go.
 * @param unrecorded gets the dates of the Run's own table of which neither a record nor the number of rows tells, as far as their ids may be read.
 */
export async function findShrinking(
	warehouse: Pick<Warehouse, "rowAccess" | "together">,
	tables: readonly GuardedTable[],
	input: GuardInput,
	manifest: Manifest,
	unrecorded?: { directory: string; dates: Set<UnrecordedDate> },
): Promise<ShrinkingDay[]> {
	const access = warehouse.rowAccess(input, manifest);
	const find = () => shrinkingIn(access, tables, input, manifest, unrecorded);
	return (await warehouse.together?.(find)) ?? find();
}

/** Throws {@link JobFailure} DayWouldShrink if a table is replaced as a whole, so that no date of it can stay. */
export function requireKept(
	found: readonly ShrinkingDay[],
	tables: readonly GuardedTable[],
	{ strategy, rebuild }: GuardInput,
): void {
	const isUnread = (name: string) =>
		tables.some(({ table, isRead }) => table.name === name && !isRead);
	const isReplaced =
		strategy === "FullReload" ||
		(rebuild && found.some(({ table }) => isUnread(table)));
	// What only the objects on disk have told may have come after other dates.
	const isUnchanged = found.every(({ lost }) => lost === undefined);
	if (isReplaced && found.length > 0)
		throw dayWouldShrink(found, isUnchanged || undefined);
}

/**
 * Whether what is new in a date that would lose rows is added to it. If nobody can say what that is, or only of some of the Run's tables, it stays as it
 * is: in the others it would be replaced.
 */
export function isAddedTo(
	{ date, addition }: ShrinkingDay,
	held: readonly HeldDates[],
): boolean {
	return addition !== undefined && held.every((dates) => dates?.has(date));
}

/** A date that both have stands once, as the comparison of ids has found it. */
export function withLost(
	found: readonly ShrinkingDay[],
	lost: readonly ShrinkingDay[],
): ShrinkingDay[] {
	const isLost = (day: ShrinkingDay) =>
		lost.some(({ table, date }) => table === day.table && date === day.date);
	return [...found.filter((day) => !isLost(day)), ...lost];
}

/** The manifest without dates that stay as they are. */
export function withoutStaying(
	manifest: Manifest,
	staying: readonly ShrinkingDay[],
): Manifest {
	const stays = new Set(staying.map(({ date }) => date));
	const dates = manifest.dates.filter(({ date }) => !stays.has(date));
	return { ...manifest, dates };
}

/** Of what tables hold, these dates. */
export function onDates(
	held: ReadonlyMap<string, HeldDates> = new Map(),
	days: readonly ShrinkingDay[],
): ReadonlyMap<string, HeldDates> {
	const isOf = new Set(days.map(({ date }) => date));
	return new Map(
		[...held].map(([table, dates]) => [
			table,
			new Map([...(dates ?? [])].filter(([date]) => isOf.has(date))),
		]),
	);
}

async function shrinkingIn(
	access: RowAccess,
	tables: readonly GuardedTable[],
	{ strategy, acceptLoss = [], adopt }: GuardInput,
	manifest: Manifest,
	unrecorded?: { directory: string; dates: Set<UnrecordedDate> },
): Promise<ShrinkingDay[]> {
	let marked: Promise<MarkedTable[]> | undefined;
	const found: ShrinkingDay[] = [];
	for (const guarded of tables) {
		const { table, names, heldOn } = guarded;
		const unseen =
			strategy === "FullReload" ? datesWithoutObjects(manifest) : [];
		const dates = [
			...unseen.map((date) => ({ date, objects: [] })),
			...guarded.dates,
		].filter(({ date }) => !acceptLoss.includes(date));
		const isCounted = (date: UtcDate) =>
			!adopt && heldOn(date).length < names.length;
		const uncertain = dates
			.filter(({ date }) => isCounted(date))
			.map(({ date }) => date);
		const rows = new Map<UtcDate, number>();
		let own: MarkedTable[] = [];
		if (uncertain.length > 0) {
			marked ??= access.tables();
			own = (await marked).filter(({ name }) =>
				names.some((own) => own.toLowerCase() === name.toLowerCase()),
			);
			for (const one of own)
				for (const [date, count] of await rowsOn(access, one, table, uncertain))
					rows.set(date, count + (rows.get(date) ?? 0));
		}
		const comparable: UnrecordedDate[] = [];
		for (const wanted of dates) {
			const { date, objects } = wanted;
			const held = heldOn(date);
			const shrinkage = shrinkageOf(wanted, {
				held,
				...(isCounted(date) && { rows: rows.get(date) ?? 0 }),
			});
			const about = { table: table.name, date };
			if (shrinkage) found.push({ ...shrinkage, ...about });
			const count = isCounted(date) ? (rows.get(date) ?? 0) : 0;
			if (shrinkage || count === 0 || !unrecorded) continue;
			const file = join(unrecorded.directory, `${date}.ids`);
			const keys = new Set(objects.map(({ key }) => key));
			const left = rowsOf(objects);
			comparable.push({ ...about, rows: count, left, keys, file });
		}
		const { read } = access;
		if (!read || !unrecorded || guarded !== tables[0]) continue;
		const compared = comparedDates(comparable);
		const queries = own.flatMap((one) => idQuery(access, one, table, compared));
		if (compared.length === 0 || queries.length === 0) continue;
		await writeIDs(read, queries, compared);
		for (const day of compared) unrecorded.dates.add(day);
	}
	return found;
}

/** A reload replaces them, too, and the manifest has none: before the first event that the ledger knows. */
function datesWithoutObjects({
	asked: { start = "", end = "9999-12-31" },
	dates,
	snapshotTime,
}: Manifest): UtcDate[] {
	const last = utcDate(Date.parse(snapshotTime));
	const listed = new Set(dates.map(({ date }) => date));
	return Array.from({ length: leastRetentionDays }, (_, index) =>
		addDays(last, index + 1 - leastRetentionDays),
	).filter((date) => date >= start && date <= end && !listed.has(date));
}

/** A table without dates, such as one that is rebuilt since somebody has dropped them, has them in its times. One without either says nothing. */
function dateIn(
	dialect: RowDialect,
	one: MarkedTable,
	table: LoadInput["table"],
): string | undefined {
	const time = columnFrom("Timestamp", dialect, one, table);
	const columns = one.columns.filter(({ type }) => isDateType(type));
	const date = columnFrom("Date", dialect, { ...one, columns }, table);
	return date ?? (time === undefined ? undefined : `CAST(${time} AS DATE)`);
}

function columnFrom(
	from: "Date" | "Timestamp" | "EventID",
	dialect: RowDialect,
	{ columns }: MarkedTable,
	table: LoadInput["table"],
): string | undefined {
	const own = table.columns.find((column) => column.from === from)?.name;
	const found = columns.find(
		(column) => column.name.toLowerCase() === own?.toLowerCase(),
	);
	return found && dialect.name(found.name);
}

/** None for a table without ids. */
function idQuery(
	{ dialect }: RowAccess,
	one: MarkedTable,
	table: LoadInput["table"],
	dates: readonly { date: UtcDate }[],
): string[] {
	const id = columnFrom("EventID", dialect, one, table);
	const day = dateIn(dialect, one, table);
	if (id === undefined || day === undefined) return [];
	const days = dates.map(({ date }) => dialect.date(date)).join(", ");
	return [
		`SELECT ${id}, ${dateNumber(day)} FROM ${dialect.table(one.name)} WHERE ${day} IN (${days})`,
	];
}

async function rowsOn(
	{ dialect, count, read }: RowAccess,
	one: MarkedTable,
	table: LoadInput["table"],
	dates: readonly UtcDate[],
): Promise<Map<UtcDate, number>> {
	const { name } = one;
	const date = dateIn(dialect, one, table);
	const found = new Map<UtcDate, number>();
	if (date === undefined) return found;
	const onDate = (day: UtcDate) => `${date} = ${dialect.date(day)}`;
	if (!read) {
		for (const day of dates) found.set(day, await count(name, onDate(day)));
		return found;
	}
	const [first, last] = [dates[0]!, dates.at(-1)!];
	const rows = read(
		`SELECT ${dateNumber(date)}, COUNT(*) FROM ${dialect.table(name)} WHERE ${date} >= ${dialect.date(first)} AND ${date} <= ${dialect.date(last)} GROUP BY 1`,
	);
	for await (const [day, count] of rows) found.set(dateOf(day), Number(count));
	return found;
}
