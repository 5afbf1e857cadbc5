import { createHash } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type {
	BodyValueType,
	LoadInput,
	TableColumn,
} from "../../packages/contracts/job.ts";
import { passingParquet } from "../../packages/duckdb/memory.ts";
import { parquetRows, quoteText } from "../../packages/duckdb/quoting.ts";
import type { Session } from "../../packages/duckdb/session.ts";
import { rejectedColumns } from "../../packages/warehouses/definition/definition.ts";
import { columnValue } from "../../packages/warehouses/load/body-value.ts";
import {
	type BodyColumn,
	bodyPartOf,
	defineBodyValues,
} from "../../packages/warehouses/load/body-values.ts";
import {
	asFilled,
	bodyColumnsOf,
	eventRows,
	headerColumnsOf,
	isUnfitSql,
} from "../../packages/warehouses/load/columns.ts";
import type { LoadDay } from "../../packages/warehouses/load/load-day.ts";
import type { UnheldValues } from "../../packages/warehouses/load/value-counts.ts";
import type { DayFiles } from "../../packages/warehouses/load/warehouse.ts";
import type { DownloadedDays } from "./day-files.ts";
import type { TablePlans } from "./load-days.ts";

/*
 * The table of rejected values is a table of events to each warehouse: of each value that doesn't fit there is a row, made as if
 * it were an event with the value in its body. So what holds of a table's days holds of it, too.
 */

/** Of a value. The end of a longer one is cut off. */
const maxValueBytes = 1_024;

/** The function of SQL that makes a row's body. */
const rejectedFunction = "tidemill_rejected_value_2";

/** The table of rejected values as a warehouse loads it; undefined if there shall be none. */
export function rejectedTableOf(
	input: Pick<LoadInput, "table" | "rejectedTable" | "strategy">,
): LoadInput["table"] | undefined {
	const { table, rejectedTable, strategy } = input;
	if (!rejectedTable) return undefined;
	const under = memberOf(table);
	const text = (name: string, member: string): TableColumn => ({
		name,
		from: { bodyPointer: `/${under}/${member}`, type: "String" },
	});
	const columns: TableColumn[] = [
		{ name: "event_id", from: "EventID" },
		strategy === "Incremental"
			? { name: "date", from: "Date" }
			: {
					name: "date",
					from: { bodyPointer: `/${under}/date`, type: "Date" },
				},
		text("column_name", "column"),
		text("value", "value"),
		text("reason", "reason"),
	];
	return {
		...rejectedTable,
		columns: columns.map((column) => ({
			...column,
			description: rejectedColumns[column.name as keyof typeof rejectedColumns],
		})),
	};
}

/**
 * The member of a made body that holds all. It differs by the columns that the values didn't fit, so that days that were compared
 * with others are loaded anew.
 */
function memberOf({ columns, options }: LoadInput["table"]): string {
	return createHash("sha256")
		.update(JSON.stringify([rejectedFunction, asFilled(columns), options]))
		.digest("hex")
		.slice(0, 16);
}

/** Makes the rows of the days of the table of rejected values. */
export class RejectedDays implements DayFiles {
	readonly #table: LoadInput["table"];
	readonly #files: DownloadedDays;
	readonly #unheld: (session: Session) => Promise<UnheldValues[]>;
	/** The days with the events, by those with a row for each value. */
	readonly #events = new Map<LoadDay, LoadDay>();

	/**
	 * @param table with the columns that the values don't fit.
	 * @param unheld What its warehouse can't hold beside.
	 */
	constructor(
		table: LoadInput["table"],
		files: DownloadedDays,
		unheld: (session: Session) => Promise<UnheldValues[]>,
	) {
		this.#table = table;
		this.#files = files;
		this.#unheld = unheld;
	}

	get directory(): string {
		return this.#files.directory;
	}

