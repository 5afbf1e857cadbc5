import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import type { CutRecord } from "../../../ingest/archive/decide/cut.ts";
import { LedgerIndex } from "../../../ingest/archive/ledger/ledger-index.ts";
import { LedgerSnapshots } from "../../../ingest/archive/ledger/ledger-snapshots.ts";
import type { ObjectStore } from "../../../ingest/archive/s3/object-store.ts";
import {
	type CompactionOutput,
	CompactionStore,
	readRecord,
} from "../../../ingest/lake/compaction/record.ts";
import { forgetReplaced } from "../../../ingest/lake/compaction/replaced-objects.ts";
import {
	dayMs,
	type UtcDate,
	utcDate,
} from "../../../packages/contracts/utc-date.ts";
import { createLog } from "../../../packages/service/log.ts";
import { heldBytes } from "../measure/held-bytes.ts";
import { FileStore } from "./file-store.ts";

/** As many objects of each of 200 Sources: of cuts of 8 MiB. Archive makes 18,100 with one shard in a process, and 37,700 with three. */
const cutsOfDay = Number(process.env.BENCH_CUTS_OF_DAY ?? 65_500);
const sources = 200;
/** Of 20,000 events/s. */
const rows = Math.round((20_000 * 86_400) / sources / cutsOfDay);
const days = Number(process.env.BENCH_DAYS ?? 31);
const cutsBetweenSnapshots = 500;
/** The most objects of a compaction's output. */
const inputsOfOutput = 480;
const stream = "tidemill-frames-0-0123456789abcdef";
const startMs = Date.UTC(2026, 0, 1);

export interface BusyShardFigures {
	/** As held after collections, by day, while the day before is being compacted. */
	heldBytes: number[];
	peakResidentBytes: number;
	objectsArchived: number;
	objectsHeld: number;
	/** CPU of the longest turn of the event loop with one of them. */
	blockedMs: {
		cut: number;
		/** A record is written. */
		deciding: number;
		replacing: number;
		writing: number;
		reading: number;
	};
	snapshot: { objects: number; bytes: number; mostBytes: number };
	/** On the last day, of all its snapshots. */
	written: { objects: number; bytes: number };
	/** To restore the index, and to take 500 cut records. */
	startMs: number;
	counts: "equal" | "different";
}

/**
 * A month of a shard at the size of docs/sizing.md. Each day is compacted on the next one, Source by Source until its end, as
 * by a compactor that just keeps up. Snapshots are as often as in archive on the last day, and one a day before.
 */
async function month(folder: string): Promise<BusyShardFigures> {
	// As ingest/archive/main.ts has it.
	setFlagsFromString("--external-memory-accounted-in-global-limit");
	setFlagsFromString("--heap-growing-percent=130");
	const store = new FileStore(folder);
	const log = createLog("bench");
	const snapshots = new LedgerSnapshots(store as unknown as ObjectStore, log);
	let index: LedgerIndex | undefined = new LedgerIndex();
	const blockedMs = {
		cut: 0,
		deciding: 0,
		replacing: 0,
		writing: 0,
		reading: 0,
	};
	const records = new CompactionStore({
		keys: store.keys,
		putNew: async (_: string, text: string) => {
			Buffer.from(text);
			return "created";
		},
	} as unknown as ObjectStore);
	const held: number[] = [];
	const write = async (day: number, cut: number) => {
		store.nowMs = timeOf(day, cut).getTime();
		const took = await longestBlockMs(() => snapshots.write(0, index!));
		blockedMs.writing = Math.max(blockedMs.writing, took);
	};
	const outputsFile = join(folder, "outputs.json");
	for (let day = 0; day < days; day++) {
		const isLast = day === days - 1;
		let compacted = 0;
		// All Sources have the same outputs: to make their texts for each took longer than all that is measured.
		if (day > 0)
			await writeFile(outputsFile, JSON.stringify(outputsOf(day - 1)));
		for (let cut = 1; cut <= cutsOfDay; cut++) {
			const record = cutOf(day, cut);
			blockedMs.cut = Math.max(
				blockedMs.cut,
				timed(() => index!.add(record)),
			);
			for (; day > 0 && compacted < (sources * cut) / cutsOfDay; compacted++) {
				const group = groupOf(day - 1, compacted);
				if (isLast) {
					const outputs = outputsOf(day - 1);
					await setImmediate();
					const took = await longestBlockMs(() =>
						records.decide({ version: 1, ...group, outputs }),
					);
					blockedMs.deciding = Math.max(blockedMs.deciding, took);
				}
				const outputs = await readFile(outputsFile, "utf8");
				const text = `${JSON.stringify({ version: 1, ...group }).slice(0, -1)},"outputs":${outputs}}`;
				await setImmediate();
				const took = await longestBlockMs(async () =>
					forgetReplaced(
						{ number: 0, index: index! },
						await readRecord("", text),
					),
				);
				blockedMs.replacing = Math.max(blockedMs.replacing, took);
			}
			const isDue = cut % cutsBetweenSnapshots === 0 || cut === cutsOfDay;
			if (isLast && isDue) await write(day, cut);
			if (cut % 1_000 === 0) await setImmediate();
			if (cut === Math.floor(cutsOfDay / 2)) held.push(heldBytes());
		}
		if (isLast) break;
		await write(day, cutsOfDay);
		store.written = { objects: 0, bytes: 0 };
		console.error(
			`  day ${day + 1}: ${Math.round(held.at(-1)! / 1024 ** 2)} MiB held`,
		);
	}
	const snapshot = sizeOf(store);
	const before = totalsOf(index);
	index = undefined;
	heldBytes();
	const began = performance.now();
	let restored: LedgerIndex;
	blockedMs.reading = await longestBlockMs(async () => {
		restored = (await snapshots.newest(0))!;
	});
	for (let cut = 1; cut <= cutsBetweenSnapshots; cut++)
		restored!.add(JSON.parse(JSON.stringify(cutOf(days, cut))));
	const took = performance.now() - began;
	const after = totalsOf(restored!);
	const newRows = cutsBetweenSnapshots * sources * rows;
	return {
		heldBytes: held,
		peakResidentBytes: process.resourceUsage().maxRSS * 1024,
		objectsArchived: before.count,
		objectsHeld: before.held,
		blockedMs,
		snapshot,
		written: store.written,
		startMs: took,
		counts:
			after.rows === before.rows + newRows &&
			before.rows === days * cutsOfDay * sources * rows
				? "equal"
				: "different",
	};
}

