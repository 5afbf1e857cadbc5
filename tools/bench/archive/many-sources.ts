import { setTimeout as delay } from "node:timers/promises";
import { jetstreamManager } from "@nats-io/jetstream";
import { type Bench, compared, type Goal } from "../measure/measurement.ts";
import { cpuMs, memory } from "../measure/process-cost.ts";
import { alternate, roundsOf } from "../measure/rounds.ts";
import { startArchive } from "./archive-process.ts";
import { type DataPlane, withDataPlane } from "./data-plane.ts";
import { eventsOfFrame, fillStream } from "./full-stream.ts";

const sources = Number(process.env.BENCH_SOURCES ?? 1_000);
const frames = Math.ceil(
	Number(process.env.BENCH_EVENTS ?? 400_000) / eventsOfFrame,
);
const pollMs = 20;
/** The last cut isn't full and would wait for its age, so it doesn't count. */
const shareLeft = 0.2;

/** Each source gets an object of its own in each cut. */
export const bench: Bench = {
	about: `events/s from JetStream to S3 of ${sources} sources in turn; baseline: of one source`,
	async run(say) {
		const legOf = (count: number) => () =>
			withDataPlane(1024 ** 3, (plane) => archive(plane, count));
		const { one, many } = await alternate(
			`${sources} sources`,
			{ one: legOf(1), many: legOf(sources) },
			{
				count: roundsOf(5),
				say,
				text: ({ eventsPerSecond }) =>
					`${Math.round(eventsPerSecond)} events/s`,
			},
		);
		const both = (
			metric: string,
			unit: string,
			of: keyof Archived,
			goal?: Goal,
		) =>
			compared(
				metric,
				unit,
				many.map((round) => round[of]),
				one.map((round) => round[of]),
				goal,
			);
		return [
			both("throughput", "events/s", "eventsPerSecond", { atLeast: 60_000 }),
			both("CPU", "µs/event", "cpuUsPerEvent"),
			both("CPU of the S3 gateway", "µs/event", "gatewayCpuUsPerEvent"),
			both("peak memory", "MiB", "peakMiB", { atMost: 400 }),
		];
	},
};

interface Archived {
	eventsPerSecond: number;
	cpuUsPerEvent: number;
	gatewayCpuUsPerEvent: number;
	peakMiB: number;
}

async function archive(
	{ connection, stream, nats, s3 }: DataPlane,
	ofSources: number,
): Promise<Archived> {
	await fillStream(connection, frames, ofSources);
	const archive = await startArchive(nats, s3);
	try {
		const pid = archive.child.pid!;
		const { streams } = await jetstreamManager(connection);
		const startCpuMs = await Promise.all([cpuMs(pid), cpuMs(s3.pid)]);
		const startMs = performance.now();
		let left = frames;
		while (left > frames * shareLeft) {
			await delay(pollMs);
			left = (await streams.info(stream)).state.messages;
		}
		const seconds = (performance.now() - startMs) / 1000;
		const endCpuMs = await Promise.all([cpuMs(pid), cpuMs(s3.pid)]);
		const events = (frames - left) * eventsOfFrame;
		const usPerEvent = (which: 0 | 1) =>
			((endCpuMs[which] - startCpuMs[which]) * 1000) / events;
		return {
			eventsPerSecond: events / seconds,
			cpuUsPerEvent: usPerEvent(0),
			gatewayCpuUsPerEvent: usPerEvent(1),
			peakMiB: (await memory(pid)).peakBytes / 1024 ** 2,
		};
	} finally {
		archive.child.kill();
		await archive.ended;
	}
}
