import type { NatsConnection } from "@nats-io/transport-node";
import {
	framesSubject,
	maxFrameBytes,
} from "../../../packages/contracts/nats.ts";
import { readStoredBatch } from "../../../packages/service/nats/stored-batch.ts";
import type { FrameMessage } from "./rows/frame-rows.ts";

/** A frame of the largest size must fit with its headers. */
const batchBytes = maxFrameBytes + 64 * 1024;
const batchFrames = 1_000;

export interface FramesWanted {
	shard: number;
	stream: string;
	/** First sequence. */
	from: number;
	/** Last sequence. */
	to: number;
	/** Only frames since then, by the stream's clock. */
	sinceMs?: number;
}

/** Reads the next frames; they may be none. Undefined at the end. It keeps nothing of what it returned. */
export type NextFrames = () => Promise<FrameMessage[] | undefined>;

/** The stream's frames in batches of some MiB. Frames that are archived and purged meanwhile are left out. */
export function framesOf(
	connection: NatsConnection,
	{ shard, stream, from, to, sinceMs }: FramesWanted,
): NextFrames {
	let place: { seq: number } | { start_time: Date } | undefined =
		sinceMs === undefined
			? { seq: from }
			: { start_time: new Date(Math.max(0, sinceMs)) };
	return async () => {
		if (!place) return undefined;
		const batch = await readStoredBatch(connection, stream, {
			...place,
			batch: batchFrames,
			max_bytes: batchBytes,
			next_by_subj: framesSubject(shard),
		});
		const last = batch.at(-1)?.seq;
		place = last === undefined || last >= to ? undefined : { seq: last + 1 };
		return batch
			.filter(({ seq }) => seq >= from && seq <= to)
			.map(({ seq: sequence, time, data: bytes }) => ({
				sequence,
				timeMs: time.getTime(),
				bytes,
			}));
	};
}
