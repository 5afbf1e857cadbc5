import { dayMs } from "../../contracts/utc-date.ts";
import type { CutRecord } from "../../ingest/archive/decide/cut.ts";
import {
	LedgerIndex,
	ledgerOf,
} from "../../ingest/archive/ledger/ledger-index.ts";
import { heldBytes } from "../measure/held-bytes.ts";
import { type Bench, compared, figure } from "../measure/measurement.ts";

const sources = 100;
const cutsOfDay = 288;
const [firstDays, lastDays] = [180, 365];

/** The index that archive holds in memory, after a year of a cut every five minutes in which each source has events. */
export const bench: Bench = {
	about: `the ledger's memory and time: a simulated year of ${sources} sources with events in each cut; baseline: after ${firstDays} days`,
	async run(say) {
		const index = new LedgerIndex();
		const before = heldBytes();
		const measured: { bytes: number; cutUs: number }[] = [];
		for (let day = 0; day < lastDays; day++) {
			const isMeasured = day + 1 === firstDays || day + 1 === lastDays;
			const startMs = performance.now();
			for (let cut = 0; cut < cutsOfDay; cut++) {
				const record = cutOf(day * cutsOfDay + cut);
				index.add(record);
				if (!isMeasured) continue;
				for (const { account, sourceKey } of record.groups)
					ledgerOf(index.source(account, sourceKey)!);
			}
			if (!isMeasured) continue;
			const cutUs = ((performance.now() - startMs) * 1000) / cutsOfDay;
			const bytes = heldBytes() - before;
			measured.push({ bytes, cutUs });
			say(`day ${day + 1}: ${(bytes / 1024 ** 2).toFixed(1)} MiB`);
		}
		const [month, year] = measured as [
			(typeof measured)[number],
			(typeof measured)[number],
		];
		let objects = 0;
		for (const source of index.sources())
			for (const { count } of source.objects.values()) objects += count;
		return [
			compared(
				"memory",
				"MiB",
				year.bytes / 1024 ** 2,
				month.bytes / 1024 ** 2,
			),
			compared("a cut and its ledgers", "µs", year.cutUs, month.cutUs),
			figure("objects held", objects, ""),
			figure("of each", year.bytes / objects, "bytes"),
		];
	},
};

/** One cut. Its sequences are those of 100 frames a second. */
function cutOf(number: number): CutRecord {
	const time = new Date(Date.UTC(2026, 0, 1) + (number * dayMs) / cutsOfDay);
	const mark = { id: "x", time: time.toISOString() };
	return {
		version: 1,
		stream: "tidemill-frames-0-0123456789abcdef",
		first: number * 30_000 + 1,
		last: (number + 1) * 30_000,
		firstFrame: mark,
		lastFrame: mark,
		repeated: [],
		processes: {},
		groups: Array.from({ length: sources }, (_, source) => ({
			account: "bench",
			sourceKey: `${source}`.padStart(32, "0"),
			date: mark.time.slice(0, 10),
			rows: 600 + source,
			lastEventTime: mark.time,
		})),
	};
}
