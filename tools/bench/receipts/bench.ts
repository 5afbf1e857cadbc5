import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { jetstream } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { askArchiveForEvents } from "../../../api/events/archive-question.ts";
import { getReceipt } from "../../../api/events/receipt.ts";
import type { ApiRequest } from "../../../api/http/endpoint.ts";
import { ObjectKeys } from "../../../ingest/archive/s3/object-keys.ts";
import {
	encodeEvent,
	encodeFrameHead,
	frameId,
} from "../../../ingest/wire/frame.ts";
import { eventIdText, newEventId } from "../../../ingest/wire/frame-event.ts";
import { processEnvironment } from "../../../operator/install/process-environment.ts";
import { framesSubject } from "../../../packages/contracts/nats.ts";
import type { KubeClient } from "../../../packages/kube/client/client.ts";
import { createLog } from "../../../packages/service/log.ts";
import type { TestS3 } from "../../../test/support/servers/servers.ts";
import { accessStore } from "../../../test/support/servers/store-access.ts";
import { startArchive } from "../archive/archive-process.ts";
import { withDataPlane } from "../archive/data-plane.ts";
import { newEvents } from "../archive/full-stream.ts";
import {
	type Bench,
	figure,
	type Measurement,
	median,
	type Say,
} from "../measure/measurement.ts";
import { costOf, sourcesEnvironment } from "../measure/process-cost.ts";
import { keyMs, type StoredLake, source, writeLake } from "./stored-lake.ts";

const maxBytes = 1024 ** 3;
const framesBuffered = 300;
const asks = 30;
const pipelines = 5;
const runsOfPipeline = 100;

/** Kubernetes is a double here: what a receipt reads there doesn't depend on how many events are stored. */
export const bench: Bench = {
	about: `the time of an event's receipt at each stage, with ten million events stored in ten dates; ${asks} of each, one at a time`,
	run: (say) =>
		withDataPlane(maxBytes, async ({ connection, nats, s3 }) => {
			const keys = new ObjectKeys("tidemill");
			const lake = await writeLake(s3, keys, say);
			const compacted = await compact(s3, lake);
			say(`compacted ${lake.due.length} dates in ${compacted.toFixed(0)} s`);
			const archive = await startArchive(nats, s3, {
				ARCHIVE_MAX_BYTES: String(maxBytes),
				ARCHIVE_MAX_AGE_MS: "3600000",
				ARCHIVE_COMPACTION_MIN_OBJECTS: "0",
				STREAM_MAX_BYTES: String(maxBytes),
			});
			try {
				const buffered = await fillBuffer(connection);
				say(`${framesBuffered} frames are in the buffer`);
				return await measure(connection, buffered, lake, say);
			} finally {
				archive.child.kill();
				await archive.ended;
			}
		}),
};

async function measure(
	connection: NatsConnection,
	buffered: string[],
	{ samples }: StoredLake,
	say: Say,
): Promise<Measurement[]> {
	const unknown = samples.archived.map((id) => `${id.slice(0, -6)}000000`);
	const stages = {
		"in the buffer": buffered,
		"in an object of one cut, and loaded": samples.archived,
		"in a compacted object, and loaded": samples.compacted,
		"in quarantine": samples.quarantined,
		"an hour later than its ID": samples.keyed,
		"there is none": unknown,
	};
	const measured: Measurement[] = [];
	for (const [stage, ids] of Object.entries(stages)) {
		const isKeyed = ids === samples.keyed;
		const caller = callerOf(connection, isKeyed ? (2 * keyMs) / 1_000 : 0);
		const times: number[] = [];
		for (let ask = 0; ask < asks; ask++) {
			const id = ids[Math.floor((ask * ids.length) / asks)]!;
			const startMs = performance.now();
			const isFound = await askFor(caller, id);
			times.push(performance.now() - startMs);
			if (isFound === (ids === unknown))
				throw new Error(`${stage}: ${id} is ${isFound ? "" : "not "}found`);
		}
		const longest = Math.max(...times);
		say(
			`${stage}: ${median(times).toFixed(0)} ms, longest ${longest.toFixed(0)} ms, load ${loadavg()[0]!.toFixed(1)}`,
		);
		measured.push(
			figure(`${stage}, median`, median(times), "ms"),
			figure(`${stage}, longest`, longest, "ms"),
		);
	}
	return measured;
}

