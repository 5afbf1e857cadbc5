import { isDeepStrictEqual } from "node:util";
import { expect } from "vitest";
import { addDays, type UtcDate } from "../../../packages/contracts/utc-date.ts";
import type { ObjectEvent } from "../../support/examples/parquet-object.ts";
import type { HistoryLake } from "./lake.ts";
import type { AskedRun, HistoryPipeline, RunEnd } from "./pipeline.ts";
import { rowText, type TableRows } from "./table.ts";

/** What a model knows of one table. */
interface KnownTable {
	/** Each date as the last load left it. */
	loaded: TableRows;
	/** The dates that a load has filled since the table was made. */
	filled: Set<UtcDate>;
	/** The dates that people have changed since a load filled them. */
	handled: Set<UtcDate>;
	sourceKey: string;
	/** Of the columns that the last load filled. */
	layout: string;
	/** Whether loads can tell what they have put there. */
	isRecorded: boolean;
}

/**
 * What the documentation promises of a Pipeline's table after each Run, for any history. It knows what was stored and what people
 * have done to the table, and nothing of how Tidemill works.
 */
export class TableModel {
	readonly #lake: HistoryLake;
	readonly #pipeline: HistoryPipeline;
	readonly #refusals: (table: string) => readonly string[] | undefined;
	readonly #tables = new Map<string, KnownTable>();
	/** By Source: the dates that got events by an Import or a Release since the last success. */
	readonly #added = new Map<string, Set<UtcDate>>();
	/** Whether the Pipeline's range has grown since a Run of the whole window: earlier days are not made up for. */
	isGrown = false;

	/** @param refusals The errors that what stands beside a table may cause. */
	constructor(
		lake: HistoryLake,
		pipeline: HistoryPipeline,
		refusals: (table: string) => readonly string[] | undefined,
	) {
		this.#refusals = refusals;
		this.#lake = lake;
		this.#pipeline = pipeline;
	}

	added(sourceKey: string, date: UtcDate): void {
		const dates = this.#added.get(sourceKey) ?? new Set();
		this.#added.set(sourceKey, dates.add(date));
	}

	handled(table: string, dates: Iterable<UtcDate>): void {
		for (const date of dates) this.#tables.get(table)?.handled.add(date);
	}

	forgotRecord(table: string): void {
		const known = this.#tables.get(table);
		if (known) known.isRecorded = false;
	}

	dropped(table: string): void {
		this.#tables.delete(table);
	}