/** The main thread's CPU time, so that other programs of the machine don't count. */
function cpuMs(): number {
	const { user, system } = process.threadCpuUsage();
	return (user + system) / 1_000;
}

function timed(work: () => unknown): number {
	const startedMs = cpuMs();
	work();
	return cpuMs() - startedMs;
}

/** Of the turns of the event loop until the work is done. */
async function longestBlockMs(work: () => Promise<unknown>): Promise<number> {
	let isDone = false;
	let longest = 0;
	let before = cpuMs();
	const working = work().finally(() => {
		isDone = true;
	});
	while (!isDone) {
		await setImmediate();
		const now = cpuMs();
		longest = Math.max(longest, now - before);
		before = now;
	}
	await working;
	return longest;
}

function totalsOf(index: LedgerIndex) {
	let [held, count, rows] = [0, 0, 0];
	for (const { objects } of index.sources())
		for (const ofDate of objects.values()) {
			held += ofDate.count - (ofDate.replaced ?? 0);
			count += ofDate.count;
			rows += ofDate.rows;
		}
	return { held, count, rows };
}

function sizeOf(store: FileStore) {
	const sizes = [...store.bytes.values()];
	return {
		objects: sizes.length,
		bytes: sizes.reduce((sum, bytes) => sum + bytes, 0),
		mostBytes: store.mostBytes,
	};
}

const dateOf = (day: number): UtcDate => utcDate(startMs + day * dayMs);
const firstOf = (day: number, cut: number) => (day * cutsOfDay + cut) * 40 + 1;
const timeOf = (day: number, cut: number) =>
	new Date(startMs + (day + cut / (cutsOfDay + 1)) * dayMs);
const sourceKeyOf = (source: number) => `${source}`.padStart(32, "0");

let groups: CutRecord["groups"] = [];

function cutOf(day: number, cut: number): CutRecord {
	const time = timeOf(day, cut);
	const mark = { id: "x", time: time.toISOString() };
	const date = dateOf(day);
	if (groups[0]?.date !== date)
		groups = Array.from({ length: sources }, (_, source) => ({
			...groupOf(day, source),
			rows,
			lastEventTime: mark.time,
		}));
	const first = firstOf(day, cut);
	return {
		version: 1,
		stream,
		first,
		last: first + 39,
		firstFrame: mark,
		lastFrame: mark,
		repeated: [],
		processes: {},
		groups,
	};
}

const groupOf = (day: number, source: number) => ({
	account: `account-${source % 50}`,
	sourceKey: sourceKeyOf(source),
	date: dateOf(day),
});

function outputsOf(day: number): CompactionOutput[] {
	const outputs = [];
	for (let from = 1; from <= cutsOfDay; from += inputsOfOutput) {
		const cuts = Math.min(inputsOfOutput, cutsOfDay - from + 1);
		const inputs = Array.from(
			{ length: cuts },
			(_, n) =>
				`${stream}-${`${firstOf(day, from + n)}`.padStart(20, "0")}.parquet`,
		);
		const inputTimes = inputs.map((_, n): [number, number] => {
			const fromMs = timeOf(day, from + n).getTime();
			return [fromMs, fromMs + 1_318];
		});
		const name = `compacted-${`${from}`.padStart(32, "0")}.parquet`;
		const sizes = { rows: rows * cuts, bytes: 1, sha256: "0".repeat(64) };
		outputs.push({ name, ...sizes, inputs, inputTimes });
	}
	return outputs;
}

const folder = await mkdtemp(join(tmpdir(), "tidemill-bench-ledger-"));
try {
	console.log(JSON.stringify(await month(folder)));
} finally {
	await rm(folder, { recursive: true });
}
