import { isDeepStrictEqual } from "node:util";
import type { CutRecord } from "../../../../ingest/archive/decide/cut.ts";
import type { LostGroup } from "../../../../ingest/archive/decide/loss.ts";
import type { CompactionRecord } from "../../../../ingest/lake/compaction/record.ts";
import type {
	Deviation,
	SourceLedger,
} from "../../../../packages/contracts/ledger.ts";
import type { ValidationRecord } from "../../../../packages/contracts/tracking-plan.ts";
import { utcDate } from "../../../../packages/contracts/utc-date.ts";
import { uuidTimeMs } from "../../../support/examples/event-time.ts";
import {
	brokenPromises,
	type PlainRow,
	type Sent,
} from "../../../support/senders/persistent-sender.ts";
import type { Expected } from "../scene/planned-events.ts";
import { Violation } from "../scene/violation.ts";
import { type ToldLosses, withoutTold } from "./told.ts";

/** A row of an object. */
export interface ObjectRow extends PlainRow {
	/** Key without the prefix. */
	object: string;
	sourceKey: string;
	date: string;
	timestampMs: number;
	/** What its plan said of it, as JSON; null without a plan. */
	violations: string | null;
}

/** The events of a seed, and what it left in the bucket and in the stream. */
export interface Remains {
	sent: Sent;
	/** What the plan says about the bodies of the Source that has one, by their MD5. */
	expected: ReadonlyMap<string, Expected>;
	/** Those in quarantine, too. */
	rows: ObjectRow[];
	/** Those of each shard that have been used in the seed. */
	streams: CutStream[];
	/** What a cut or an object may lack. */
	told: ToldLosses;
	compactions: CompactionRecord[];
	/** By how much receive's and NATS's clocks were wrong together, 0 among them; never unless given. */
	sharedMs?: readonly number[];
}

/** The stream's last sequences before the seed and after it, and its cuts in order. */
export interface CutStream {
	base: number;
	/** Unknown of a stream that is gone. */
	lastSequence: number | undefined;
	cuts: CutRecord[];
}

/** Throws the first {@link Violation} found among events, cut records and objects. */
export function verifyRemains(remains: Remains): void {
	const { rows, told } = remains;
	const sent = withoutTold(remains.sent, rows, told);
	const [broken] = brokenPromises(rows, sent);
	if (broken) throw new Violation("once", broken);
	if (sent.notFound > 0)
		throw new Violation(
			"route",
			`${sent.notFound} events were sent to URLs with a route and answered 404`,
		);
	verifyViolations(remains);
	verifyDates(remains);
	for (const stream of remains.streams) verifyCuts(stream);
	verifyObjects(remains);
}

function verifyViolations({ sent, expected, rows }: Remains): void {
	for (const row of rows) {
		const { outcome = "Accept", violations = null } =
			expected.get(row.digest) ?? {};
		const found = isQuarantined(row) ? "Quarantine" : "Accept";
		if (found !== outcome || row.violations !== violations)
			throw new Violation(
				"validated",
				`event ${row.event_id} is in ${row.object} with ${row.violations}; its plan says ${outcome}, ${violations}`,
			);
	}
	for (const digest of sent.rejected)
		if (expected.get(digest)?.outcome !== "Reject")
			throw new Violation(
				"validated",
				`an event was rejected, and its plan says ${JSON.stringify(expected.get(digest))}`,
			);
}

/** Whether the row is kept apart from those of its table. */
export function isQuarantined({ object }: ObjectRow): boolean {
	return object.startsWith("quarantine/");
}

function verifyDates({ sent, rows, sharedMs = [0] }: Remains): void {
	for (const { event_id, date, timestampMs } of rows) {
		const acknowledged = sent.acknowledged.get(event_id);
		const { sentAtMs, answeredAtMs } = acknowledged ?? {
			sentAtMs: 0,
			answeredAtMs: Number.POSITIVE_INFINITY,
		};
		const isRight =
			date === utcDate(timestampMs) &&
			uuidTimeMs(event_id) === timestampMs &&
			sharedMs.some(
				(ms) =>
					timestampMs >= sentAtMs + ms && timestampMs <= answeredAtMs + ms,
			);
		if (!isRight)
			throw new Violation(
				"date",
				`event ${event_id} has date ${date} and time ${new Date(timestampMs).toISOString()}; it was sent at ${new Date(sentAtMs).toISOString()}`,
			);
	}
}

