import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type {
	CutGroup,
	CutRecord,
} from "../../../ingest/archive/decide/cut.ts";
import type { ObjectKeys } from "../../../ingest/archive/s3/object-keys.ts";
import { eventFile } from "../../../ingest/archive/write/parquet/event-file.ts";
import type { DueDate } from "../../../ingest/lake/compaction/due-dates.ts";
import {
	eventIdText,
	type FrameEvent,
	newEventId,
} from "../../../ingest/wire/frame-event.ts";
import {
	addDays,
	dayMs,
	type UtcDate,
	utcDate,
} from "../../../packages/contracts/utc-date.ts";
import type { TestS3 } from "../../../test/support/servers/servers.ts";
import type { Say } from "../measure/measurement.ts";

export const source = { account: "bench", sourceKey: "5a".repeat(16) };
/** A former stream of the shard. */
const stream = "tidemill-frames-0-0123456789abcdef";

export const days = 10;
/** Those of which the compaction is measured, from the first one on. */
export const compactedDays = 3;
const cutsOfDay = 1_000;
const rowsOfCut = 1_000;
/** Of a cut's, in quarantine. */
const quarantinedOfCut = 10;
/** The time between a key's first request and the event that has its ID. */
export const keyMs = 3_600_000;
const samplesOfDay = 30;

/** Events of a lake, by what a receipt has to go through to find them. */
export interface Samples {
	archived: string[];
	compacted: string[];
	quarantined: string[];
	/** Their IDs are older than they, as those of senders' keys. */
	keyed: string[];
}

/** A lake of ten million events: archive's objects and cut records. */
export interface StoredLake {
	samples: Samples;
	/** To compact before anything is asked. */
	due: DueDate[];
}

/** Writes it into the gateway's directory by archive's own code. Its bodies are short: no receipt reads them. */
export async function writeLake(
	{ bucketDirectory }: TestS3,
	keys: ObjectKeys,
	say: Say,
): Promise<StoredLake> {
	const write = async (key: string, content: Uint8Array | string) => {
		const file = join(bucketDirectory, key);
		await mkdir(dirname(file), { recursive: true });
		await writeFile(file, content);
	};
	const samples: Samples = {
		archived: [],
		compacted: [],
		quarantined: [],
		keyed: [],
	};
	const due: DueDate[] = [];
	const first = addDays(utcDate(Date.now()), -1 - days);
	for (let day = 0; day < days; day++) {
		const date = addDays(first, day);
		const isCompacted = day < compactedDays;
		const objects = [];
		for (let cut = 0; cut < cutsOfDay; cut++) {
			const isSampled = cut % (cutsOfDay / samplesOfDay) < 1;
			const events = eventsOf(date, cut, isSampled);
			const apart = events.slice(0, quarantinedOfCut);
			const rows = events.slice(quarantinedOfCut);
			const sequence = (day * cutsOfDay + cut) * 100 + 1;
			const groups: CutGroup[] = [];
			for (const [some, more] of [
				[rows, {}],
				[apart, { quarantined: true as const }],
			] as const) {
				const folder = { ...source, date, ...more };
				const lastMs = some.at(-1)!.receivedAtMs;
				groups.push({
					...folder,
					rows: some.length,
					lastEventTime: new Date(lastMs).toISOString(),
				});
				await write(
					keys.events(folder, stream, sequence),
					await eventFile(some),
				);
			}
			await write(
				keys.cut(stream, sequence),
				JSON.stringify(cutOf(sequence, groups)),
			);
			objects.push({ stream, first: sequence, rows: rows.length });
			if (!isSampled) continue;
			const idOf = (event: FrameEvent) => eventIdText(event.id);
			samples.quarantined.push(idOf(apart[3]!));
			if (isCompacted) samples.compacted.push(idOf(rows[500]!));
			else {
				samples.archived.push(idOf(rows[500]!));
				samples.keyed.push(idOf(rows[0]!));
			}
		}
		if (isCompacted) due.push({ ...source, date, objects });
		say(
			`wrote ${(((day + 1) * cutsOfDay * rowsOfCut) / 1e6).toFixed(0)} million events`,
		);
	}
	return { samples, due };
}

/** Of one cut. If it is sampled, the first row has the ID of an earlier request with its key. */
function eventsOf(
	date: UtcDate,
	cut: number,
	isSampled: boolean,
): FrameEvent[] {
	const startMs = Date.parse(date) + (cut * dayMs) / cutsOfDay;
	const stepMs = dayMs / cutsOfDay / rowsOfCut;
	return Array.from({ length: rowsOfCut }, (_, row) => {
		const receivedAtMs = Math.floor(startMs + row * stepMs);
		const isKeyed = isSampled && row === quarantinedOfCut;
		return {
			id: newEventId(isKeyed ? receivedAtMs - keyMs : receivedAtMs),
			receivedAtMs,
			...source,
			kind: "json",
			headers: "",
			violations: "",
			body: Buffer.from(`{"n":${row}}`),
		};
	});
}

/** Its sequences are those of 100 frames. */
function cutOf(first: number, groups: CutGroup[]): CutRecord {
	const mark = { id: `x:${first}`, time: groups[0]!.lastEventTime };
	return {
		version: 1,
		stream,
		first,
		last: first + 99,
		firstFrame: mark,
		lastFrame: mark,
		repeated: [],
		processes: {},
		groups,
	};
}
