import { rename, rm } from "node:fs/promises";
import type {
	EventTypeTables,
	LoadInput,
	TableColumn,
} from "../../packages/contracts/job.ts";
import type { Manifest } from "../../packages/contracts/manifest.ts";
import type { ValidationRecord } from "../../packages/contracts/tracking-plan.ts";
import {
	boundedMemory,
	memoryForWideTables,
	passingParquet,
} from "../../packages/duckdb/memory.ts";
import { parquetRows, quoteText } from "../../packages/duckdb/quoting.ts";
import type { Session } from "../../packages/duckdb/session.ts";
import { oneAtATime } from "../../packages/fair/fair-limit.ts";
import { defineBodyValues } from "../../packages/warehouses/load/body-values.ts";
import {
	areLarge,
	areWide,
	bodyColumnsOf,
	headerColumnsOf,
	headerSql,
	isUnfitSql,
	type SizedFile,
} from "../../packages/warehouses/load/columns.ts";
import {
	type DayObject,
	type LoadDay,
	rowsOf,
	type UnfitRows,
} from "../../packages/warehouses/load/load-day.ts";
import {
	countOwnValues,
	countValues,
} from "../../packages/warehouses/load/value-counts.ts";
import type { DayFiles } from "../../packages/warehouses/load/warehouse.ts";
import { downloadObjects, filesOf } from "../job/download.ts";
import { checkObjects } from "../job/object-check.ts";
import type { JobContext } from "../job/process.ts";
import { chosenEvents, defineTypes, typeOfEvent } from "./event-filter.ts";
import {
	withoutErased,
	withoutHeld,
	withoutReleased,
} from "./released-events.ts";
import { withoutProperties } from "./without-properties.ts";

/**
 * Gets the objects of days onto the scratch volume, checks them, and leaves out the events that the filter doesn't want, what
 * tracking plans omit, and what was released from quarantine. Throws {@link JobFailure}.
 */
export class DownloadedDays implements DayFiles {
	readonly #table: string;
	readonly #columns: LoadInput["table"]["columns"];
	readonly directory: string;
	readonly #context: JobContext;
	readonly #hasErased: boolean;
	readonly #filter: LoadInput["filter"];
	readonly #eventTypes: LoadInput["eventTypes"];
	readonly #unfit = new Map<LoadDay, UnfitRows>();
	#session: Promise<Session> | undefined;
	#begun: BegunDay | undefined;
	readonly #inTurn = oneAtATime();

	/** @param erasures of the manifest. */
	constructor(
		{ table: { name, columns }, filter, eventTypes }: LoadInput,
		{ erasures }: Pick<Manifest, "erasures">,
		directory: string,
		context: JobContext,
	) {
		this.#table = name;
		this.#columns = columns;
		this.directory = directory;
		this.#context = context;
		this.#hasErased = erasures !== undefined;
		this.#filter = filter;
		this.#eventTypes = eventTypes;
	}

