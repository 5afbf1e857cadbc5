import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import {
	type LoadInput,
	maxRepairedDates,
} from "../../packages/contracts/job.ts";
import type { Manifest } from "../../packages/contracts/manifest.ts";
import type { UtcDate } from "../../packages/contracts/utc-date.ts";
import { trustAuthorities } from "../../packages/service/trusted-authorities.ts";
import { isRest } from "../../packages/warehouses/load/body-paths.ts";
import {
	type ErasedRows,
	erasedWords,
	eraseRows,
	type LoadedTable,
} from "../../packages/warehouses/load/erased-rows.ts";
import {
	type ExistingColumn,
	fitColumns,
} from "../../packages/warehouses/load/incompatibility.ts";
import {
	addUnfit,
	type LoadDay,
} from "../../packages/warehouses/load/load-day.ts";
import {
	type DayFiles,
	TableChanged,
	type Warehouse,
} from "../../packages/warehouses/load/warehouse.ts";
import { warehouses } from "../../packages/warehouses/registry.ts";
import { LinkReader } from "../job/link-reader.ts";
import { readManifest } from "../job/manifest.ts";
import type { JobContext, JobSuccess } from "../job/process.ts";
import { storeLog, storeResult } from "../job/result-link.ts";
import { addedRows, isChangedByOthers, unfitValues } from "./addition.ts";
import { DownloadedDays } from "./day-files.ts";
import { EventTypeWarehouse } from "./event-type-tables.ts";
import { FoundColumns, requireTypes } from "./found-columns.ts";
import { type HeldDates, planTables, type TablePlans } from "./load-days.ts";
import { RejectedDays, rejectedTableOf } from "./rejected-values.ts";
import { openWarehouse } from "./warehouse.ts";

/**
 * Carries out one Run: manifest → objects → checks → destination, for all days at once or day by day, as the Destination
 * takes them. If a step fails or the process dies, each day in the table is the old one or the new one, and the next
 * attempt loads the rest.
 * Throws {@link JobFailure}.
 */
export async function load(
	given: LoadInput,
	context: JobContext,
): Promise<JobSuccess> {
	const input = withColumnsOf(given, Date.now());
	const { log, signal } = context;
	if (input.authorities !== undefined) trustAuthorities(input.authorities);
	const manifest = await readManifest(
		new LinkReader(log, signal),
		{
			name: "the Run's manifest",
			url: input.manifestURL,
			unavailable: "ManifestUnavailable",
		},
		input.run.uid,
	);
	context.trace?.loads(
		manifest.dates.flatMap(({ objects }) => objects.map(({ key }) => key)),
	);
	const { result: link, logs } = manifest;
	if (link) context.onResult((result) => storeResult(link, result, log));
	if (logs)
		context.onResult((result, text) => storeLog(logs, result, text, log));
	const directory = await mkdtemp(join(context.scratch, "load-"));
	const attempt = new Attempt(input, manifest, directory, context);
	try {
		return await attempt.carryOut(input.adds ?? false);
	} catch (error) {
		if (!(error instanceof TableChanged)) throw error;
		log.info({ reason: error.message }, "replacing the days as a whole");
		return await attempt.carryOut(false);
	} finally {
		await attempt.close();
		await rm(directory, { recursive: true, force: true });
	}
}

/** As a result has it, with room for what the Run's message says besides. */
const maxWarningLength = 400;

class Attempt {
	/** As the operator wants it. */
	readonly #given: LoadInput;
	/** As the table that is there takes it. */
	#input: LoadInput;
	readonly #manifest: Manifest;
	readonly #directory: string;
	readonly #context: JobContext;
	#warehouse: Warehouse | undefined;
	/** The same, where there is a table for each type of event. */
	#split: EventTypeWarehouse | undefined;
	#repaired: UtcDate[] = [];
	/** What was erased that no load puts anew. */
	#erased: ErasedRows[] = [];
	/** Columns of the table whose types no column has that load has found. */
	#leftOut: ExistingColumn[] = [];

	constructor(
		input: LoadInput,
		manifest: Manifest,
		directory: string,
		context: JobContext,
	) {
		this.#given = input;
		this.#input = input;
		this.#manifest = manifest;
		this.#directory = directory;
		this.#context = context;
	}

