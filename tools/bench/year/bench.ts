import { fork } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
	type Bench,
	compared,
	figure,
	type Measurement,
	median,
	requireGoal,
	type Say,
} from "../measure/measurement.ts";
import { sourcesEnvironment } from "../measure/process-cost.ts";
import { graphOf } from "./graph.ts";
import {
	type HeldKeys,
	keepKeys,
	liveWithNats,
	type NatsDay,
} from "./nats-year.ts";
import type { SimulatedDay } from "./shard-year.ts";
import { cutsOfDay, usualSettings, type YearOptions } from "./year-options.ts";

const days = Number(process.env.BENCH_DAYS || 400);
/** By then everything that retention removes has been removed once, and what a deleted Source leaves is over. */
const settledDay = Math.min(60, days);
/** Days that are compared: a Source is deleted on one of them. */
const comparedDays = 4;
const mostGrowth = 1.05;
const mostDeviation = 0.1;
/** On it each cut is simulated. What it costs is done two days later: compaction, and the removal of what that has replaced. */
const wholeDay = 36;
const daysOfWhole = 3;

/** One shard of ten that take 50,000 events/s of 1,000 Sources. */
const shard = { eventsPerSecond: 5_000, sources: 100 };
/** By then retention has removed the first dates. */
const daysOfSize = 36;
/** The shards of docs/reference/figures.md for 1,000, 10,000 and 100,000 events/s. */
const sizes: (Omit<YearOptions, "days" | "factor"> & {
	all: number;
	shards: number;
})[] = [
	{ all: 1_000, shards: 1, eventsPerSecond: 1_000, sources: 100 },
	{ all: 10_000, shards: 1, eventsPerSecond: 10_000, sources: 100 },
	{
		all: 100_000,
		shards: 5,
		shardsOfProcess: 3,
		eventsPerSecond: 20_000,
		sources: 200,
	},
];

/** A publish of all ledgers stands for a day's, one after each cut; a key for a day of a sender that sends few. */
const natsYear = {
	days,
	sources: shard.sources,
	ledgersOfDay: 1,
	keysOfDay: 100,
	daysBetweenDeletions: 4,
};
/** Archive's IDEMPOTENCY_MAX_KEYS, all of which are written before the first expires. */
const heldKeys = {
	count: Number(process.env.BENCH_KEYS || 2_000_000),
	lifeMs: Number(process.env.BENCH_KEY_SECONDS || 900) * 1_000,
};
/** `keys` takes an hour. */
const parts = (process.env.BENCH_PARTS || "year,whole,sizes,nats").split(",");

/** A shard's archive and its bucket over a year of days, with the dates and records that it would really have. */
export const bench: Bench = {
	about: `${days} days of a shard with ${shard.eventsPerSecond} events/s of ${shard.sources} Sources, simulated; each simulated cut stands for ${scaled(shard).factor}; baseline: day ${settledDay}`,
	async run(say) {
		const year =
			parts.includes("year") &&
			live({ ...scaled(shard), days, restartOn: 50 }, say);
		const whole = parts.includes("whole") && wholeDays(say);
		const measurements: Measurement[] = [];
		if (year) measurements.push(...(await flatness(await year, say)));
		if (whole) measurements.push(...(await whole));
		if (parts.includes("sizes"))
			for (const size of sizes) measurements.push(...(await sizeOf(size, say)));
		if (parts.includes("nats")) measurements.push(...(await ofNats(say)));
		if (parts.includes("keys")) measurements.push(...(await ofKeys(say)));
		return measurements;
	},
};

/** With at most 200 real cuts in a simulated one, and about 50 of these on a day. */
function scaled(size: Omit<YearOptions, "days" | "factor">): YearOptions {
	const options = { ...size, days: 0, factor: 1 };
	const cuts = cutsOfDay(options, usualSettings(size.shardsOfProcess).limits);
	const factor = Math.max(1, Math.min(200, Math.floor(cuts / 45)));
	return { ...options, factor };
}