	/** Gets all days; returns them as they are on disk. */
	async all(
		days: LoadDay[],
		early?: (object: DayObject) => void,
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
				early?.(object);
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
			begun.early?.(object);
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
		early?: (object: DayObject) => void,
	): Promise<T> {
		return this.#inTurn(async () => {
			try {
				return await use(await this.#get(days, early), await this.#opened());
			} finally {
				await removeFiles(days);
			}
		});
	}

	async #get(
		days: LoadDay[],
		early?: (object: DayObject) => void,
	): Promise<LoadDay[]> {
		const begun = this.#begun;
		if (!begun || days.length === 0) return this.all(days, early);
		this.#begun = undefined;
		if (!days.includes(begun.day)) {
			await discard(begun);
			return this.all(days, early);
		}
		if (early) for (const object of begun.arrived) early(object);
		begun.early = early;
		const [first] = await begun.found;
		const others = await this.all(
			days.filter((day) => day !== begun.day),
			early,
		);
		return days.map((day) => (day === begun.day ? first! : others.shift()!));
	}

	unfitOf(day: LoadDay): UnfitRows | undefined {
		const counts = this.#unfit.get(day);
		if (counts) return counts;
		const isNone = day.objects.length === 0 || !mayBeUnfit(this.#columns);
		return isNone ? {} : undefined;
	}

	addUnfit(day: LoadDay, unfit: UnfitRows): void {
		const counts = { ...this.#unfit.get(day) };
		for (const [column, { rows, values, eventID }] of Object.entries(unfit)) {
			const known = counts[column];
			counts[column] = {
				rows: rows + (known?.rows ?? 0),
				// What doesn't fit the column itself is among these, too.
				values: Math.max(values, known?.values ?? 0),
				...(eventID !== undefined && { eventID }),
			};
		}
		this.#unfit.set(day, counts);
	}

	async close(): Promise<void> {
		if (this.#begun) await discard(this.#begun);
		const session = await this.#session?.catch(() => undefined);
		session?.close();
	}

	async #check(day: LoadDay): Promise<LoadDay> {
		const session = await this.#opened();
		const checked = await checkObjects(day, session);
		if (areLarge(checked)) await session.run("SET threads = 1");
		const counted = this.#hasErased
			? await withoutErased(checked, session)
			: checked;
		const whole = { ...day, objects: counted };
		const left = await withoutHeld(whole, this.#table, session);
		const filter = this.#filter;
		const objects = filter ? await chosenEvents(left, filter, session) : left;
		await leaveOutOmitted(day, session, this.#eventTypes?.place);
		const unfit = await countUnfit(this.#columns, objects, session);
		this.#unfit.set(day, unfit);
		const rows = this.#hasErased || filter ? rowsOf(objects) : day.rows;
		return withoutReleased({ ...day, rows, objects, unfit }, session);
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
	early?: ((object: DayObject) => void) | undefined;
}

async function discard({ day, found, stop }: BegunDay): Promise<void> {
	stop.abort();
	await found.catch(() => undefined);
	await removeFiles([day]);
}

async function removeFiles(days: LoadDay[]): Promise<void> {
	for (const { file } of days.flatMap(filesOf)) await rm(file, { force: true });
}

/** No header's name: the type of an event whose body lacks what a tracking plan omits, as the body had it. */
export const sentType = ":event-type";

/** In a text of JSON each quotation mark has a backslash, so this is the field's name: see packages/contracts/tracking-plan.ts. */
const omits = `contains(violations, '"omit":')`;

/**
 * Leaves out of the bodies in a day's files what the tracking plan omits. The objects in the bucket keep it. A file without
 * such events stays as it is, and so does every other body.
 * @param place Of the events' types, which such events keep among their headers: a body may lose its type.
 */
async function leaveOutOmitted(
	day: LoadDay,
	session: Session,
	place: EventTypeTables["place"] | undefined,
): Promise<void> {
	if (day.rows === 0) return;
	session.define("without_omitted", withoutOmitted);
	const files = day.objects.map(({ file }) => file);
	const found = await session.rows<{ filename: string }>(
		`SELECT DISTINCT filename FROM ${parquetRows(files, { filename: true })} WHERE ${omits}`,
	);
	if (place) {
		session.define("with_sent_type", withSentType);
		defineTypes(session);
	}
	const kept = place
		? `, CASE WHEN ${omits} THEN with_sent_type(coalesce(headers, ''), coalesce(${typeOfEvent(place)}, '')) ELSE headers END AS headers`
		: "";
	for (const { filename } of found) {
		const made = `${filename}.omitted`;
		await session.run(
			`COPY (SELECT * REPLACE (CASE WHEN ${omits} THEN without_omitted(body, violations) ELSE body END AS body${kept})` +
				` FROM ${parquetRows([filename])}) TO ${quoteText(made)} (${passingParquet})`,
		);
		await rename(made, filename);
	}
}

function withSentType(headers: string, type: string): string {
	return JSON.stringify({ ...JSON.parse(headers || "{}"), [sentType]: type });
}

function withoutOmitted(body: string, violations: string): string {
	const { omit = [] }: Partial<ValidationRecord> = JSON.parse(violations);
	return withoutProperties(body, omit);
}

function mayBeUnfit(columns: readonly TableColumn[]): boolean {
	return [bodyColumnsOf, headerColumnsOf].some((of) => of(columns).length > 0);
}

/** Counts the values of bodies and headers in these files that don't fit their columns. */
export async function countUnfit(
	columns: readonly TableColumn[],
	files: readonly SizedFile[],
	session: Session,
): Promise<UnfitRows> {
	if (!mayBeUnfit(columns) || files.length === 0) return {};
	defineBodyValues(session);
	const fromBody = await countValues(columns, files, session, (column, found) =>
		isUnfitSql(column, columns, found),
	);
	const headers = headerColumnsOf(columns).map(({ name, from }) => ({
		...headerSql(from.header),
		name,
	}));
	const fromHeaders = await countOwnValues(headers, files, session);
	return { ...fromBody, ...fromHeaders };
}
