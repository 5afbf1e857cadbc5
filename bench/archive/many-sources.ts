import { setTimeout as delay } from "node:timers/promises";
import { jetstreamManager } from "@nats-io/jetstream";
import { type Bench, compared, figure } from "../measure/measurement.ts";
import { cpuMs, memory } from "../measure/process-cost.ts";
import { startArchive } from "./archive-process.ts";
import { type DataPlane, withDataPlane } from "./data-plane.ts";
import { eventsOfFrame, fillStream } from "./full-stream.ts";

const sources = 1_000;
const frames = Math.ceil(
	Number(process.env.BENCH_EVENTS ?? 400_000) / eventsOfFrame,
);
const events = frames * eventsOfFrame;
const pollMs = 20;

/** Each source gets an object of its own in each cut. */
export const bench: Bench = {
	about: `events/s from JetStream to S3, ${events} events of ${sources} sources in turn; baseline: of one source`,
	async run(say) {
		const one = await withDataPlane(1024 ** 3, (plane) => archive(plane, 1));
		say(`one source: ${Math.round(one.eventsPerSecond)} events/s`);
		const many = await withDataPlane(1024 ** 3, (plane) =>
			archive(plane, sources),
		);
		return [
			compared(
				"throughput",
				"events/s",
				many.eventsPerSecond,
				one.eventsPerSecond,
			),
			compared("CPU", "µs/event", many.cpuUsPerEvent, one.cpuUsPerEvent),
			figure("peak memory", many.peakBytes / 1024 ** 2, "MiB"),
		];
	},
};

async function archive(
	{ connection, stream, nats, s3 }: DataPlane,
	ofSources: number,
) {
	await fillStream(connection, frames, ofSources);
	// The last cut isn't full, so it waits for its age.
	const archive = await startArchive(nats, s3, { ARCHIVE_MAX_AGE_MS: "2000" });
	try {
		const pid = archive.child.pid!;
		const startCpuMs = await cpuMs(pid);
		const startMs = performance.now();
		const { streams } = await jetstreamManager(connection);
		while ((await streams.info(stream)).state.messages > 0) await delay(pollMs);
		const seconds = (performance.now() - startMs) / 1000;
		const usedMs = (await cpuMs(pid)) - startCpuMs;
		return {
			eventsPerSecond: events / seconds,
			cpuUsPerEvent: (usedMs * 1000) / events,
			peakBytes: (await memory(pid)).peakBytes,
		};
	} finally {
		archive.child.kill();
		await archive.ended;
	}
}
