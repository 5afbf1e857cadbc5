import { randomBytes } from "node:crypto";
import { readFile, rm } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import pino from "pino";
import { framesSubject } from "../contracts/nats.ts";
import { ParquetWriter } from "../ingest/archive/parquet.ts";
import { openShardStream } from "../ingest/archive/shard-stream.ts";
import {
	encodeEvent,
	encodeFrameHead,
	type FrameEvent,
	frameId,
} from "../ingest/frame.ts";
import { connectNats } from "../service/nats.ts";
import { Settings } from "../service/settings.ts";
import {
	startNats,
	startS3,
	type TestNats,
	type TestS3,
} from "../test/servers.ts";
import { temporaryDirectory } from "../test/test-server.ts";
import {
	startTidemill,
	type TidemillProcess,
} from "../test/tidemill-process.ts";
import type { Bench } from "./measurement.ts";

const pollMs = 20;
const frames = 2_000;
const eventsOfFrame = 200;
const bodyBytes = 495;
const filesAlone = 8;
const log = pino({ level: "silent" });
const streamSettings = { maxBytes: 2 * 1024 ** 3, replicas: 1 };

/** A full stream until all of it is in S3, against the Parquet writer alone on the same events. */
export const bench: Bench = {
	about: `events/s from JetStream to S3, ${frames * eventsOfFrame} events of ${bodyBytes} bytes; baseline: writing the Parquet files alone`,
	async run(say) {
		const [nats, s3] = await Promise.all([startNats(), startS3()]);
		const connection = await connectNats(
			new Settings({ NATS_URL: nats.url }),
			"bench",
			log,
		);
		try {
			const stream = await openShardStream(connection, 0, streamSettings, log);
			await fill(connection);
			say(`stored ${frames} frames of ${eventsOfFrame} events`);
			const baseline = await writeAlone();
			say(`Parquet alone: ${Math.round(baseline)} events/s`);
			const { eventsPerSecond, peakBytes } = await archive(
				connection,
				stream,
				nats,
				s3,
			);
			return [
				{
					metric: "throughput",
					value: eventsPerSecond,
					unit: "events/s",
					baseline,
					ratio: eventsPerSecond / baseline,
				},
				{ metric: "peak memory", value: peakBytes / 1024 ** 2, unit: "MiB" },
			];
		} finally {
			await connection.close();
			await Promise.all([nats.stop(), s3.stop()]);
		}
	},
};

function newEvents(count: number): FrameEvent[] {
	const body = Buffer.from(
		JSON.stringify(
			randomBytes(bodyBytes)
				.toString("base64")
				.slice(0, bodyBytes - 2),
		),
	);
	return Array.from({ length: count }, () => ({
		id: randomBytes(16),
		receivedAtMs: Date.now(),
		sourceKey: "5a".repeat(16),
		account: "bench",
		kind: "json" as const,
		headers: "",
		violations: "",
		body,
	}));
}

async function fill(connection: NatsConnection): Promise<void> {
	const process = randomBytes(16).toString("hex");
	const client = jetstream(connection);
	for (let number = 1; number <= frames; number++) {
		const data = Buffer.concat([
			encodeFrameHead(process, number, [], eventsOfFrame),
			...newEvents(eventsOfFrame).flatMap(encodeEvent),
		]);
		await client.publish(framesSubject(0), data, {
			msgID: frameId(process, number),
		});
	}
}

/** Events a second of the Parquet writer, in files of the size that archive's cuts have. */
async function writeAlone(): Promise<number> {
	const scratch = await temporaryDirectory("bench");
	const writer = await ParquetWriter.open(scratch);
	const events = newEvents(15_000);
	await writer.write(events);
	const startMs = performance.now();
	for (let file = 0; file < filesAlone; file++) await writer.write(events);
	const seconds = (performance.now() - startMs) / 1000;
	writer.close();
	await rm(scratch, { recursive: true, force: true });
	return (filesAlone * events.length) / seconds;
}

async function archive(
	connection: NatsConnection,
	stream: string,
	nats: TestNats,
	s3: TestS3,
): Promise<{ eventsPerSecond: number; peakBytes: number }> {
	const process = startTidemill(["archive"], {
		NATS_URL: nats.urlFor("archive"),
		S3_ENDPOINT: s3.endpoint,
		S3_BUCKET: s3.bucket,
		AWS_REGION: s3.region,
		AWS_ACCESS_KEY_ID: s3.accessKeyId,
		AWS_SECRET_ACCESS_KEY: s3.secretAccessKey,
		// As its container has it.
		NODE_OPTIONS: "--max-semi-space-size=4",
		// The last cut isn't full: it waits for its age.
		ARCHIVE_MAX_AGE_MS: "100",
	});
	try {
		await untilArchiving(process);
		const startMs = performance.now();
		const { streams } = await jetstreamManager(connection);
		// What is archived is purged.
		while ((await streams.info(stream)).state.messages > 0) await delay(pollMs);
		const seconds = (performance.now() - startMs) / 1000;
		return {
			eventsPerSecond: (frames * eventsOfFrame) / seconds,
			peakBytes: await peakMemory(process.child.pid!),
		};
	} finally {
		process.child.kill();
		await process.ended;
	}
}

function untilArchiving(process: TidemillProcess): Promise<void> {
	return new Promise((resolve, reject) => {
		process.onLine = (line) => {
			if (JSON.parse(line).msg === "the shard is archived") resolve();
		};
		void process.ended.then(({ stderr }) => reject(new Error(stderr)));
	});
}

/** proc(5): the most that was ever resident. */
async function peakMemory(pid: number): Promise<number> {
	const status = await readFile(`/proc/${pid}/status`, "utf8");
	return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
}