type Caller = Pick<ApiRequest, "client" | "account" | "server">;

async function askFor(caller: Caller, id: string): Promise<boolean> {
	const request = { ...caller, params: { event_id: id } } as never;
	try {
		await getReceipt(request, undefined as never);
		return true;
	} catch (error) {
		if ((error as { code?: string }).code === "NotFound") return false;
		throw error;
	}
}

/** Who may read all of the account, in a cluster with one Source, and Pipelines whose Runs loaded everything. */
function callerOf(connection: NatsConnection, windowSeconds: number): Caller {
	const { account, sourceKey } = source;
	const layout = { sourceKey, table: "orders", strategy: "Incremental" };
	const time = new Date().toISOString();
	const items: Record<string, object[]> = {
		sources: [
			{
				metadata: { name: "shop" },
				spec: { webhook: { idempotency: { windowSeconds } } },
				status: { sourceKey, shard: 0 },
			},
		],
		pipelines: Array.from({ length: pipelines }, (_, number) => ({
			metadata: { name: `orders-${number}` },
			spec: { dateRange: {}, table: {} },
		})),
		runs: Array.from({ length: runsOfPipeline }, (_, number) => ({
			metadata: { name: `run-${number}` },
			spec: { pipelineRef: { name: "orders-0" } },
			status: {
				phase: "Succeeded",
				snapshotTime: time,
				completionTime: time,
				dates: { start: "2000-01-01" },
				layout,
			},
		})),
	};
	const client = {
		raw: async () => ({ status: { allowed: true } }),
		list: async ({ plural }: { plural: string }) => ({
			items: structuredClone(items[plural]),
			metadata: {},
		}),
	} as unknown as KubeClient;
	const askEvents = askArchiveForEvents(() => connection, createLog("test"));
	const server = { archive: { askEvents } };
	return { client, account, server } as unknown as Caller;
}

/** Publishes frames of other Sources, each with one event of the lake's; returns their IDs. */
async function fillBuffer(connection: NatsConnection): Promise<string[]> {
	const process = randomBytes(16).toString("hex");
	const client = jetstream(connection);
	const ids: string[] = [];
	for (let number = 1; number <= framesBuffered; number++) {
		const receivedAtMs = Date.now();
		const own = {
			...newEvents(1)[0]!,
			...source,
			id: newEventId(receivedAtMs),
			receivedAtMs,
		};
		const others = newEvents(200).map((event) => ({
			...event,
			sourceKey: "00".repeat(16),
		}));
		const data = Buffer.concat([
			encodeFrameHead(process, number, [], others.length + 1),
			...[...others, own].flatMap(encodeEvent),
		]);
		await client.publish(framesSubject(0), data, {
			msgID: frameId(process, number),
		});
		ids.push(eventIdText(own.id));
	}
	return ids;
}

/** In seconds, by archive's compactor in its own process. */
async function compact(s3: TestS3, { due }: StoredLake): Promise<number> {
	const directory = await mkdtemp(join(tmpdir(), "tidemill-bench-"));
	try {
		const file = join(directory, "work.json");
		const work = { settings: accessStore(s3), prefix: "tidemill", dates: due };
		await writeFile(file, JSON.stringify(work));
		const script = new URL(
			"../compaction/compaction-process.ts",
			import.meta.url,
		).pathname;
		const child = spawn(process.execPath, [script, file], {
			stdio: "inherit",
			env: { ...sourcesEnvironment(), ...processEnvironment.archive },
		});
		return (await costOf(child)).seconds;
	} finally {
		await rm(directory, { recursive: true, force: true });
	}
}
