import { appendFile, writeFile } from "node:fs/promises";
import type { UtcDate } from "../../packages/contracts/utc-date.ts";
import { parquetRows, quoteText } from "../../packages/duckdb/quoting.ts";
import type { Session } from "../../packages/duckdb/session.ts";
import type { LoadDay } from "../../packages/warehouses/load/load-day.ts";
import {
	type RowAccess,
	TableChanged,
} from "../../packages/warehouses/load/warehouse.ts";
import type { ShrinkingDay } from "./shrinking-days.ts";

/** A date of which no record names objects: only the ids of its events tell whether new rows hide that others are lost. */
export interface UnrecordedDate {
	table: string;
	date: UtcDate;
	rows: number;
	left: number;
	/** Of the objects that the date shall have. */
	keys: ReadonlySet<string>;
	/** The ids of its rows before the load, each as JSON. */
	file: string;
}

/** So many ids of a Run's table are read in a few seconds, and fill 50 MB of the scratch volume. Of its other rows, the numbers alone are compared. */
const mostCompared = 1_000_000;

/** So many ids stay below the 10 MB that a warehouse may send at once. */
const idsOfPage = 20_000;

/** The newest dates whose ids may be read together. */
export function comparedDates<
	Day extends Pick<UnrecordedDate, "date" | "rows">,
>(days: readonly Day[]): Day[] {
	let room = mostCompared;
	return days
		.toSorted((a, b) => (a.date < b.date ? 1 : -1))
		.filter(({ rows }) => {
			if (rows > room) return false;
			room -= rows;
			return true;
		});
}

/** A date as the number that {@link dateNumber} makes of it. */
export function dateOf(number: string | number | null): UtcDate {
	return String(number).replace(/^(\d{4})(\d\d)(\d\d)$/, "$1-$2-$3");
}

/** Each warehouse has a function of its own that makes a text of a date. */
export function dateNumber(date: string): string {
	const part = (name: string) => `EXTRACT(${name} FROM ${date})`;
	return `${part("YEAR")} * 10000 + ${part("MONTH")} * 100 + ${part("DAY")}`;
}

/** Writes the ids that the queries find, each with the number of its date, to the dates' files. */
export async function writeIDs(
	read: NonNullable<RowAccess["read"]>,
	queries: readonly string[],
	days: readonly Pick<UnrecordedDate, "date" | "file">[],
): Promise<void> {
	const fileOf = new Map(days.map(({ date, file }) => [date, file]));
	for (const file of fileOf.values()) await writeFile(file, "");
	const lines = new Map<UtcDate, string[]>();
	const write = async () => {
		for (const [date, ids] of lines)
			await appendFile(fileOf.get(date)!, ids.join(""));
		lines.clear();
	};
	let waiting = 0;
	for (const query of queries)
		for await (const [id, number] of read(query, idsOfPage)) {
			const date = dateOf(number);
			// A column that came later has none in the rows of before.
			if (!id || !fileOf.has(date)) continue;
			const ids = lines.get(date) ?? [];
			ids.push(`${JSON.stringify({ id })}\n`);
			lines.set(date, ids);
			if (++waiting % idsOfPage === 0) await write();
		}
	await write();
}

/** The table has rows of a date that none of the date's objects has, so it mustn't be replaced. */
export class LostRows extends TableChanged {
	readonly day: ShrinkingDay;

	constructor(day: ShrinkingDay) {
		super(day.table, `has ${day.lost} rows of ${day.date} that no object has`);
		this.day = day;
	}
}

/** The form of the ids that Tidemill gives. A text of another form may be anything that somebody has written. */
const idForm = "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}";

/**
 * Throws {@link LostRows}. A date is compared once, by the first day that has all of its objects: a table beside may get a part of them.
 * @param day with its objects on disk, before any step has left out a row.
 */
export async function requireNoneLost(
	{ objects }: Pick<LoadDay, "objects">,
	unrecorded: Set<UnrecordedDate>,
	session: Session,
): Promise<void> {
	const found = [...unrecorded].find(
		({ keys }) =>
			keys.size === objects.length && objects.every(({ key }) => keys.has(key)),
	);
	if (!found) return;
	const { file, keys: _, ...day } = found;
	const stored = parquetRows(objects.map((object) => object.file));
	const [lost] = await session.rows<{ rows: bigint; example: string | null }>(
		`SELECT count(*) AS rows, min(id) FILTER (regexp_full_match(id, ${quoteText(idForm)})) AS example` +
			` FROM read_json(${quoteText(file)}, format = 'newline_delimited', columns = {id: 'VARCHAR'}) AS held` +
			` ANTI JOIN (SELECT event_id::VARCHAR AS id FROM ${stored}) AS stored USING (id)`,
	);
	unrecorded.delete(found);
	const rows = Number(lost!.rows);
	const { example } = lost!;
	if (rows > 0)
		throw new LostRows({
			...day,
			...{ gone: [], lost: rows, ...(example !== null && { example }) },
		});
}
