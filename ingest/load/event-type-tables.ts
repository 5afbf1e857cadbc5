import type {
	EventTypeTables,
	LoadInput,
} from "../../packages/contracts/job.ts";
import type { Manifest } from "../../packages/contracts/manifest.ts";
import { isNamedByDigest } from "../../packages/contracts/name-digest.ts";
import type { UtcDate } from "../../packages/contracts/utc-date.ts";
import type { Session } from "../../packages/duckdb/session.ts";
import { JobFailure } from "../../packages/warehouses/load/failure.ts";
import type {
	HeldDate,
	LoadDay,
} from "../../packages/warehouses/load/load-day.ts";
import type {
	DayFiles,
	Warehouse,
} from "../../packages/warehouses/load/warehouse.ts";
import { isChangedByOthers } from "./addition.ts";
import { SplitDays } from "./split-days.ts";

/**
 * A warehouse in which one table is many: one for each type of event, and one for all others. Its days are split once, into files
 * on the scratch volume, and each table is loaded as if it were a Pipeline's only one. So what holds of a table holds of each. What
 * stands in the way of one table keeps no other from its rows: the Run fails with it at the end.
 */
export class EventTypeWarehouse implements Warehouse {
	/** Absent where the warehouse can't say. */
	readonly held?: NonNullable<Warehouse["held"]>;
	readonly #warehouse: Warehouse;
	readonly #table: string;
	readonly #types: EventTypeTables;
	readonly #takesDaysOneByOne: boolean;
	/** By table: what it held when the load began. */
	readonly #held = new Map<string, ReadonlyMap<UtcDate, HeldDate>>();
	/** What the latest load put into the table of other types, of events that have one. */
	otherTypes: { rows: number; types: number } | undefined;

	/** @param input of the Run. */
	constructor(
		warehouse: Warehouse,
		input: Pick<LoadInput, "table">,
		types: EventTypeTables,
		takesDaysOneByOne: boolean,
	) {
		this.#warehouse = warehouse;
		this.#table = input.table.name;
		this.#types = types;
		this.#takesDaysOneByOne = takesDaysOneByOne;
		if (warehouse.held)
			this.held = (input, manifest) => this.#heldIn(input, manifest);
	}

	get warning(): string | undefined {
		return this.#warehouse.warning;
	}

	/** Throws {@link JobFailure} EventTypesFound for tables of types that are somebody else's, so that the types get others. */
	async requireUsable(input: LoadInput, manifest: Manifest): Promise<void> {
		const failures = await this.together(() =>
			this.#onEach(input, (one) =>
				this.#warehouse.requireUsable(one, manifest),
			),
		);
		const taken = this.#types.tables
			.filter(
				({ type, table }) =>
					failures.get(table)?.code === "TableNotOurs" &&
					!isNamedByDigest(type, table),
			)
			.map(({ table }) => table);
		if (taken.length > 0) {
			const failure = new JobFailure(
				"EventTypesFound",
				`Tables of types of events aren't this Pipeline's: ${taken.join(", ")}`,
			);
			failure.takenTables = taken;
			throw failure;
		}
		const [first] = failures.values();
		if (first && failures.size === this.#tablesOf(input).length) throw first;
	}

