import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import {
	type LoadInput,
	maxRepairedDates,
} from "../../packages/contracts/job.ts";
import type { Manifest } from "../../packages/contracts/manifest.ts";
import type { UtcDate } from "../../packages/contracts/utc-date.ts";
import type { Session } from "../../packages/duckdb/session.ts";
import { trustAuthorities } from "../../packages/service/secret-files.ts";
import { isRest } from "../../packages/warehouses/load/body-value.ts";
import {
	addUnfit,
	type LoadDay,
	type UnfitRows,
} from "../../packages/warehouses/load/load-day.ts";
import { requireFreeName } from "../../packages/warehouses/load/table-mark.ts";
import {
	type ExistingColumn,
	fitColumns,
} from "../../packages/warehouses/load/table-plan.ts";
import {
	type DayFiles,
	TableChanged,
	type Warehouse,
} from "../../packages/warehouses/load/warehouse.ts";
import { warehouses } from "../../packages/warehouses/registry.ts";
import { LinkReader } from "../job/link-reader.ts";
import { readManifest, storeLog, storeResult } from "../job/manifest.ts";
import type { JobContext, JobSuccess } from "../job/process.ts";
import { isChangedByOthers } from "./addition.ts";
import { DownloadedDays } from "./day-files.ts";
import { EventTypeWarehouse } from "./event-type-tables.ts";
import { FoundColumns, requireTypes } from "./found-columns.ts";
import { openWarehouse } from "./generated/warehouses.ts";
import {
	type HeldDates,
	planDays,
	planTables,
	type TablePlans,
} from "./load-days.ts";
import {
	findShrinking,
	type GuardedTable,
	isAddedTo,
	onDates,
	requireKept,
	withLost,
	withoutStaying,
} from "./loss-guard.ts";
import { LostRows, type UnrecordedDate } from "./lost-rows.ts";
import { RejectedDays, rejectedTableOf } from "./rejected-values.ts";
import { onDisk, resultOf, rowsIn, sized, unfitValues } from "./result.ts";
import {
	byPersonsWord,
	dayWouldShrink,
	lossWords,
	type ShrinkingDay,
} from "./shrinking-days.ts";
import {
	countMeant,
	doLater,
	type LaterWork,
	type WantedTable,
	wantedTables,
	withColumnsOf,
} from "./wanted-tables.ts";

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
	requireFreeName(given.table.name);
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
		if (input.counts) return await attempt.count(input.counts);
		for (let [adds, keepsAll] = [input.adds ?? false, false]; ; )
			try {
				return await attempt.carryOut(adds, keepsAll);
			} catch (error) {
				// It leaves them out the next time.
				if (error instanceof LostRows) continue;
				if (keepsAll || !(error instanceof TableChanged)) throw error;
				log.info({ reason: error.message }, "replacing the days as a whole");
				[adds, keepsAll] = [false, true];
			}
	} finally {
		await attempt.close();
		await rm(directory, { recursive: true, force: true });
	}
}