/** In a process of its own, whose clock it sets. */
async function live(options: YearOptions, say: Say): Promise<SimulatedDay[]> {
	const program = join(import.meta.dirname, "year-process.ts");
	const child = fork(program, [JSON.stringify(options)], {
		// V8 drops code that hasn't run for a minute. A day would have less of it, the longer it takes to live through.
		execArgv: ["--no-flush-bytecode"],
		env: { LOG_LEVEL: "warn", ...sourcesEnvironment() },
		// Its log isn't the table.
		stdio: ["ignore", 2, 2, "ipc"],
	});
	const lived: SimulatedDay[] = [];
	child.on("message", (day: SimulatedDay) => {
		lived.push(day);
		say(textOf(day));
	});
	const [code] = await once(child, "exit");
	if (code !== 0) throw new Error(`A simulated year ended with ${code}`);
	return lived;
}

function mib(bytes: number): string {
	return (bytes / 1024 ** 2).toFixed(1);
}

function textOf(day: SimulatedDay): string {
	const { put, get, list, delete: deleted } = day.requests;
	const count = (number: number) => Math.round(number).toLocaleString("en");
	return `day ${day.day}: heap ${mib(day.heapBytes)} MiB (${mib(day.wholeHeapBytes)} with all objects), resident ${mib(day.residentBytes)} MiB; ${count(day.indexed)} objects in the index, ${count(day.objects)} in the bucket; ${count(put)} PUT, ${count(get)} GET, ${count(list)} LIST, ${count(deleted)} DELETE; $${day.dollars.toFixed(2)}`;
}

interface Column {
	name: string;
	unit: string;
	of(day: SimulatedDay): number;
}

const columns: Column[] = [
	{ name: "heap", unit: "MiB", of: (day) => day.heapBytes / 1024 ** 2 },
	{
		name: "heap with all objects",
		unit: "MiB",
		of: (day) => day.wholeHeapBytes / 1024 ** 2,
	},
	{
		name: "resident memory",
		unit: "MiB",
		of: (day) => day.residentBytes / 1024 ** 2,
	},
	{ name: "objects in the index", unit: "", of: (day) => day.indexed },
	{ name: "objects in the bucket", unit: "", of: (day) => day.objects },
	{ name: "PUT", unit: "a day", of: ({ requests }) => requests.put },
	{ name: "GET", unit: "a day", of: ({ requests }) => requests.get },
	{ name: "LIST", unit: "a day", of: ({ requests }) => requests.list },
	{ name: "DELETE", unit: "a day", of: ({ requests }) => requests.delete },
	{ name: "dollars", unit: "a day", of: (day) => day.dollars },
];

async function flatness(
	year: SimulatedDay[],
	say: Say,
): Promise<Measurement[]> {
	if (days >= 400)
		await writeFile(
			join(import.meta.dirname, "../../../docs/year.svg"),
			graphOf(year, columns),
		);
	// Of the last day, against the settled one.
	const last = year.length;
	return columns.map(({ name, unit, of }) => {
		const at = (day: number) =>
			median(year.slice(day - comparedDays, day).map(of));
		const measured = compared(
			`${name} on day ${last}, against day ${settledDay}`,
			unit,
			at(last),
			at(settledDay),
			{ ratioAtMost: mostGrowth },
		);
		requireGoal(measured, say);
		return measured;
	});
}