	/**
	 * @param adds Whether to insert only what is new, where the Destination says what it holds. Only then it may throw
	 * {@link TableChanged}.
	 */
	async carryOut(adds: boolean): Promise<JobSuccess> {
		await this.#fit();
		const held = adds ? await this.#held() : undefined;
		this.#noteRepairs(held);
		const plans = planTables(
			this.#input,
			this.#manifest,
			this.#directory,
			held,
		);
		const result = resultOf(this.#manifest, plans, held !== undefined);
		const { version, outcome, dates, ...figures } = result;
		const { name: run, pipeline, account } = this.#input.run;
		const days = plans.days.length;
		this.#context.log.info(
			{ run, pipeline, account, days, ...figures },
			"downloading the objects",
		);
		const files = new DownloadedDays(
			this.#input,
			this.#manifest,
			this.#directory,
			this.#context,
		);
		try {
			const rejected = new RejectedDays(
				this.#input.table,
				files,
				(session) =>
					this.#warehouse?.unheld?.(this.#input.table, session) ?? [],
			);
			const found =
				this.#input.evolves &&
				new FoundColumns(this.#given, this.#input.evolves);
			const ready = takesDaysOneByOne(this.#input)
				? await sized(plans, files, this.#manifest, this.#input.filter, found)
				: await onDisk(plans, files, rejected, found);
			found?.requireNone();
			const first = ready.days.find(({ objects }) => objects.length > 0);
			if (first && wantsFirstDay(this.#input)) files.begin(first);
			const all = await this.#load(ready, files, async () => {
				const days = takesDaysOneByOne(this.#input)
					? await rejected.counted({ ...plans, days: ready.days })
					: ready.rejecting!;
				return { days, files: rejected };
			});
			const own = rowsIn(ready.days);
			const isWhole = this.#manifest.asked.extent === "Whole";
			const otherRows = isWhole && all !== undefined ? all - own : 0;
			// A warehouse counts by the days that it was given, unless all were on disk before.
			const loaded = takesDaysOneByOne(this.#input) ? ready.days : plans.days;
			const otherTypes = this.#split?.otherTypes;
			const counts = addUnfit(
				plans.days.flatMap((day, index) => [
					files.unfitOf(loaded[index]!) ?? files.unfitOf(day) ?? {},
					day.kept?.unfit ?? {},
				]),
			);
			const unfit = unfitValues(counts);
			const rest = this.#input.table.columns.find(({ from }) => isRest(from));
			const rescuedRows = (rest && counts[rest.name]?.values) ?? 0;
			// Only the objects themselves tell which events the filter wants.
			const counted = this.#input.filter && {
				...resultOf(this.#manifest, ready, held !== undefined),
				rows: own,
			};
			return {
				...result,
				...counted,
				...(this.#repaired.length > 0 && { repairedDates: this.#repaired }),
				...(otherRows > 0 && { otherRows }),
				...(otherTypes && { otherTypes }),
				...(ready.apart && { quarantinedRows: rowsIn(ready.apart) }),
				...(rescuedRows > 0 && { rescuedRows }),
				...(unfit.length > 0 && { unfitValues: unfit }),
				...(this.#warning !== undefined && { warning: this.#warning }),
			};
		} finally {
			await files.close();
		}
	}

	async close(): Promise<void> {
		await this.#warehouse?.close?.();
	}

	#noteRepairs({
		table,
		quarantineTable,
		rejectedTable,
	}: {
		table?: HeldDates;
		quarantineTable?: HeldDates;
		rejectedTable?: HeldDates;
	} = {}): void {
		const tables = [table, quarantineTable, rejectedTable];
		const changed = tables.flatMap((dates) =>
			[...(dates ?? [])].filter(([, day]) => isChangedByOthers(day)),
		);
		if (changed.length === 0) return;
		const dates = [...new Set(changed.map(([date]) => date))].sort();
		this.#repaired = dates.slice(-maxRepairedDates);
		this.#context.log.warn(
			{ dates: this.#repaired },
			"somebody has changed rows of these dates in the table; replacing the dates",
		);
	}

	/** No column that load has found keeps a Run from a table that is there. */
	async #fit(): Promise<void> {
		const given = this.#given;
		const { table, strategy } = given;
		if (!table.columns.some(({ isFound }) => isFound)) return;
		const destination = await this.#open();
		const types = await destination.typesOf(table);
		if (!types) return;
		const { columns, retyped, leftOut } = fitColumns(
			types,
			table.columns,
			strategy,
		);
		this.#input = { ...given, table: { ...table, columns } };
		this.#leftOut = leftOut;
		if (Object.keys(retyped).length === 0) return;
		// Somebody else's table says nothing.
		await destination.requireUsable(this.#input, this.#manifest);
		requireTypes(retyped);
	}

	/** Undefined if the Destination can't say. */
	async #held() {
		const destination = await this.#open();
		if (!destination.held) return undefined;
		const input = this.#input;
		const held = async (table: LoadInput["table"] | undefined) =>
			table && destination.held!({ ...input, table }, this.#manifest);
		return {
			table: await held(input.table),
			quarantineTable: await held(input.quarantineTable),
			rejectedTable: await held(this.#rejectedTable),
		};
	}

	/**
	 * The table comes first. Killed after it, the others lack rows until the next attempt or Run: each has a mark of its own, which says
	 * what it holds.
	 * @param rejecting gives the days of the table of rejected values, once the table is loaded.
	 */
	async #load(
		{ days, apart }: TablePlans,
		files: DownloadedDays,
		rejecting: () => Promise<{ days: LoadDay[]; files: DayFiles }>,
	): Promise<number | undefined> {
		const destination = await this.#open();
		const input = this.#input;
		const { quarantineTable } = input;
		for (const table of [quarantineTable, this.#rejectedTable])
			if (table)
				await destination.requireUsable({ ...input, table }, this.#manifest);
		const rows = await destination.load(input, this.#manifest, days, files);
		const loadInto = (
			table: LoadInput["table"],
			days: LoadDay[],
			files: DayFiles,
		) => destination.load({ ...input, table }, this.#manifest, days, files);
		if (apart && quarantineTable) await loadInto(quarantineTable, apart, files);
		if (this.#rejectedTable) {
			const { days, files } = await rejecting();
			await loadInto(this.#rejectedTable, days, files);
		}
		this.#erased = await this.#erase(destination);
		const own = this.#ownTables();
		const gone = this.#erased
			.filter(
				({ table, mode, unblankable }) =>
					own.includes(table) && (mode === "RemoveRow" || unblankable),
			)
			.reduce((sum, { rows }) => sum + rows, 0);
		return rows === undefined ? undefined : rows - gone;
	}

	/** What was erased and no load puts anew: on dates that the manifest lacks, and in tables that no Run loads any more. */
	async #erase(destination: Warehouse): Promise<ErasedRows[]> {
		const { others = [] } = this.#manifest.erasures ?? {};
		if (others.length === 0) return [];
		const input = this.#input;
		const isReplaced = input.strategy === "FullReload";
		const { asked, dates } = this.#manifest;
		// What a Run of chosen dates leaves out, others load.
		const through =
			asked.extent === "Chosen" ? "9999-12-31" : dates.at(-1)?.date;
		const loaded = new Map<string, LoadedTable>();
		for (const { name, columns } of [
			...this.#ownTables().map((name) => ({ ...input.table, name })),
			...(input.quarantineTable ? [input.quarantineTable] : []),
			...(this.#rejectedTable ? [this.#rejectedTable] : []),
		])
			loaded.set(name, { columns, isReplaced, through });
		const work = () =>
			eraseRows(destination.erasing(input, this.#manifest), loaded, others);
		const erased = await (destination.together?.(work) ?? work());
		for (const about of erased)
			this.#context.log.info(about, "erased rows that no load puts anew");
		return erased;
	}

	/** The names of the tables with the Run's events, but for those in quarantine. */
	#ownTables(): string[] {
		const { table, eventTypes } = this.#input;
		return eventTypes
			? [eventTypes.other, ...eventTypes.tables.map(({ table }) => table)]
			: [table.name];
	}

	/** Made as the rows are, of the columns that the table that is there takes. */
	get #rejectedTable(): LoadInput["table"] | undefined {
		return rejectedTableOf(this.#input);
	}

	get #warning(): string | undefined {
		const [column, ...others] = this.#leftOut;
		const leftOut =
			column &&
			`Column "${column.name}" of the table has type ${column.type.slice(0, 100)}, which no column has that follows the events${others.length > 0 ? `, and ${others.length} more have such types` : ""}: their members are in "_rescued".`;
		return (
			erasedWords(this.#erased, maxWarningLength) ??
			leftOut ??
			this.#warehouse?.warning
		);
	}

	/** Late for a load that replaces, so that its downloads begin early. */
	async #open(): Promise<Warehouse> {
		if (this.#warehouse) return this.#warehouse;
		const input = this.#input;
		const { eventTypes } = input;
		const opened = await openWarehouse(input.destination, this.#context);
		if (eventTypes)
			this.#split = new EventTypeWarehouse(
				opened,
				input,
				eventTypes,
				takesDaysOneByOne(input),
			);
		this.#warehouse = this.#split ?? opened;
		return this.#warehouse;
	}
}

/** The columns take no values that the warehouse doesn't hold, and say who writes their rows. */
function withColumnsOf(input: LoadInput, nowMs: number): LoadInput {
	const { limits } = warehouses.get(input.destination.type)!;
	const written = {
		LoadedAt: new Date(nowMs).toISOString(),
		Run: input.run.name,
	};
	const known = <Table extends LoadInput["table"]>(table: Table): Table => ({
		...table,
		columns: table.columns.map((column) => {
			const { from } = column;
			if (from === "LoadedAt" || from === "Run")
				return { ...column, value: written[from] };
			return limits && typeof from === "object" && "bodyPointer" in from
				? { ...column, from: { ...from, limits } }
				: column;
		}),
	});
	const { table, quarantineTable } = input;
	return {
		...input,
		table: known(table),
		...(quarantineTable && { quarantineTable: known(quarantineTable) }),
	};
}

function takesDaysOneByOne({ destination }: LoadInput): boolean {
	return warehouses.get(destination.type)!.takesDaysOneByOne;
}

/** Whether the first day is wanted for certain, before the warehouse is asked about the table. */
function wantsFirstDay({ destination }: LoadInput): boolean {
	const { takesDaysOneByOne, passesDaysDone } = warehouses.get(
		destination.type,
	)!;
	return takesDaysOneByOne && !passesDaysDone;
}

/** Every object is checked before the Destination is changed. */
async function onDisk(
	{ days, apart = [], rejecting }: TablePlans,
	files: DownloadedDays,
	rejected: RejectedDays,
	columns: FoundColumns | undefined,
): Promise<TablePlans> {
	const others = (rejecting ?? []).filter(
		({ objects }, index) => objects !== days[index]!.objects,
	);
	const all = [...days, ...apart, ...others];
	const found = await files.all(all);
	const foundOf = (day: LoadDay) => found[all.indexOf(day)]!;
	if (columns)
		await files.with([], (_, session) =>
			columns.read(days.map(foundOf), session),
		);
	return {
		days: days.map(foundOf),
		...(apart.length > 0 && { apart: apart.map(foundOf) }),
		...(rejecting && {
			rejecting: await rejected.made(
				rejecting.map((day, index) => {
					const own = others.includes(day) ? day : days[index]!;
					return { ...day, objects: foundOf(own).objects };
				}),
			),
		}),
	};
}

/**
 * Only the objects themselves can tell how many rows stay in quarantine if any were released, how many count if any were erased,
 * how many a filter wants, and which members bodies have.
 */
async function sized(
	plans: TablePlans,
	files: DownloadedDays,
	{ dates, erasures }: Manifest,
	filter: LoadInput["filter"],
	columns: FoundColumns | undefined,
): Promise<TablePlans> {
	const isErased = new Set(
		dates
			.filter(({ erased }) => erased || erasures?.isUnderWay)
			.map(({ date }) => date),
	);
	const size = async (days: LoadDay[], columns?: FoundColumns) => {
		const found: LoadDay[] = [];
		for (const day of days) {
			const isKnown = !filter && !day.released && !isErased.has(day.date);
			if (day.objects.length === 0 || (isKnown && !columns)) {
				found.push(day);
				continue;
			}
			const rows = await files.with([day], async ([one], session) => {
				await columns?.read([one!], session);
				return one!.rows;
			});
			found.push(isKnown ? day : { ...day, rows });
		}
		return found;
	};
	const days = await size(plans.days, columns);
	return plans.apart ? { days, apart: await size(plans.apart) } : { days };
}

function resultOf(
	{ run, dates }: Manifest,
	{ days, apart }: TablePlans,
	adds: boolean,
): JobSuccess {
	const objects = days.flatMap((day) => day.objects);
	const [first, last] = [dates.at(0), dates.at(-1)];
	const isHeld = (day: LoadDay) => day.kept && addedRows(run, day) === 0;
	const isSame = (day: LoadDay, index: number) => {
		const other = apart?.[index];
		return isHeld(day) && (!other || isHeld(other));
	};
	return {
		version: 1,
		outcome: "Succeeded",
		rows: dates.reduce(
			(sum, { rows, erased }) => sum + rows - (erased?.rows ?? 0),
			0,
		),
		bytes: objects.reduce((sum, { bytes }) => sum + bytes, 0),
		objects: objects.length,
		...(adds && {
			addedRows: days.reduce((sum, day) => sum + addedRows(run, day), 0),
			unchangedDates: days.filter(isSame).length,
		}),
		...(first && last && { dates: { start: first.date, end: last.date } }),
	};
}

/** That the days' table has afterwards. */
function rowsIn(days: LoadDay[]): number {
	return days.reduce(
		(sum, { rows, kept }) => sum + rows + (kept?.rows ?? 0),
		0,
	);
}