	/**
	 * The days with as many rows as they have values, for a warehouse that takes them one by one and has loaded the table.
	 * @param plans with the days as the table was loaded by them.
	 */
	async counted({ days, rejecting = [] }: TablePlans): Promise<LoadDay[]> {
		const counted: LoadDay[] = [];
		for (const [index, events] of rejecting.entries()) {
			const day = days[index]!;
			const known =
				events.objects === day.objects
					? this.#files.knownUnfit(day)
					: undefined;
			const { objects } = events;
			const rows =
				objects.length === 0
					? 0
					: known
						? Object.values(known).reduce((sum, { rows }) => sum + rows, 0)
						: await this.#files.with([events], ([found], session) =>
								this.#count(found!, session),
							);
			const found = { ...events, rows };
			this.#events.set(found, events);
			counted.push(found);
		}
		return counted;
	}

	/** The days as they are on disk, of days whose objects are. */
	async made(found: readonly LoadDay[]): Promise<LoadDay[]> {
		const made: LoadDay[] = [];
		// Nothing is downloaded for no day.
		await this.#files.with([], async (_, session) => {
			for (const day of found) made.push(await this.#make(day, session));
		});
		return made;
	}

	with<T>(
		days: LoadDay[],
		use: (days: LoadDay[], session: Session) => Promise<T>,
	): Promise<T> {
		const full = days.filter(({ rows }) => rows > 0);
		const events = full.map((day) => this.#events.get(day)!);
		return this.#files.with(events, async (found, session) => {
			const made: LoadDay[] = [];
			try {
				for (const day of days) {
					const at = full.indexOf(day);
					const objects = at < 0 ? [] : found[at]!.objects;
					const { rows, objects: files } = await this.#make(
						{ ...day, objects },
						session,
						day.objects,
					);
					made.push({ ...day, rows, objects: files });
				}
				return await use(made, session);
			} finally {
				for (const { objects } of made)
					for (const { file } of objects) await rm(file, { force: true });
			}
		});
	}

	/**
	 * Writes a file with a row for each value.
	 * @param day its objects are on disk.
	 * @param named the objects that the day is said to come from.
	 */
	async #make(
		day: LoadDay,
		session: Session,
		named = day.objects,
	): Promise<LoadDay> {
		// Its values are texts, and JSON escapes what any warehouse couldn't hold.
		const { unfit: _, ...rest } = day;
		if (named.length === 0) return { ...rest, rows: 0, objects: [] };
		const file = join(this.directory, `${day.date}-rejected.parquet`);
		const none = join(this.directory, `${day.date}-none.parquet`);
		const write = (rows: string, file: string) =>
			session.run(
				`COPY (SELECT event_id::VARCHAR AS event_id, "timestamp"::TIMESTAMPTZ AS "timestamp", "date"::DATE AS "date", body::VARCHAR AS body, 'json' AS kind FROM ${rows})` +
					` TO ${quoteText(file)} (${passingParquet})`,
			);
		const rows = await write(
			(await this.#rowsOf(day, session)) ?? `(${noRows})`,
			file,
		);
		if (named.length > 1) await write(`(${noRows})`, none);
		const [size] = await session.rows<{ bytes: bigint }>(
			`SELECT coalesce(sum(strlen(body)), 0)::BIGINT AS bytes FROM ${parquetRows([file])}`,
		);
		const objects = named.map((object, index) =>
			index === 0
				? { ...object, file, rows, bodyBytes: Number(size!.bytes) }
				: { ...object, file: none, rows: 0, bodyBytes: 0 },
		);
		return { ...rest, rows, objects };
	}

	async #count(day: LoadDay, session: Session): Promise<number> {
		const rows = await this.#rowsOf(day, session);
		if (rows === undefined) return 0;
		const [found] = await session.rows<{ rows: bigint }>(
			`SELECT count(*) AS rows FROM ${rows}`,
		);
		return Number(found!.rows);
	}

	/** The rows, as a table to select from; undefined if there can be none. */
	async #rowsOf(
		{ objects }: LoadDay,
		session: Session,
	): Promise<string | undefined> {
		const { columns } = this.#table;
		defineBodyValues(session);
		session.define(rejectedFunction, rejectedMembers, { isConstant: true });
		const own = [
			...bodyColumnsOf(columns).map((column) => ({
				column,
				text: "body",
				condition: isUnfitSql(column, columns)!,
				reason: undefined,
			})),
			...headerColumnsOf(columns).map((column) => ({
				column,
				text: "headers",
				condition: isUnfitSql(column, columns)!,
				reason: "It has half of a surrogate pair, which is U+FFFD in the row.",
			})),
			...(await this.#unheld(session)).map(({ column, condition, reason }) => ({
				column,
				text:
					typeof column.from === "object" && "header" in column.from
						? "headers"
						: "body",
				condition: condition(),
				reason,
			})),
		];
		if (own.length === 0 || objects.length === 0) return undefined;
		const member = memberOf(this.#table);
		const values = own.map(({ column, text, condition, reason }) => {
			const { value: _, ...about } = column;
			const how = JSON.stringify({ ...about, ...(reason && { reason }) });
			return `CASE WHEN ${condition} THEN ${rejectedFunction}(${text}, ${quoteText(how)}) END`;
		});
		const begin = quoteText(`{"${member}":{"date":"`);
		return (
			`(SELECT event_id, "timestamp", "date", concat(${begin}, "date"::DATE::VARCHAR, '",', members, '}}') AS body FROM` +
			` (SELECT event_id, "timestamp", "date", unnest([${values.join(", ")}]) AS members` +
			` FROM ${eventRows(objects, bodyColumnsOf(columns))}) WHERE members IS NOT NULL)`
		);
	}
}