	/** By each of the tables that has a record of the date, once all were asked. */
	heldOn(date: UtcDate, names: readonly string[]): HeldDate[] {
		return names.flatMap((name) => this.#held.get(name)?.get(date) ?? []);
	}

	/** There is no one table, and none whose columns follow the events. */
	async typesOf(): Promise<undefined> {}

	unheld(table: LoadInput["table"], session: Session) {
		return this.#warehouse.unheld?.(table, session) ?? [];
	}

	/** Throws {@link JobFailure} EventTypesFound, before it changes anything, if there are types that may get a table. */
	async load(
		input: LoadInput,
		manifest: Manifest,
		days: LoadDay[],
		files: DayFiles,
	): Promise<number | undefined> {
		if (input.table.name !== this.#table)
			return this.#warehouse.load(input, manifest, days, files);
		await this.requireUsable(input, manifest);
		const split = new SplitDays(input.table, this.#types, files, (session) =>
			this.unheld(input.table, session),
		);
		for (const day of days) await split.add(day, !this.#takesDaysOneByOne);
		this.otherTypes = split.otherTypes(this.#types.free);
		return this.together(async () => {
			let all: number | undefined = 0;
			const failures = await this.#onEach(input, async (one, index) => {
				const held = this.#held.get(one.table.name);
				const days = split.daysOf(index, held);
				const rows = await this.#warehouse
					.load(one, manifest, days, split)
					.finally(() => split.remove(index));
				all = all === undefined || rows === undefined ? undefined : all + rows;
			});
			const [first] = failures.values();
			if (first) throw first;
			return all;
		});
	}

	/** Returns the failures that are of one table alone, by table. */
	async #onEach(
		input: LoadInput,
		work: (one: LoadInput, index: number) => Promise<void>,
	): Promise<Map<string, JobFailure<string>>> {
		const failures = new Map<string, JobFailure<string>>();
		for (const [index, one] of this.#tablesOf(input).entries())
			try {
				await work(one, index);
			} catch (error) {
				if (!isOfOneTable(error)) throw error;
				failures.set(one.table.name, error);
			}
		return failures;
	}

	/** Each of the tables has the mark. */
	rowAccess(
		...of: Parameters<Warehouse["rowAccess"]>
	): ReturnType<Warehouse["rowAccess"]> {
		return this.#warehouse.rowAccess(...of);
	}

	together<T>(work: () => Promise<T>): Promise<T> {
		return this.#warehouse.together?.(work) ?? work();
	}

	check(): Promise<void> {
		return this.#warehouse.check();
	}

	async close(): Promise<void> {
		await this.#warehouse.close?.();
	}

	/** The tables that stand for the one of the input, that of other types first; the input itself if it is about a table beside them. */
	#tablesOf(input: LoadInput): LoadInput[] {
		const { table, filter } = input;
		// Who adopts has looked at the table that the Pipeline names, and not at one that a sender's event names.
		const { adopt: _, ...own } = input;
		if (table.name !== this.#table) return [input];
		const { place, tables, other } = this.#types;
		const noneOf = tables.map(({ type }) => type);
		return [
			{
				...input,
				table: {
					...table,
					name: other,
					description: `${table.description}: those without a table for their type`,
				},
				filter: { ...filter, table: { place, noneOf } },
			},
			...tables.map(({ type, table: name }) => ({
				...own,
				table: {
					...table,
					name,
					description: `${table.description}: those of type ${type}`,
				},
				filter: { ...filter, table: { place, type } },
			})),
		];
	}

	/** Of dates of which all tables have the same objects. The others are replaced, in every table. */
	async #heldIn(input: LoadInput, manifest: Manifest) {
		const all: ReadonlyMap<UtcDate, HeldDate>[] = [];
		let isKnown = true;
		await this.together(async () => {
			await this.#onEach(input, async (one) => {
				this.#held.set(one.table.name, new Map());
				const held = await this.#warehouse.held!(one, manifest);
				if (held) all.push(held);
				else isKnown = false;
				this.#held.set(one.table.name, held ?? new Map());
			});
		});
		if (!isKnown) return undefined;
		return new Map(
			manifest.dates.flatMap(({ date }) => {
				const days = all.flatMap((held) => held.get(date) ?? []);
				const found = days.length === all.length && heldTogether(days);
				return found ? [[date, found] as const] : [];
			}),
		);
	}
}

/** Whether another table may be loaded all the same. What a later attempt mends, it mends for all. */
function isOfOneTable(error: unknown): error is JobFailure<string> {
	return (
		error instanceof JobFailure &&
		!error.retryable &&
		!["EventTypesFound", "Superseded", "TableIncomplete"].includes(error.code)
	);
}

/**
 * What tables hold of a date as if they were one; undefined if their rows come from different objects, and nobody else has changed
 * them.
 */
function heldTogether(days: readonly HeldDate[]): HeldDate | undefined {
	const objects = days.map(({ loads }) =>
		[...new Set(loads.flatMap(({ objects }) => objects))].toSorted().join("\n"),
	);
	const isChanged = days.some(isChangedByOthers);
	if (!isChanged && new Set(objects).size > 1) return undefined;
	const text = (of: (day: HeldDate) => string) => days.map(of).join();
	const isOther = days.some(({ isFilledOtherwise }) => isFilledOtherwise);
	return {
		...(isOther && { isFilledOtherwise: true }),
		...(days.some(({ isReplaced }) => isReplaced) && { isReplaced: true }),
		rows: days.reduce((sum, { rows }) => sum + rows, 0),
		digest: text(({ digest }) => digest),
		// Rows that one table has too many may be as many as another lacks, so these tell.
		loadedDigest: text(({ loadedDigest }) => loadedDigest),
		loads: days.flatMap(({ loads }) => loads),
	};
}
