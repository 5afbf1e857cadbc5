import { utcDate } from "../../../../contracts/utc-date.ts";
import type { CompactionRecord } from "../../../../ingest/archive/compaction/record.ts";
import type { CutRecord } from "../../../../ingest/archive/decide/cut.ts";
import { uuidTimeMs } from "../../../support/examples/event-time.ts";
import {
	brokenPromises,
	type PlainRow,
	type Sent,
} from "../../../support/senders/persistent-sender.ts";
import { Violation } from "../scene/violation.ts";

/** A row of an object. */
export interface ObjectRow extends PlainRow {
	/** Key without the prefix. */
	object: string;
	sourceKey: string;
	date: string;
	timestampMs: number;
}

/** The events of a seed, and what it left in the bucket and in the stream. */
export interface Remains {
	sent: Sent;
	rows: ObjectRow[];
	/** In order. */
	cuts: CutRecord[];
	compactions: CompactionRecord[];
	/** The stream's last sequences, before the seed and after it. */
	base: number;
	lastSequence: number;
}

/** Throws the first {@link Violation} found among events, cut records and objects. */
export function verifyRemains(remains: Remains): void {
	const [broken] = brokenPromises(remains.rows, remains.sent);
	if (broken) throw new Violation("once", broken);
	verifyDates(remains);
	verifyCuts(remains);
	verifyObjects(remains);
}

function verifyDates({ sent, rows }: Remains): void {
	for (const { event_id, date, timestampMs } of rows) {
		const acknowledged = sent.acknowledged.get(event_id);
		const { sentAtMs, answeredAtMs } = acknowledged ?? {
			sentAtMs: 0,
			answeredAtMs: Number.POSITIVE_INFINITY,
		};
		const isRight =
			date === utcDate(timestampMs) &&
			uuidTimeMs(event_id) === timestampMs &&
			timestampMs >= sentAtMs &&
			timestampMs <= answeredAtMs;
		if (!isRight)
			throw new Violation(
				"date",
				`event ${event_id} has date ${date} and time ${new Date(timestampMs).toISOString()}; it was sent at ${new Date(sentAtMs).toISOString()}`,
			);
	}
}

function verifyCuts({ cuts, base, lastSequence }: Remains): void {
	let next = base + 1;
	for (const { first, last } of cuts) {
		if (first !== next)
			throw new Violation(
				"cuts",
				`a cut begins at ${first}, where ${next} was to come`,
			);
		next = last + 1;
	}
	if (next !== lastSequence + 1)
		throw new Violation(
			"cuts",
			`the last cut ends at ${next - 1}, the stream at ${lastSequence}`,
		);
}

function verifyObjects({ cuts, compactions, rows }: Remains): void {
	const wanted = new Map<string, number>();
	for (const { stream, first, groups } of cuts)
		for (const { account, sourceKey, date, rows, quarantined } of groups)
			wanted.set(
				`${quarantined ? "quarantine" : "events"}/account=${account}/source=${sourceKey}/date=${date}/${stream}-${String(first).padStart(20, "0")}.parquet`,
				rows,
			);
	for (const { account, sourceKey, date, outputs } of compactions)
		for (const { name, inputs } of outputs) {
			const folder = `events/account=${account}/source=${sourceKey}/date=${date}/`;
			let rows = 0;
			for (const input of inputs) {
				rows += wanted.get(folder + input) ?? 0;
				wanted.delete(folder + input);
			}
			wanted.set(folder + name, rows);
		}
	const found = countBy(rows, ({ object }) => object);
	for (const key of new Set([...wanted.keys(), ...found.keys()]))
		if (wanted.get(key) !== found.get(key))
			throw new Violation(
				"objects",
				`${key} has ${found.get(key) ?? "no"} rows, its cut or compaction record says ${wanted.get(key) ?? "nothing of it"}`,
			);
}

/** What is wrong with what a Source's ledger counts by date, if these are the rows of its objects. */
export function faultOfLedger(
	archived: Record<string, number>,
	rows: readonly ObjectRow[],
): string | undefined {
	const dates = Object.fromEntries(countBy(rows, ({ date }) => date));
	const isRight =
		Object.keys(archived).length === Object.keys(dates).length &&
		Object.entries(dates).every(([date, n]) => archived[date] === n);
	return isRight
		? undefined
		: `the ledger says ${JSON.stringify(archived)}, the objects have ${JSON.stringify(dates)}`;
}

/** Throws a {@link Violation} unless a Source's table has what its objects have. */
export function verifyTable(
	source: string,
	rows: readonly PlainRow[],
	table: readonly PlainRow[],
): void {
	const key = ({ event_id, digest }: PlainRow) => `${event_id} ${digest}`;
	const missing = new Set(rows.map(key)).difference(new Set(table.map(key)));
	if (table.length !== rows.length || missing.size > 0)
		throw new Violation(
			"table",
			`the table of ${source} has ${table.length} rows, its objects have ${rows.length}; ${missing.size} are missing`,
		);
}

function countBy<T>(
	list: readonly T[],
	key: (each: T) => string,
): Map<string, number> {
	const counts = new Map<string, number>();
	for (const each of list)
		counts.set(key(each), (counts.get(key(each)) ?? 0) + 1);
	return counts;
}