const noRows = `SELECT NULL AS event_id, NULL AS "timestamp", NULL AS "date", NULL AS body WHERE false`;

/**
 * The members of a made body that say what was rejected, and why.
 * @param text the event's body or its captured headers.
 * @param how the column, with the reason if it isn't the value's type.
 */
function rejectedMembers(text: string, how: string): string {
	const { name, from, reason }: TableColumn & { reason?: string } =
		JSON.parse(how);
	const found = valueIn(text, from);
	const members = {
		column: name,
		value: cut(found.text),
		reason: reason ?? found.reason,
	};
	return JSON.stringify(members).slice(1, -1);
}

function valueIn(
	text: string,
	from: TableColumn["from"],
): { text: string; reason: string } {
	if (typeof from !== "object") return { text, reason: "" };
	if ("bodyPointer" in from) return unfitValueOf(text, from);
	const headers: Record<string, unknown> = JSON.parse(text || "{}");
	return { text: JSON.stringify(headers[from.header] ?? null), reason: "" };
}

/** Whole characters of a text, at most so many bytes of UTF-8 with the sign that it goes on. */
function cut(text: string): string {
	const short = text.slice(0, maxValueBytes);
	if (short.length === text.length && Buffer.byteLength(text) <= maxValueBytes)
		return text;
	const more = "…";
	const bytes = Buffer.from(short).subarray(
		0,
		maxValueBytes - Buffer.byteLength(more),
	);
	// Half a character at the end waits for more.
	return new TextDecoder().decode(bytes, { stream: true }) + more;
}

/** A value that doesn't fit its column. */
interface UnfitValue {
	/** The JSON text as it was sent, uncut. */
	text: string;
	/** In words without a value of the event. */
	reason: string;
}

/** What stands in a body at the pointer of a column that it doesn't fit, and why it doesn't. */
export function unfitValueOf(body: string, column: BodyColumn): UnfitValue {
	const part = bodyPartOf(body, column.bodyPointer);
	if (!part) return { text: body, reason: "The body is not JSON." };
	const { text = "", isTwice } = part;
	return {
		text,
		reason: isTwice
			? "Several members with one name lead to it; the last counts."
			: reasonOf(text, column),
	};
}

function reasonOf(text: string, column: BodyValueType): string {
	const { limits, ...unlimited } = column;
	const value = columnValue(text, unlimited) ?? "?";
	if (value.startsWith("!")) return oddWords[column.type] ?? halfPair;
	if (value === "?") return `Not ${wordsOf(column)}.`;
	const { years, objectDepth } = limits ?? {};
	if (column.type === "JSON" && objectDepth !== undefined)
		return `The warehouse's JSON is an object of 64-bit floating point numbers, at most ${objectDepth} levels deep, in which no two values have the same path of names.`;
	return years
		? `The warehouse holds the years ${years.join(" to ")}.`
		: `Beyond what the column's type holds.`;
}

const halfPair = "It has half of a surrogate pair, which is U+FFFD in the row.";

const oddWords: Partial<Record<BodyValueType["type"], string>> = {
	JSON: "Programs read it differently: an object has several members with one name, or a text half of a surrogate pair.",
	Timestamp: "Programs may read another instant.",
};

function wordsOf(column: BodyValueType): string {
	switch (column.type) {
		case "String":
			return "a text, a number, true or false";
		case "Integer":
			return "a whole number of 64 bits";
		case "Number":
			return "a number that 64-bit floating point holds";
		case "Decimal":
			return `a number of at most ${column.precision} digits, of which ${column.scale} stand after the point`;
		case "Boolean":
			return "true or false";
		case "Timestamp":
			return `a time as ${column.format ?? "RFC 3339"} writes it`;
		case "Date":
			return "a date such as 2026-03-01";
		case "JSON":
			return "JSON that the column holds";
	}
}
