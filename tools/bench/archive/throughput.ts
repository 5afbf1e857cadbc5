import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { eventFile } from "../../../ingest/archive/write/parquet/event-file.ts";
import type {
	TestNats,
	TestS3,
} from "../../../test/support/servers/servers.ts";
import {
	type Bench,
	compared,
	figure,
	type Goal,
} from "../measure/measurement.ts";
import { cpuMs, memory } from "../measure/process-cost.ts";
import { alternate, roundsOf } from "../measure/rounds.ts";
import { startArchive } from "./archive-process.ts";
import { withDataPlane } from "./data-plane.ts";
import {
	bodyBytes,
	eventsOfFrame,
	fillStream,
	newEvents,
} from "./full-stream.ts";
import { readAloneUs } from "./read-alone.ts";

const pollMs = 20;
const frames = Math.ceil(
	Number(process.env.BENCH_EVENTS ?? 400_000) / eventsOfFrame,
);
const events = frames * eventsOfFrame;
/** Events in a cut, which the Parquet writer alone gets at once. */
const eventsOfFile = Math.ceil((8 * 1024 * 1024) / (bodyBytes + 65));
const filesAlone = 8;
const isOrdinary = bodyBytes < 1_000;
const maxBytes = Math.max(1024 ** 3, 2 * events * bodyBytes);

/** Archives a full stream, against the Parquet writer alone on the same events. */
export const bench: Bench = {
	about: `events/s from JetStream to S3, ${events} events of ${bodyBytes} bytes; baseline: writing the Parquet files alone`,
	async run(say) {
		const { archive: drained, Parquet } = await alternate(
			`${events} events`,
			{
				archive: () =>
					withDataPlane(maxBytes, async ({ connection, nats, s3, stream }) => {
						await fillStream(connection, frames);
						const readUs = await readAloneUs(connection, stream, frames);
						const drained = await archive(connection, stream, nats, s3);
						return { ...drained, readUsPerEvent: readUs / events };
					}),
				Parquet: writeAlone,
			},
			{
				count: roundsOf(events > 1_000_000 ? 3 : 5),
				say,
				text: ({ eventsPerSecond }: Cost) =>
					`${Math.round(eventsPerSecond)} events/s`,
			},
		);
		const against = (
			metric: string,
			unit: string,
			of: keyof Cost,
			goal?: Goal,
		) =>
			compared(
				metric,
				unit,
				drained.map((round) => round[of]),
				Parquet.map((round) => round[of]),
				goal,
			);
		const all = (of: keyof (typeof drained)[0]) =>
			drained.map((round) => round[of]);
		const read = all("readUsPerEvent");
		return [
			against("throughput", "events/s", "eventsPerSecond"),
			// 170,000 events/s of one core.
			against(
				"CPU",
				"µs/event",
				"cpuUsPerEvent",
				isOrdinary ? { atMost: 5.88 } : undefined,
			),
			compared(
				"CPU, against reading the stream and Parquet, both alone",
				"µs/event",
				all("cpuUsPerEvent"),
				Parquet.map(({ cpuUsPerEvent }, round) => cpuUsPerEvent + read[round]!),
			),
			figure("CPU of reading the stream alone", read, "µs/event"),
			figure(
				"bodies, of one core",
				all("cpuUsPerEvent").map((us) => bodyBytes / us),
				"MB/s",
				isOrdinary ? undefined : { atLeast: 250 },
			),
			compared(
				"throughput of the last fifth, against the first",
				"events/s",
				all("lastFifth"),
				all("firstFifth"),
			),
			figure("peak memory", all("peakMiB"), "MiB", { atMost: 256 }),
			figure("in S3", all("bytesPerEvent"), "bytes/event"),
		];
	},
};

interface Cost {
	eventsPerSecond: number;
	/** User and system time of the process, which neighbours on the machine don't change. */
	cpuUsPerEvent: number;
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

interface Drained extends Cost {
	/** Events per second in the first and the last fifth of the stream. */
	firstFifth: number;
	lastFifth: number;
	peakMiB: number;
	bytesPerEvent: number;
}

async function archive(
	connection: NatsConnection,
	stream: string,
	nats: TestNats,
	s3: TestS3,
): Promise<Drained> {
	// The last cut isn't full, so it waits for its age.
	const process = await startArchive(nats, s3, { ARCHIVE_MAX_AGE_MS: "100" });
	try {
		const pid = process.child.pid!;
		const startCpuMs = await cpuMs(pid);
		const { streams } = await jetstreamManager(connection);
		const left = async () => (await streams.info(stream)).state.messages;
		const startMs = performance.now();
		const secondsUntil = async (frames: number) => {
			// Archive purges what it has archived.
			while ((await left()) > frames) await delay(pollMs);
			return (performance.now() - startMs) / 1000;
		};
		const firstSeconds = await secondsUntil(frames * 0.8);
		const beforeLast = await secondsUntil(frames * 0.2);
		const seconds = await secondsUntil(0);
		return {
			eventsPerSecond: events / seconds,
			cpuUsPerEvent: (((await cpuMs(pid)) - startCpuMs) * 1000) / events,
			firstFifth: (events * 0.2) / firstSeconds,
			lastFifth: (events * 0.2) / (seconds - beforeLast),
			peakMiB: (await memory(pid)).peakBytes / 1024 ** 2,
			bytesPerEvent: (await objectBytes(s3)) / events,
		};
	} finally {
		process.child.kill();
		await process.ended;
	}
}

/** Total size of the data objects. */
async function objectBytes({ bucketDirectory }: TestS3): Promise<number> {
	const directory = join(bucketDirectory, "tidemill", "events");
	let bytes = 0;
	for (const path of await readdir(directory, { recursive: true }))
		if (path.endsWith(".parquet"))
			bytes += (await stat(join(directory, path))).size;
	return bytes;
}
