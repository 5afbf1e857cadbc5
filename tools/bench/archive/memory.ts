import { setTimeout as delay } from "node:timers/promises";
import { jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { DateObjects } from "../../../ingest/archive/ledger/date-objects.ts";
import { LedgerIndex } from "../../../ingest/archive/ledger/ledger-index.ts";
import { LedgerSnapshots } from "../../../ingest/archive/ledger/ledger-snapshots.ts";
import { objectKeys } from "../../../packages/bucket/object-keys.ts";
import { S3ObjectStore } from "../../../packages/bucket/s3-object-store.ts";
import type { TestS3 } from "../../../test/support/servers/servers.ts";
import { accessStore } from "../../../test/support/servers/store-access.ts";
import {
	closedDates,
	stream as formerStream,
	objectsOf,
	objectsOfDay,
	source,
	writeObjects,
} from "../compaction/closed-dates.ts";
import { figure, type Measurement, type Say } from "../measure/measurement.ts";
import { memory } from "../measure/process-cost.ts";
import { alternate, roundsOf } from "../measure/rounds.ts";
import {
	type DataPlane,
	log,
	startArchive,
	withDataPlane,
} from "./data-plane.ts";
import { eventsOfFrame, fillStream } from "./full-stream.ts";

const dates = closedDates(3);
/** Archive takes about four seconds for one burst. */
const framesOfBurst = 2_000;
const pauseMs = 2_000;
const pollMs = 20;
const maxBytes = 2 * 1024 ** 3;

/** Archive under all its work at once: bursts arrive while it compacts closed dates. */
export async function allWork(say: Say): Promise<Measurement[]> {
	const { archive } = await alternate(
		`bursts of ${framesOfBurst * eventsOfFrame} events while ${dates.length} dates of ${objectsOfDay} objects are compacted`,
		{ archive: () => withDataPlane(maxBytes, workOn) },
		{
			count: roundsOf(3),
			say,
			text: (peakMiB) => `${peakMiB.toFixed(0)} MiB`,
		},
	);
	return [
		figure("peak memory under all its work", archive, "MiB", { atMost: 256 }),
	];
}

/** Returns the most memory that it took, in MiB. */
async function workOn({ connection, nats, s3 }: DataPlane): Promise<number> {
	await writeClosedDates(s3);
	await fillStream(connection, framesOfBurst);
	const archive = await startArchive(nats, s3, {
		ARCHIVE_COMPACTION_INTERVAL_MS: "1",
	});
	try {
		let compacted = 0;
		archive.onLine = (line) => {
			if (JSON.parse(line).msg === "compacted a date") compacted++;
		};
		do {
			await untilArchived(connection);
			await delay(pauseMs);
			if (compacted < dates.length) await fillStream(connection, framesOfBurst);
		} while (compacted < dates.length);
		return (await memory(archive.child.pid!)).peakBytes / 1024 ** 2;
	} finally {
		archive.child.kill();
		await archive.ended;
	}
}

/** The state that an archive with a former stream leaves. */
async function writeClosedDates(s3: TestS3): Promise<void> {
	const keys = objectKeys("tidemill");
	await writeObjects(s3, keys, dates);
	const { signal } = new AbortController();
	const store = new S3ObjectStore(
		{ ...accessStore(s3), prefix: "tidemill" },
		signal,
	);
	const now = new Date().toISOString();
	const last = objectsOfDay - 1;
	const index = LedgerIndex.of({
		newestOfStream: [[formerStream, { first: last, last }]],
		days: dates,
		lostFrames: [],
		sources: [
			{
				...source,
				firstEventDate: dates[0]!,
				lastEventTime: now,
				archivedThrough: now,
				quarantined: new Map(),
				deviations: new Map(),
				objects: new Map(
					dates.map((date) => [date, DateObjects.of(objectsOf())]),
				),
			},
		],
	});
	await new LedgerSnapshots(store, log).write(0, index);
	store.close();
}

/** Until nearly all of a burst is archived. The last cut isn't full, so it waits for its age. */
async function untilArchived(connection: NatsConnection): Promise<void> {
	const { streams } = await jetstreamManager(connection);
	for await (const { config } of streams.list()) {
		if (!config.name.startsWith("tidemill-frames-0-")) continue;
		for (;;) {
			const { messages } = (await streams.info(config.name)).state;
			if (messages < framesOfBurst / 10) break;
			await delay(pollMs);
		}
	}
}