function verifyCuts({ cuts, base, lastSequence }: CutStream): void {
	let next = base + 1;
	for (const { first, last } of cuts) {
		if (first !== next)
			throw new Violation(
				"cuts",
				`a cut begins at ${first}, where ${next} was to come`,
			);
		next = last + 1;
	}
	if (lastSequence !== undefined && next !== lastSequence + 1)
		throw new Violation(
			"cuts",
			`the last cut ends at ${next - 1}, the stream at ${lastSequence}`,
		);
}

function verifyObjects({ streams, compactions, rows, told }: Remains): void {
	const wanted = new Map<string, number>();
	const keyOf = (
		{ stream, first }: Pick<CutRecord, "stream" | "first">,
		{ account, sourceKey, date, quarantined }: LostGroup,
	) =>
		`${quarantined ? "quarantine" : "events"}/account=${account}/source=${sourceKey}/date=${date}/${stream}-${String(first).padStart(20, "0")}.parquet`;
	for (const cut of streams.flatMap(({ cuts }) => cuts))
		for (const group of cut.groups) wanted.set(keyOf(cut, group), group.rows);
	for (const { stream, loss } of told.losses)
		if (loss.kind === "objects")
			for (const group of loss.groups)
				wanted.delete(keyOf({ stream, first: loss.from }, group));
	for (const { account, sourceKey, date, quarantined, outputs } of compactions)
		for (const { name, inputs } of outputs) {
			const folder = `${quarantined ? "quarantine" : "events"}/account=${account}/source=${sourceKey}/date=${date}/`;
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

/**
 * What is wrong with what a Source's ledger counts, if these are the rows of its objects.
 * @param hasLost of a cut. The deviations of what is lost still count.
 */
export function faultOfLedger(
	ledger: Pick<SourceLedger, "archived" | "quarantined" | "deviations"> = {
		archived: {},
	},
	rows: readonly ObjectRow[],
	hasLost = false,
): string | undefined {
	const byDate = (which: readonly ObjectRow[]) =>
		Object.fromEntries(countBy(which, ({ date }) => date));
	const said = {
		archived: ledger.archived,
		quarantined: ledger.quarantined ?? {},
		deviations: hasLost ? [] : inOrder(ledger.deviations?.entries ?? []),
	};
	const found = {
		archived: byDate(rows.filter((row) => !isQuarantined(row))),
		quarantined: byDate(rows.filter(isQuarantined)),
		deviations: hasLost ? [] : deviationsOf(rows),
	};
	// Of so few types and kinds, none is left for the others.
	return isDeepStrictEqual(said, found) && !ledger.deviations?.others
		? undefined
		: `the ledger says ${JSON.stringify(ledger)}, the objects have ${JSON.stringify(found)}`;
}

/** By type and kind, the events that deviate so; one that does twice counts once. */
function deviationsOf(rows: readonly ObjectRow[]): Deviation[] {
	const found = rows.flatMap((row) => {
		const said: Partial<ValidationRecord> = JSON.parse(row.violations ?? "{}");
		const kinds = new Set(said.violations?.map(({ kind }) => kind));
		return [...kinds].map((kind) => ({ row, type: said.type, kind }));
	});
	const groups = Map.groupBy(found, ({ type, kind }) => `${type} ${kind}`);
	const deviations = [...groups.values()].map((group) => {
		const { type, kind } = group[0]!;
		const apart = group.filter(({ row }) => isQuarantined(row)).length;
		const lastMs = Math.max(...group.map(({ row }) => row.timestampMs));
		return {
			...(type !== undefined && { type }),
			kind,
			annotated: group.length - apart,
			quarantined: apart,
			lastEventTime: new Date(lastMs).toISOString(),
		};
	});
	return inOrder(deviations);
}

function inOrder(deviations: readonly Deviation[]): Deviation[] {
	const keyOf = ({ type, kind }: Deviation) => `${type} ${kind}`;
	return deviations.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
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

/** What a Source's manifest names, and what it should name at least: event ids, others' too. */
export interface AskedManifest {
	what: string;
	due: ReadonlySet<string>;
	rows: readonly PlainRow[];
}

/** Throws a {@link Violation} unless each of the Source's events that are due is in the manifest, and each that is there is there once. */
export function verifyManifest(
	{ what, due, rows }: AskedManifest,
	own: readonly PlainRow[],
): void {
	const found = new Set(rows.map(({ event_id }) => event_id));
	const missing = own.filter(
		({ event_id }) => due.has(event_id) && !found.has(event_id),
	);
	const foreign = found.difference(new Set(own.map((row) => row.event_id)));
	if (missing.length + foreign.size > 0 || found.size < rows.length)
		throw new Violation(
			"manifest",
			`the manifest of ${what} has ${rows.length} rows of ${found.size} events; ${missing.length} are missing, ${foreign.size} are of nothing that is in the bucket`,
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