class Attempt {
	/** As the operator wants it. */
	readonly #given: LoadInput;
	/** As the table that is there takes it. */
	#input: LoadInput;
	/** As archive has written it. */
	readonly #listed: Manifest;
	/** Without the dates that stay as they are. */
	#manifest: Manifest;
	readonly #directory: string;
	readonly #context: JobContext;
	#warehouse: Promise<Warehouse> | undefined;
	/** The same, where there is a table for each type of event. */
	#split: EventTypeWarehouse | undefined;
	#repaired: UtcDate[] = [];
	#later: LaterWork | undefined;
	/** What the comparison of ids has found. */
	readonly #lost: ShrinkingDay[] = [];
	/** The dates that are still to be compared; undefined until their ids were read. */
	#unrecorded: Set<UnrecordedDate> | undefined;
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
		this.#listed = manifest;
		this.#manifest = manifest;
		this.#directory = directory;
		this.#context = context;
	}

	/**
	 * @param adds Whether to insert only what is new, where the Destination says what it holds. Only then it may throw
	 * {@link TableChanged}.
	 * @param keepsAll Whether dates that would lose rows stay as they are, also where it is known what is new in them.
	 */
	async carryOut(adds: boolean, keepsAll = false): Promise<JobSuccess> {
		await this.#fit();
		const { table } = this.#input;
		const unheld = async (session: Session) =>
			(await this.#open()).unheld?.(table, session) ?? [];
		const context = this.#context;
		const files = new DownloadedDays(table, this.#directory, context, unheld);
		try {
			return await this.#carryOut(adds, keepsAll, files, unheld);
		} catch (error) {
			// Somebody else has changed the table, so what it has is read again.
			if (!(error instanceof LostRows)) this.#unrecorded = undefined;
			else {
				const [own] = wantedTables(this.#input, this.#manifest);
				const days = planDays(own.dates, this.#directory);
				this.#lost.push(error.day, ...(await files.lostAmong(days)));
			}
			throw error;
		} finally {
			await files.close();
		}
	}

	async #carryOut(
		adds: boolean,
		keepsAll: boolean,
		files: DownloadedDays,
		unheld: ConstructorParameters<typeof RejectedDays>[2],
	): Promise<JobSuccess> {
		const input = this.#input;
		const { run } = this.#listed;
		this.#manifest = this.#listed;
		const listed = wantedTables(input, this.#manifest);
		const whole = planTables(listed, this.#rejectedTable, this.#directory);
		const isEager = wantsFirstDay(input);
		const looking = this.#held(listed).then(async (held) => ({
			held,
			shrinking: await this.#shrinking(listed, held),
		}));
		// Days that are on their way already wait for it.
		files.unrecorded = looking.then(
			() => this.#unrecorded!,
			() => new Set(),
		);
		if (isEager && !adds) beginFirst(whole.days, files);
		const { held, shrinking } = await looking;
		const names = this.#allOf(listed).map(({ name }) => name);
		const staying = shrinking.filter(
			(day) =>
				keepsAll ||
				!isAddedTo(
					day,
					names.map((name) => held?.get(name)),
				),
		);
		this.#manifest = withoutStaying(this.#listed, staying);
		const tables = wantedTables(input, this.#manifest);
		const [own] = tables;
		const counted = adds ? held : undefined;
		this.#noteRepairs(counted);
		const plans =
			counted || shrinking.length > 0
				? planTables(
						tables,
						this.#rejectedTable,
						this.#directory,
						counted ?? onDates(held, shrinking),
						new Set(shrinking.map(({ date }) => date)),
					)
				: whole;
		const planned = resultOf(run, own, plans, counted !== undefined);
		const { version, outcome, dates, ...figures } = planned;
		const { name, pipeline, account } = input.run;
		const days = plans.days.length;
		this.#context.log.info(
			{ run: name, pipeline, account, days, ...figures },
			"downloading the objects",
		);
		const rejected = new RejectedDays(input.table, files, unheld);
		const found = input.evolves && new FoundColumns(this.#given, input.evolves);
		const ready = takesDaysOneByOne(input)
			? await sized(plans, files, found)
			: await onDisk(plans, files, rejected, found);
		found?.requireNone();
		if (isEager && adds) beginFirst(ready.days, files);
		const all = await this.#load(tables, ready, files, async () => {
			const days = takesDaysOneByOne(input)
				? await rejected.counted({ ...plans, days: ready.days })
				: ready.rejecting!;
			return { days, files: rejected };
		});
		const isWhole = this.#manifest.asked.extent === "Whole";
		const otherRows =
			isWhole && all !== undefined ? all - rowsIn(ready.days) : 0;
		const otherTypes = this.#split?.otherTypes;
		const { kept, refused } = byPersonsWord(shrinking, staying, this.#listed);
		if (refused.length > 0) throw dayWouldShrink(refused, false);
		const lost = lossWords(this.#listed.dates, kept);
		if (lost !== undefined) this.#context.log.warn({ reason: lost }, "lost");
		const unfit = await unfitIn(plans.days, files);
		const unfitColumns = unfitValues(unfit);
		const rest = input.table.columns.find(({ from }) => isRest(from));
		const rescuedRows = (rest && unfit[rest.name]?.values) ?? 0;
		const warnings = [lost, await this.#warning()].filter(
			(words) => words !== undefined,
		);
		return {
			// Only the objects themselves may tell how many rows there are.
			...(own.dates.every(({ rows }) => rows !== undefined)
				? planned
				: resultOf(run, own, ready, counted !== undefined)),
			...(kept.length > 0 && { rows: rowsIn(ready.days) }),
			...(this.#repaired.length > 0 && { repairedDates: this.#repaired }),
			...(otherRows > 0 && { otherRows }),
			...(otherTypes && { otherTypes }),
			...Object.fromEntries(
				ready.beside.map((days, index) => [
					tables[index + 1]!.counted,
					rowsIn(days),
				]),
			),
			...(rescuedRows > 0 && { rescuedRows }),
			...this.#later?.figures,
			...(unfitColumns.length > 0 && { unfitValues: unfitColumns }),
			...(warnings.length > 0 && { warning: warnings.join(" ").slice(0, 500) }),
		};
	}

	/** Counts the rows that are meant in all tables of the Pipeline, and loads nothing. */
	async count(meant: NonNullable<LoadInput["counts"]>): Promise<JobSuccess> {
		const tables = this.#standing(wantedTables(this.#input, this.#manifest));
		const about = { manifest: this.#manifest, tables };
		return countMeant(await this.#open(), this.#input, about, meant);
	}

	async close(): Promise<void> {
		const warehouse = await this.#warehouse?.catch(() => undefined);
		await warehouse?.close?.();
	}

	#noteRepairs(held: ReadonlyMap<string, HeldDates> = new Map()): void {
		const changed = [...held.values()].flatMap((dates) =>
			[...(dates ?? [])].filter(
				([, day]) => !day.isFilledOtherwise && isChangedByOthers(day),
			),
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

	/** By the tables' names; undefined if the Destination can't say. */
	async #held(
		tables: readonly WantedTable[],
	): Promise<ReadonlyMap<string, HeldDates> | undefined> {
		const destination = await this.#open();
		if (!destination.held) return undefined;
		const held = new Map<string, HeldDates>();
		for (const table of this.#allOf(tables))
			held.set(
				table.name,
				await destination.held({ ...this.#input, table }, this.#manifest),
			);
		return held;
	}

	/**
	 * The dates that would lose rows for good. Throws {@link JobFailure} DayWouldShrink where the table is replaced, so that no date of it
	 * can stay.
	 */
	async #shrinking(
		tables: readonly WantedTable[],
		held: ReadonlyMap<string, HeldDates> = new Map(),
	): Promise<ShrinkingDay[]> {
		const destination = await this.#open();
		const guarded = tables.map(({ table, dates }): GuardedTable => {
			const { name } = table;
			const isOwn = name === this.#input.table.name;
			const names = isOwn ? this.#ownTables() : [name];
			const own = held.get(name);
			const heldOn = (date: UtcDate) =>
				this.#split?.heldOn(date, names) ?? [own?.get(date) ?? []].flat();
			const isRead =
				own?.values().every(({ isReplaced }) => !isReplaced) ?? false;
			return { table, dates, names, heldOn, isRead };
		});
		const dates = new Set<UnrecordedDate>();
		const now = await findShrinking(
			destination,
			guarded,
			this.#input,
			this.#manifest,
			this.#unrecorded ? undefined : { directory: this.#directory, dates },
		);
		this.#unrecorded ??= dates;
		const found = withLost(now, this.#lost);
		const losing = found.map(({ date }) => date);
		if (losing.length > 0)
			this.#context.log.error(
				{ dates: losing },
				"the table would lose rows of dates",
			);
		requireKept(found, guarded, this.#input);
		return found;
	}

	/**
	 * The Run's own table comes first. Killed after it, the others lack rows until the next attempt or Run: each has a mark of its own, which
	 * says what it holds.
	 * @param rejecting gives the days of the table of rejected values, once the table is loaded.
	 */
	async #load(
		tables: readonly [WantedTable, ...WantedTable[]],
		ready: TablePlans,
		files: DownloadedDays,
		rejecting: () => Promise<{ days: LoadDay[]; files: DayFiles }>,
	): Promise<number | undefined> {
		const destination = await this.#open();
		const input = this.#input;
		const [, ...others] = this.#allOf(tables);
		for (const table of others)
			await destination.requireUsable({ ...input, table }, this.#manifest);
		const loadInto = (
			table: LoadInput["table"],
			days: LoadDay[],
			files: DayFiles,
		) => destination.load({ ...input, table }, this.#manifest, days, files);
		const rows = await loadInto(input.table, ready.days, files);
		for (const [index, days] of ready.beside.entries())
			await loadInto(tables[index + 1]!.table, days, files);
		if (this.#rejectedTable) {
			const { days, files } = await rejecting();
			await loadInto(this.#rejectedTable, days, files);
		}
		this.#later = await doLater(
			destination,
			input,
			{ manifest: this.#manifest, tables: this.#standing(tables) },
			this.#context.log,
		);
		return rows === undefined
			? undefined
			: rows - this.#later.goneFrom(this.#ownTables());
	}

	/** All tables that the Run loads, with those that stand for its own. */
	#standing(tables: readonly WantedTable[]): LoadInput["table"][] {
		const [own, ...others] = this.#allOf(tables);
		return [...this.#ownTables().map((name) => ({ ...own!, name })), ...others];
	}

	/** All tables that the Run loads, its own first. */
	#allOf(tables: readonly WantedTable[]): LoadInput["table"][] {
		const rejected = this.#rejectedTable;
		return [
			...tables.map(({ table }) => table),
			...(rejected ? [rejected] : []),
		];
	}

	/** The names of the tables that stand for the Run's own. */
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

	async #warning(): Promise<string | undefined> {
		const [column, ...others] = this.#leftOut;
		const leftOut =
			column &&
			`Column "${column.name}" of the table has type ${column.type.slice(0, 100)}, which no column has that follows the events${others.length > 0 ? `, and ${others.length} more have such types` : ""}: their members are in "_rescued".`;
		return this.#later?.warning ?? leftOut ?? (await this.#warehouse)?.warning;
	}

	/** Late for a load that replaces, so that its downloads begin early. */
	#open(): Promise<Warehouse> {
		this.#warehouse ??= this.#opened();
		return this.#warehouse;
	}

	async #opened(): Promise<Warehouse> {
		const input = this.#input;
		const { eventTypes } = input;
		const opened = await openWarehouse(input.destination, this.#context);
		if (!eventTypes) return opened;
		this.#split = new EventTypeWarehouse(
			opened,
			input,
			eventTypes,
			takesDaysOneByOne(input),
		);
		return this.#split;
	}
}

function takesDaysOneByOne({ destination }: LoadInput): boolean {
	return warehouses.get(destination.type)!.takesDaysOneByOne;
}

/** Of what the days' table has afterwards. */
async function unfitIn(
	days: LoadDay[],
	files: DownloadedDays,
): Promise<UnfitRows> {
	const counts: UnfitRows[] = [];
	for (const day of days)
		counts.push(await files.unfitOf(day), day.kept?.unfit ?? {});
	return addUnfit(counts);
}

function beginFirst(days: readonly LoadDay[], files: DownloadedDays): void {
	const first = days.find(({ objects }) => objects.length > 0);
	if (first) files.begin(first);
}

/** Whether the first day is wanted for certain, before the warehouse is asked about the table. */
function wantsFirstDay({ destination }: LoadInput): boolean {
	const { takesDaysOneByOne, passesDaysDone } = warehouses.get(
		destination.type,
	)!;
	return takesDaysOneByOne && !passesDaysDone;
}