async function ofNats(say: Say): Promise<Measurement[]> {
	const lived: NatsDay[] = [];
	await liveWithNats(natsYear, (day) => {
		lived.push(day);
		const messages = Object.entries(day.messages).map(
			([stream, count]) => `${stream.replace("KV_tidemill-", "")} ${count}`,
		);
		say(
			`NATS, day ${day.day}: resident ${mib(day.residentBytes)} MiB, disk ${mib(day.diskBytes)} MiB; ${messages.join(", ")}`,
		);
	});
	const [settled, last] = [lived[settledDay - 1]!, lived.at(-1)!];
	const deleted =
		(last.day - settled.day) / natsYear.daysBetweenDeletions || Number.NaN;
	/** What each deleted Source adds to the buckets for good. */
	const left = (counted: "messages" | "bytes") => {
		const of = (day: NatsDay) =>
			["ledger", "routes", "source-keys"].reduce(
				(sum, name) => sum + day[counted][`KV_tidemill-${name}`]!,
				0,
			);
		return (of(last) - of(settled)) / deleted;
	};
	const most = (of: "residentBytes" | "diskBytes") =>
		Math.max(...lived.map((day) => day[of])) / 1024 ** 2;
	return [
		figure("NATS: resident memory, the most", most("residentBytes"), "MiB"),
		figure("NATS: disk, the most", most("diskBytes"), "MiB"),
		figure(
			"NATS: entries that a deleted Source leaves for good",
			left("messages"),
			"",
		),
		figure(
			"NATS: bytes that a deleted Source leaves for good",
			left("bytes"),
			"B",
		),
	];
}

async function ofKeys(say: Say): Promise<Measurement[]> {
	const looks: HeldKeys[] = [];
	await keepKeys(heldKeys, (held) => {
		looks.push(held);
		say(
			`NATS with ${held.keys} idempotency keys: resident ${mib(held.residentBytes)} MiB, at most ${mib(held.peakBytes)}, disk ${mib(held.diskBytes)} MiB`,
		);
	});
	const full = looks.find(({ keys }) => keys === heldKeys.count)!;
	const of = `NATS, ${heldKeys.count} idempotency keys`;
	return [
		figure(`${of}: resident memory`, full.residentBytes / 1024 ** 2, "MiB"),
		figure(`${of}: disk`, full.diskBytes / 1024 ** 2, "MiB"),
		figure(
			`${of}: most resident memory`,
			looks.at(-1)!.peakBytes / 1024 ** 2,
			"MiB",
		),
	];
}

/** The same days twice: with each cut of one day, and scaled. */
async function wholeDays(say: Say): Promise<Measurement[]> {
	const options = { ...scaled(shard), days: wholeDay + daysOfWhole - 1 };
	const quiet = () => undefined;
	const estimated = await live(options, quiet);
	const real = await live({ ...options, wholeDay }, quiet);
	say(`whole: ${textOf(real[wholeDay - 1]!)}`);
	const isCounted = ({ name }: Column) =>
		name !== "heap" && name !== "resident memory";
	return columns.filter(isCounted).map(({ name, unit, of }) => {
		const isOfDay = unit === "a day";
		const sum = (lived: SimulatedDay[]) =>
			isOfDay
				? lived.slice(wholeDay - 1).reduce((all, day) => all + of(day), 0)
				: of(lived[wholeDay - 1]!);
		const measured = compared(
			`${name}${isOfDay ? `, ${daysOfWhole} days` : ""}: with each cut of a day, against the scaled`,
			isOfDay ? "" : unit,
			sum(real),
			sum(estimated),
			{ ratioAtLeast: 1 - mostDeviation, ratioAtMost: 1 + mostDeviation },
		);
		requireGoal(measured, say);
		return measured;
	});
}

async function sizeOf(
	{ all, shards, ...size }: (typeof sizes)[number],
	say: Say,
): Promise<Measurement[]> {
	const options = { ...scaled(size), days: daysOfSize };
	const lived = await live(options, () => undefined);
	const day = lived.at(-1)!;
	say(`${all} events/s: ${textOf(day)}`);
	const of = `${all} events/s, ${shards} ${shards === 1 ? "shard" : "shards"}`;
	return [
		figure(`${of}: heap of a shard`, day.wholeHeapBytes / 1024 ** 2, "MiB"),
		figure(`${of}: objects in the bucket`, day.objects * shards, ""),
		figure(`${of}: PUT`, day.requests.put * shards, "a day"),
		figure(`${of}: requests and storage`, day.dollars * shards, "$ a day"),
	];
}
