import { rm } from "node:fs/promises";
import type { LoadInput } from "../../packages/contracts/job.ts";
import {
	boundedMemory,
	memoryForWideTables,
} from "../../packages/duckdb/memory.ts";
import type { Session } from "../../packages/duckdb/session.ts";
import { oneAtATime } from "../../packages/fair/fair-limit.ts";
import { areLarge, areWide } from "../../packages/warehouses/load/columns.ts";
import {
	type DayObject,
	type LoadDay,
	rowsOf,
	type UnfitRows,
} from "../../packages/warehouses/load/load-day.ts";
import {
	countUnfit,
	mayBeUnfit,
	type UnheldValues,
} from "../../packages/warehouses/load/value-counts.ts";
import type { DayFiles } from "../../packages/warehouses/load/warehouse.ts";
import { checkObjects, downloadObjects, filesOf } from "../job/download.ts";
import type { JobContext } from "../job/process.ts";
import { LostRows, requireNoneLost, type UnrecordedDate } from "./lost-rows.ts";
import type { ShrinkingDay } from "./shrinking-days.ts";
import { carryOutSteps } from "./steps/carry-out.ts";

/**
 * Gets the objects of days onto the scratch volume, checks them, carries out the days' steps, and counts the values that don't fit.
 * Throws {@link JobFailure}.
 */
export class DownloadedDays implements DayFiles {
	readonly #columns: LoadInput["table"]["columns"];
	readonly directory: string;
	readonly #context: JobContext;
	readonly #unheld: (session: Session) => Promise<UnheldValues[]>;
	/** Dates whose rows are compared with the day's objects as they arrive. */
	unrecorded: Promise<Set<UnrecordedDate>> = Promise.resolve(new Set());
	/** By the days' objects. */
	readonly #unfit = new Map<DayObject[], UnfitRows>();
	#session: Promise<Session> | undefined;
	#begun: BegunDay | undefined;
	readonly #inTurn = oneAtATime();

	/** @param unheld What the warehouse of the table can't hold. */
	constructor(
		{ columns }: LoadInput["table"],
		directory: string,
		context: JobContext,
		unheld: (session: Session) => Promise<UnheldValues[]>,
	) {
		this.#columns = columns;
		this.directory = directory;
		this.#context = context;
		this.#unheld = unheld;
	}

	/** Gets all days; returns them as they are on disk. */
	async all(
		days: LoadDay[],
		arrived?: (object: DayObject) => void,
		unwanted?: AbortSignal,
	): Promise<LoadDay[]> {
		const { log, signal } = this.#context;
		const found = new Map<LoadDay, LoadDay>();
		const check = async (day: LoadDay) => {
			found.set(day, await this.#check(day));
		};
		await downloadObjects(
			days,
			check,
			log,
			unwanted ? AbortSignal.any([signal, unwanted]) : signal,
			(object) => {
				arrived?.(object);
				// DuckDB takes as long to load as the rest of the program. Meanwhile the next objects are on their way.
				this.#opened().catch(() => undefined);
			},
		);
		return days.map((day) => found.get(day) ?? day);
	}

	/** Begins to get a day, which the next call of {@link with} gets if it wants it, and deletes otherwise. */
	begin(day: LoadDay): void {
		const arrived: DayObject[] = [];
		const stop = new AbortController();
		const arrive = (object: DayObject) => {
			arrived.push(object);
			begun.onArrival?.(object);
		};
		const found = this.all([day], arrive, stop.signal);
		const begun: BegunDay = { day, arrived, found, stop };
		// Whoever gets the day has the failure.
		begun.found.catch(() => undefined);
		this.#begun = begun;
	}

	async with<T>(
		days: LoadDay[],
		use: (days: LoadDay[], session: Session) => Promise<T>,
		arrived?: (object: DayObject) => void,
	): Promise<T> {
		return this.#inTurn(async () => {
			try {
				return await use(await this.#get(days, arrived), await this.#opened());
			} finally {
				await removeFiles(days);
			}
		});
	}

	async #get(
		days: LoadDay[],
		arrived?: (object: DayObject) => void,
	): Promise<LoadDay[]> {
		const begun = this.#begun;
		if (!begun || days.length === 0) return this.all(days, arrived);
		this.#begun = undefined;
		if (!days.includes(begun.day)) {
			await discard(begun);
			return this.all(days, arrived);
		}
		if (arrived) for (const object of begun.arrived) arrived(object);
		begun.onArrival = arrived;
		const [first] = await begun.found;
		const others = await this.all(
			days.filter((day) => day !== begun.day),
			arrived,
		);
		return days.map((day) => (day === begun.day ? first! : others.shift()!));
	}

	/** Of the days that weren't compared yet, those that would lose rows: one more attempt leaves out all of them. */
	async lostAmong(days: LoadDay[]): Promise<ShrinkingDay[]> {
		const left = [...(await this.unrecorded)].map(({ date }) => date);
		const lost: ShrinkingDay[] = [];
		for (const day of days.filter(({ date }) => left.includes(date)))
			try {
				await this.with([day], async () => undefined);
			} catch (error) {
				if (!(error instanceof LostRows)) throw error;
				lost.push(error.day);
			}
		return lost;
	}

	/** The values of a day that don't fit their column, if nothing must be downloaded to know them. */
	knownUnfit({ objects }: LoadDay): UnfitRows | undefined {
		return objects.length === 0 ? {} : this.#unfit.get(objects);
	}

	/** The same. A day that an earlier attempt has put into its table is downloaded again, since nothing else tells. */
	async unfitOf(day: LoadDay): Promise<UnfitRows> {
		const known = this.knownUnfit(day);
		if (known) return known;
		const unheld = await this.#unheld(await this.#opened());
		return mayBeUnfit(this.#columns, unheld)
			? this.with([day], async ([found]) => found!.unfit!)
			: {};
	}

	async close(): Promise<void> {
		if (this.#begun) await discard(this.#begun);
		const session = await this.#session?.catch(() => undefined);
		session?.close();
	}

	async #check(day: LoadDay): Promise<LoadDay> {
		const session = await this.#opened();
		const checked = await checkObjects(day, session);
		await requireNoneLost(day, await this.unrecorded, session);
		if (areLarge(checked)) await session.run("SET threads = 1");
		const objects = await carryOutSteps({ ...day, objects: checked }, session);
		const unheld = await this.#unheld(session);
		const unfit = await countUnfit(this.#columns, unheld, objects, session);
		this.#unfit.set(day.objects, unfit);
		return { ...day, rows: rowsOf(objects), objects, unfit };
	}

	#opened(): Promise<Session> {
		this.#session ??= import("../../packages/duckdb/session.ts").then(
			async ({ Session }) => {
				const session = await Session.inMemory(
					{
						...boundedMemory(this.directory),
						...(areWide(this.#columns) && memoryForWideTables()),
					},
					this.#context.signal,
				);
				// It would put a few large rows together again that came in chunks of their own.
				await session.run("SET enable_caching_operators = false");
				return session;
			},
		);
		return this.#session;
	}
}

/** A day whose objects are on their way before anybody asks for them. */
interface BegunDay {
	day: LoadDay;
	found: Promise<LoadDay[]>;
	arrived: DayObject[];
	stop: AbortController;
	onArrival?: ((object: DayObject) => void) | undefined;
}

async function discard({ day, found, stop }: BegunDay): Promise<void> {
	stop.abort();
	await found.catch(() => undefined);
	await removeFiles([day]);
}

async function removeFiles(days: LoadDay[]): Promise<void> {
	for (const { file } of days.flatMap(filesOf)) await rm(file, { force: true });
}
