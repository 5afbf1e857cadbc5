import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import type { NatsConnection } from "@nats-io/transport-node";
import { S3ObjectStore } from "../../packages/bucket/s3-object-store.ts";
import { probeStore } from "../../packages/bucket/store-probe.ts";
import { StoreRequests } from "../../packages/bucket/store-requests.ts";
import { placeOf, tlsServersOf } from "../../packages/bucket/store-settings.ts";
import { observeCertificates } from "../../packages/service/certificate-metrics.ts";
import {
	processRegistry,
	startHealthServer,
} from "../../packages/service/health-server.ts";
import { createLog } from "../../packages/service/log.ts";
import {
	connectNats,
	NatsState,
} from "../../packages/service/nats/connection.ts";
import { makeRoomForInput } from "../../packages/service/nats/input-room.ts";
import { Settings } from "../../packages/service/settings.ts";
import { stopSignal } from "../../packages/service/start-order.ts";
import { openTracing } from "../../packages/service/tracing.ts";
import { readBacklogs } from "../../packages/streams/backlogs.ts";
import { makeStreams } from "../../packages/streams/stream-maker.ts";
import { Lake, replacementsIn } from "../lake/lake.ts";
import { whileAnnounced } from "./announcement.ts";
import { BucketChanged, BucketGuard } from "./bucket-guard.ts";
import { LedgerSnapshots } from "./ledger/ledger-snapshots.ts";
import { CutLossStore } from "./losses.ts";
import { keepRefusedStream } from "./refused-stream.ts";
import { readArchiveSettings } from "./settings.ts";
import { Shard } from "./shard.ts";
import { StoppedShards } from "./stopped-shards.ts";
import { ArchiveMetrics } from "./write/archive-metrics.ts";
import { BucketMarks } from "./write/bucket-marks.ts";
import { CutStore } from "./write/cut-store.ts";
import { CutWriter } from "./write/cut-writer.ts";
import { NatsProgress } from "./write/nats-progress.ts";
import { Tombstones } from "./write/tombstones.ts";

/** `tidemill archive`: moves its shards' events into the bucket until SIGTERM. Returns the exit code. */
export async function main(): Promise<number> {
	// Frames and files are outside V8's heap. V8 would mark all of its heap after a few MB of them.
	setFlagsFromString("--external-memory-accounted-in-global-limit");
	// V8 collects once the memory in use has grown by 130 %; by default it allows up to 300 %. Bursts leave less behind.
	setFlagsFromString("--heap-growing-percent=130");
	const log = createLog("archive");
	const settings = new Settings();
	const archive = readArchiveSettings(settings, log);
	const stop = stopSignal();
	const state = new NatsState();
	const tracing = await openTracing("archive", settings, log);

	const shards: Shard[] = [];
	let unannounced: string | undefined;
	const registry = processRegistry();
	let nats: NatsConnection | undefined;
	let guard: BucketGuard | undefined;
	const metrics = new ArchiveMetrics(
		registry,
		() => shards,
		async () => (nats ? readBacklogs(nats, archive.shards) : []),
	);
	const requests = new StoreRequests((request) =>
		metrics.countRequest(request),
	);
	observeCertificates(registry, tlsServersOf(archive.store));
	const health = await startHealthServer(settings, {
		ready: () =>
			stop.aborted
				? "stopping"
				: ((state.isRefused ? undefined : unannounced) ??
					reasonNotReady(state, shards, guard) ??
					requests.notReady()),
		registry,
	});
	log.info(
		{ healthPort: health.port, shards: archive.shards },
		"archive starts",
	);

	const connection = await connectNats(
		settings,
		"archive",
		log,
		stop,
		state,
	).catch((error) => {
		if (!stop.aborted) throw error;
		return undefined;
	});
	if (!connection) {
		await health.close();
		return 0;
	}
	nats = connection;
	makeRoomForInput(connection);
	const ending = new AbortController();
	const signal = AbortSignal.any([stop, ending.signal]);
	const store = new S3ObjectStore(archive.store, signal, requests);
	const tombstones = new Tombstones(store);
	const writer = new CutWriter({
		store,
		tombstones,
		metrics,
		tracing,
	});
	for (const number of archive.shards)
		shards.push(
			new Shard({
				number,
				connection,
				cuts: new CutStore(store),
				losses: new CutLossStore(store, replacementsIn(store)),
				snapshots: new LedgerSnapshots(store, log),
				writer,
				tombstones,
				limits: archive.limits,
				stream: archive.stream,
				checkStore: () => probeStore(store, store.keys.probe(), log),
				metrics,
				log,
			}),
		);
	const { replicas } = archive.stream;
	guard = new BucketGuard({
		marks: new BucketMarks(store),
		progress: () => NatsProgress.open(connection, replicas),
		place: placeOf(archive.store),
		metrics,
		log,
	});
	const shared = { connection, store, tombstones, metrics, log };
	const lake = new Lake({ ...shared, settings: archive, shards, guard });
	const stopped = new StoppedShards({
		shards,
		storeNotReady: () => requests.notReady(),
		maxAgeMs: archive.limits.maxAgeMs,
		progress: () => NatsProgress.open(connection, replicas),
		log,
	});
	const announcement = {
		...{ connection, replicas, shards: archive.shards, log },
		onWait: (reason: string | undefined) => {
			unannounced = reason;
		},
	};
	const work = Promise.all([
		// Also of one that stands by, or can't work: nobody else makes a role's lost stream where NATS has no reloader.
		makeStreams({ connection, replicas, log }, signal),
		whileAnnounced(announcement, signal, () =>
			Promise.all([
				guard.whileAccepted(signal, () =>
					Promise.all([
						...shards.map((shard) => shard.run(signal)),
						lake.run(signal),
					]),
				),
				stopped.run(signal),
				keepRefusedStream(connection, replicas, log, signal),
			]),
		),
	]);

	const ended = stop.aborted ? Promise.resolve() : once(stop, "abort");
	const end = await Promise.race([
		ended.then(() => "stopped" as const),
		connection.closed(),
		work.then(
			() => "stopped" as const,
			(error) => {
				if (error instanceof BucketChanged) return error;
				throw error;
			},
		),
	]);
	if (end instanceof BucketChanged)
		log.fatal(`${end.message}. Archive begins anew`);
	else if (end !== "stopped")
		log.fatal({ err: end }, "NATS closed the connection");
	// An unfinished cut stays as it is: the next archiver finishes it.
	lake.close();
	ending.abort();
	await within(
		stopTimeoutMs,
		work.catch(() => undefined),
	);
	await within(1_000, connection.close());
	store.close();
	await tracing?.stop();
	await health.close();
	return end === "stopped" ? 0 : 1;
}

const stopTimeoutMs = 10_000;

/** Waits for the work until the timeout. The timer doesn't keep the process alive. */
async function within(timeoutMs: number, work: Promise<unknown>) {
	await Promise.race([work, delay(timeoutMs, undefined, { ref: false })]);
}

function reasonNotReady(
	nats: NatsState,
	shards: readonly Shard[],
	guard: BucketGuard | undefined,
): string | undefined {
	if (nats.isRefused) return nats.reason;
	if (!guard) return nats.reason ?? "starting";
	if (guard.notReady !== undefined) return guard.notReady;
	return shards.map((shard) => shard.notReady).find(Boolean);
}
