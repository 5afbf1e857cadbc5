import { eventFile } from "../../../ingest/archive/write/parquet/event-file.ts";
import {
	type Bench,
	compared,
	figure,
	type Goal,
	type Measurement,
	type Say,
} from "../measure/measurement.ts";
import { alternate, partsOf, roundsOf } from "../measure/rounds.ts";
import { withDataPlane } from "./data-plane.ts";
import { type Cost, type Drained, drain, readAloneUs } from "./drain.ts";
import {
	bodyBytes,
	eventsOfFrame,
	fillStream,
	newEvents,
} from "./full-stream.ts";
import { allWork } from "./memory.ts";
import { requests } from "./requests.ts";

const frames = Math.ceil(
	Number(process.env.BENCH_EVENTS ?? 400_000) / eventsOfFrame,
);
const events = frames * eventsOfFrame;
const sources = Number(process.env.BENCH_SOURCES ?? 1_000);
/** Events in a cut, which the Parquet writer alone gets at once. */
const eventsOfFile = Math.ceil((8 * 1024 * 1024) / (bodyBytes + 65));
const filesAlone = 8;
const isOrdinary = bodyBytes < 1_000;
const maxBytes = Math.max(1024 ** 3, 2 * events * bodyBytes);
const text = ({ eventsPerSecond }: Cost) =>
	`${Math.round(eventsPerSecond)} events/s`;

const measures = {
	stream: oneSource,
	sources: manySources,
	memory: allWork,
	requests,
};

/** Archive, from a full stream to objects in S3. */
export const bench: Bench = {
	about: `events/s from JetStream to S3, ${events} events of ${bodyBytes} bytes; baselines: writing the Parquet files alone, and one Source for ${sources}`,
	async run(say) {
		const found: Measurement[] = [];
		for (const part of partsOf(measures))
			found.push(...(await measures[part](say)));
		return found;
	},
};

/** Archives a full stream, against the Parquet writer alone on the same events. */
async function oneSource(say: Say): Promise<Measurement[]> {
	const { archive, Parquet } = await alternate(
		`${events} events`,
		{
			archive: () =>
				withDataPlane(maxBytes, async (plane) => {
					await fillStream(plane.connection, frames);
					const readUs = await readAloneUs(plane, frames);
					// The last cut isn't full, so it waits for its age.
					const env = { ARCHIVE_MAX_AGE_MS: "100" };
					const drained = await drain(plane, frames, { env });
					return { ...drained, readUsPerEvent: readUs / events };
				}),
			Parquet: writeAlone,
		},
		{ count: roundsOf(events > 1_000_000 ? 3 : 5), say, text },
	);
	const all = (of: keyof (typeof archive)[0]) =>
		archive.map((round) => round[of]);
	const against = (metric: string, unit: string, of: keyof Cost, goal?: Goal) =>
		compared(
			metric,
			unit,
			all(of),
			Parquet.map((round) => round[of]),
			goal,
		);
	return [
		against("throughput", "events/s", "eventsPerSecond"),
		// 170,000 events/s of one core.
		against(
			"CPU",
			"µs/event",
			"cpuUsPerEvent",
			isOrdinary ? { atMost: 5.88 } : undefined,
		),
		figure(
			"CPU of reading the stream alone",
			all("readUsPerEvent"),
			"µs/event",
		),
		figure(
			"bodies, of one core",
			all("cpuUsPerEvent").map((us) => bodyBytes / us),
			"MB/s",
			isOrdinary ? undefined : { atLeast: 250 },
		),
		figure("peak memory", all("peakMiB"), "MiB", { atMost: 256 }),
		figure("in S3", all("bytesPerEvent"), "bytes/event"),
	];
}

/** The Parquet writer, on files as large as archive's cuts. */
async function writeAlone(): Promise<Cost> {
	const events = newEvents(eventsOfFile);
	await eventFile(events);
	const startMs = performance.now();
	const start = process.cpuUsage();
	for (let file = 0; file < filesAlone; file++) await eventFile(events);
	const { user, system } = process.cpuUsage(start);
	const seconds = (performance.now() - startMs) / 1000;
	const written = filesAlone * events.length;
	return {
		eventsPerSecond: written / seconds,
		cpuUsPerEvent: (user + system) / written,
	};
}

/** Each source gets an object of its own in each cut. The last cut isn't full and would wait for its age, so it doesn't count. */
async function manySources(say: Say): Promise<Measurement[]> {
	const legOf = (count: number) => () =>
		withDataPlane(maxBytes, async (plane) => {
			await fillStream(plane.connection, frames, count);
			return drain(plane, frames, { shareLeft: 0.2 });
		});
	const { one, many } = await alternate(
		`${sources} sources`,
		{ one: legOf(1), many: legOf(sources) },
		{ count: roundsOf(5), say, text },
	);
	const against = (
		metric: string,
		unit: string,
		of: keyof Drained,
		goal?: Goal,
	) =>
		compared(
			`${metric} with ${sources} Sources, against one`,
			unit,
			many.map((round) => round[of]),
			one.map((round) => round[of]),
			goal,
		);
	return [
		against("throughput", "events/s", "eventsPerSecond", { atLeast: 60_000 }),
		against("CPU", "µs/event", "cpuUsPerEvent"),
		against("CPU of the S3 gateway", "µs/event", "gatewayCpuUsPerEvent"),
		against("peak memory", "MiB", "peakMiB", { atMost: 400 }),
	];
}
