import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { DeliverPolicy, jetstream, jetstreamManager } from "@nats-io/jetstream";
import { FrameBatches } from "../../../ingest/archive/read/frame-batches.ts";
import type { TestS3 } from "../../../test/support/servers/servers.ts";
import { cpuMs, memory } from "../measure/process-cost.ts";
import { type DataPlane, startArchive } from "./data-plane.ts";
import { eventsOfFrame } from "./full-stream.ts";

const pollMs = 20;

export interface Cost {
	eventsPerSecond: number;
	/** User and system time of the process, which neighbours on the machine don't change. */
	cpuUsPerEvent: number;
}

export interface Drained extends Cost {
	gatewayCpuUsPerEvent: number;
	peakMiB: number;
	bytesPerEvent: number;
}

/** Archives a full stream in a process, until no more than a share of its frames is left. */
export async function drain(
	{ connection, stream, nats, s3 }: DataPlane,
	frames: number,
	{ shareLeft = 0, env }: { shareLeft?: number; env?: Record<string, string> },
): Promise<Drained> {
	const archive = await startArchive(nats, s3, env);
	try {
		const pid = archive.child.pid!;
		const { streams } = await jetstreamManager(connection);
		const cpu = () => Promise.all([pid, s3.pid].map(cpuMs));
		const before = await cpu();
		const startMs = performance.now();
		let left = frames;
		// Archive purges what it has archived.
		while (left > frames * shareLeft) {
			await delay(pollMs);
			left = (await streams.info(stream)).state.messages;
		}
		const seconds = (performance.now() - startMs) / 1000;
		const after = await cpu();
		const events = (frames - left) * eventsOfFrame;
		const [cpuUsPerEvent, gatewayCpuUsPerEvent] = after.map(
			(ms, index) => ((ms - before[index]!) * 1000) / events,
		) as [number, number];
		return {
			eventsPerSecond: events / seconds,
			cpuUsPerEvent,
			gatewayCpuUsPerEvent,
			peakMiB: (await memory(pid)).peakBytes / 1024 ** 2,
			bytesPerEvent: (await objectBytes(s3)) / events,
		};
	} finally {
		archive.child.kill();
		await archive.ended;
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

/** This process's CPU to read so many frames as archive does, without a look at them, in microseconds. */
export async function readAloneUs(
	{ connection, stream }: DataPlane,
	frames: number,
): Promise<number> {
	const consumer = await jetstream(connection).consumers.get(stream, {
		deliver_policy: DeliverPolicy.StartSequence,
		opt_start_seq: 1,
	});
	const batches = new FrameBatches(consumer);
	const start = process.cpuUsage();
	let left = frames;
	while (left > 0) await batches.read(() => --left > 0);
	const { user, system } = process.cpuUsage(start);
	await batches.close();
	return user + system;
}
