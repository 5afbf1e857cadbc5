import { DateObjects } from "../../../ingest/archive/ledger/date-objects.ts";
import { cutBytes } from "../../../ingest/archive/read/frame-queue.ts";
import {
	type ArchiveSettings,
	readArchiveSettings,
} from "../../../ingest/archive/settings.ts";
import { dayMs } from "../../../packages/contracts/utc-date.ts";
import { createLog } from "../../../packages/service/log.ts";
import { Settings } from "../../../packages/service/settings.ts";

/** Of events with 500 bytes of JSON; docs/reference/figures.md. */
export const bytesOfEvent = { body: 500, frame: 549, row: 120 };
/** Of a frame that holds 59 events. */
export const eventsOfFrame = 59;
export interface YearOptions {
	days: number;
	eventsPerSecond: number;
	sources: number;
	/** How many shards the process has; they share the memory for cuts. */
	shardsOfProcess?: number;
	/** A simulated cut stands for so many. */
	factor: number;
	/** The day, from 1, on which each cut stands for itself. */
	wholeDay?: number;
	/** The day, from 1, that begins with a restart of archive. */
	restartOn?: number;
}

/** How many cuts a shard makes on a day. @param limits of its process. */
export function cutsOfDay(
	options: YearOptions,
	limits: ArchiveSettings["limits"],
) {
	const bytes = cutBytes(limits, options.sources);
	const bySize =
		(options.eventsPerSecond * 86_400 * bytesOfEvent.frame) / bytes;
	return Math.max(bySize, dayMs / limits.maxAgeMs);
}

/** Archive's settings, as without any in the environment, with so many shards. */
export function usualSettings(shardsOfProcess = 1): ArchiveSettings {
	const shards = Array.from({ length: shardsOfProcess }, (_, n) => n);
	return readArchiveSettings(
		new Settings({
			S3_BUCKET: "year",
			AWS_REGION: "us-east-1",
			ARCHIVE_SHARDS: shards.join(),
		}),
		createLog("bench"),
	);
}

/** Of one day's objects of all sources, as archive keeps them. */
export function bytesOfIndexed(
	{ sources, ...options }: YearOptions,
	cuts: number,
	held: () => number,
) {
	const before = held();
	const rows = Math.round((options.eventsPerSecond * 86_400) / sources / cuts);
	const frames = 1 + Math.floor((rows * sources) / eventsOfFrame);
	const all = Array.from({ length: sources }, () => {
		const objects = new DateObjects();
		for (let cut = 0; cut < cuts; cut++)
			objects.add({ stream: "x", first: 1 + cut * frames, rows });
		return objects;
	});
	return (held() - before) / all.length / cuts;
}