	/** Throws if the Run broke a promise. */
	check(
		{ trigger }: Pick<AskedRun, "trigger">,
		end: RunEnd,
		before: TableRows | undefined,
		after: TableRows | undefined,
	): void {
		const { spec } = this.#pipeline;
		const name = spec.table.name!;
		if (end.phase === "Paused" || !end.manifest) {
			expect(after, "a Run that doesn't begin changes nothing").toEqual(before);
			return;
		}
		if (end.phase === "Failed") {
			this.#checkFailure(end, before, after);
			return;
		}
		const { manifest, layout, result } = end;
		const { sourceKey, asked } = manifest;
		const dates = manifest.dates.map(({ date }) => date);
		const rows = after ?? new Map();
		for (const date of dates)
			expect(rows.get(date) ?? [], `${date}, which the Run loaded`).toEqual(
				this.#stored(sourceKey, date),
			);
		for (const [date, texts] of rows) {
			if (dates.includes(date)) continue;
			const kept = before?.get(date);
			expect(texts, `${date}, which the Run didn't load`).toEqual(kept);
			expect(layout?.strategy, `${date} stays`).toBe("Incremental");
		}
		const known = this.#tables.get(name);
		const isKept = [...(before?.keys() ?? [])].every(
			(date) => dates.includes(date) || rows.has(date),
		);
		if (!isKept && layout?.strategy === "Incremental")
			expect(spec.table.onIncompatible, "rows may only go by leave").toBe(
				"Rebuild",
			);
		const filled = new Set([
			...(isKept ? (known?.filled ?? []) : []),
			...dates,
		]);
		const handled = new Set(isKept ? known?.handled : []);
		for (const date of dates) handled.delete(date);
		this.#checkSource(sourceKey, rows, handled);
		this.#checkWindow(sourceKey, rows, { filled, handled, asked });
		if (asked.extent === "Rest") this.#checkOthers(sourceKey, asked, dates);
		if (trigger === "Schedule" && !end.isStruck && known && result)
			this.#checkRepairs(known, end, before, dates);
		const others = [...rows].filter(([date]) => !dates.includes(date));
		const otherRows = others.reduce((sum, [, texts]) => sum + texts.length, 0);
		if (asked.extent === "Whole")
			expect(result?.otherRows ?? 0, "otherRows").toBe(otherRows);
		this.#tables.set(name, {
			loaded: new Map([
				...(isKept ? (known?.loaded ?? []) : []),
				...dates.map((date) => [date, rows.get(date) ?? []] as const),
			]),
			filled,
			handled,
			sourceKey,
			layout: JSON.stringify(layout?.columns),
			isRecorded: layout?.strategy === "Incremental",
		});
		const added = this.#added.get(sourceKey);
		if (asked.extent !== "Chosen") added?.clear();
		// A Run of chosen dates counts for these, if the next one continues.
		else for (const date of dates) added?.delete(date);
		if (asked.extent === "Whole") this.isGrown = false;
	}

	/** Throws if somebody's row is gone that refers to one that stayed. */
	checkNotes(
		before: readonly string[],
		after: readonly string[] = [],
		rows: TableRows | undefined,
		left: TableRows | undefined,
	): void {
		const all = new Set([...(left?.values() ?? [])].flat());
		const stayed = new Set(
			[...(rows?.values() ?? [])]
				.flat()
				.flatMap((text) => (all.has(text) ? [text.split(" ")[0]!] : [])),
		);
		expect(after, "what refers to rows that stay").toEqual(
			expect.arrayContaining(before.filter((id) => stayed.has(id))),
		);
	}

	/** Throws unless the table of what is in quarantine has that of each date that the Run loaded. */
	checkQuarantine(
		{ phase, manifest, layout }: RunEnd,
		rows: TableRows | undefined,
	): void {
		if (phase !== "Succeeded" || !layout?.quarantine) return;
		const { sourceKey, dates } = manifest!;
		const apart = this.#lake.quarantinedOf(sourceKey);
		for (const { date } of dates)
			expect(rows?.get(date) ?? [], `quarantine of ${date}`).toEqual(
				textsOf(apart.get(date)?.values() ?? []),
			);
	}

	#stored(sourceKey: string, date: UtcDate): string[] {
		return textsOf(this.#lake.eventsOf(sourceKey).get(date)?.values() ?? []);
	}

	/** A table has the old or the new rows of each date, and the status says why. */
	#checkFailure(
		{ code, isStruck, manifest }: RunEnd,
		before: TableRows | undefined,
		after: TableRows | undefined,
	): void {
		if (isDeepStrictEqual(before, after)) {
			const { name } = this.#pipeline.spec.table;
			if (!isStruck)
				expect([
					"TableIncompatible",
					"TableNotOurs",
					...(this.#refusals(name!) ?? []),
				]).toContain(code);
			return;
		}
		expect(isStruck, `failed with ${code}, and changed the table`).toBe(true);
		const { sourceKey, asked } = manifest!;
		const { spec } = this.#pipeline;
		const isRebuilt =
			asked.extent === "Whole" && spec.table.onIncompatible === "Rebuild";
		const dates = new Set([
			...(before?.keys() ?? []),
			...(after?.keys() ?? []),
		]);
		const known = this.#tables.get(spec.table.name!);
		for (const date of dates) {
			const [old, now] = [before?.get(date) ?? [], after?.get(date) ?? []];
			if (isDeepStrictEqual(old, now)) continue;
			const isGone = isRebuilt && now.length === 0;
			const isNew = manifest!.dates.some((day) => day.date === date);
			if (!isGone) {
				expect(isNew, `${date} was changed without being loaded`).toBe(true);
				expect(now, `${date} after a strike`).toEqual(
					this.#stored(sourceKey, date),
				);
			}
			known?.handled.delete(date);
		}
		// It may be gone, or rebuilt. The next Run looks for itself.
		if (isRebuilt) this.#tables.delete(spec.table.name!);
	}

	/** One table has the events of one Source. */
	#checkSource(
		sourceKey: string,
		rows: TableRows,
		handled: ReadonlySet<UtcDate>,
	): void {
		for (const [date, texts] of rows) {
			if (handled.has(date)) continue;
			const own = this.#lake.eventsOf(sourceKey).get(date);
			for (const text of texts)
				expect(own?.has(text.split(" ")[0]!), `${text} is another's`).toBe(
					true,
				);
		}
	}

	/** All days of the window are right, except where people changed days that the Run didn't load. */
	#checkWindow(
		sourceKey: string,
		rows: TableRows,
		{
			filled,
			handled,
			asked,
		}: {
			filled: ReadonlySet<UtcDate>;
			handled: ReadonlySet<UtcDate>;
			asked: { extent: string };
		},
	): void {
		const { start = "", end } = this.#pipeline.spec.dateRange;
		const keptFrom = addDays(this.#lake.today, -30);
		for (const date of this.#lake.eventsOf(sourceKey).keys()) {
			const isWanted =
				date >= start && date >= keptFrom && (end === "Today" || date <= end);
			if (!isWanted || handled.has(date)) continue;
			// Who names days starts no Run of the others.
			if (asked.extent === "Chosen" || (this.isGrown && !filled.has(date)))
				continue;
			expect(rows.get(date) ?? [], `${date}, in the window`).toEqual(
				this.#stored(sourceKey, date),
			);
		}
	}

	/** Of earlier dates, a Run loads those that got events since the last success, once, and no others. */
	#checkOthers(
		sourceKey: string,
		{ start }: { start?: UtcDate },
		dates: UtcDate[],
	): void {
		const { dateRange } = this.#pipeline.spec;
		const earliest = [
			dateRange.start ?? "",
			addDays(this.#lake.today, -30),
		].sort()[1]!;
		const end = dateRange.end === "Today" ? this.#lake.today : dateRange.end;
		const added = [...(this.#added.get(sourceKey) ?? [])].filter(
			(date) => date < start! && date >= earliest && date <= end,
		);
		expect(
			dates.filter((date) => date < start!),
			"earlier dates",
		).toEqual(added.sort());
	}

	/** A scheduled Run that adds says which dates it found changed, and no others. */
	#checkRepairs(
		known: KnownTable,
		{ layout, result }: RunEnd,
		before: TableRows | undefined,
		dates: UtcDate[],
	): void {
		const isComparable =
			result?.addedRows !== undefined &&
			known.isRecorded &&
			known.layout === JSON.stringify(layout?.columns) &&
			known.sourceKey === layout?.sourceKey;
		if (!isComparable) return;
		const changed = dates.filter(
			(date) =>
				!isDeepStrictEqual(
					before?.get(date) ?? [],
					known.loaded.get(date) ?? [],
				),
		);
		expect(result?.repairedDates ?? [], "repairedDates").toEqual(changed);
	}
}

function textsOf(events: Iterable<ObjectEvent>): string[] {
	return [...events]
		.map((event) => rowText(event.event_id, event.timestampMs, event.body))
		.sort();
}
