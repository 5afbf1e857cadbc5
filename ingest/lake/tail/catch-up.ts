import { setTimeout as delay } from "node:timers/promises";
import { DeliverPolicy, jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import type { FairLimit } from "../../../packages/fair/fair-limit.ts";
import { FrameBatches } from "../../archive/read/frame-batches.ts";
import { scanFrame } from "../../wire/frame-scan.ts";
import type { TailLease } from "./lease.ts";

/** A tail goes back no further: archive reads it all, whoever's events it is. */
const maxFrames = 20_000;
const maxBytes = 64 * 1024 * 1024;
const waitMs = 50;
/** Frames that are purged meanwhile never come. */
const maxReadMs = 10_000;

/** Gives a tail the frames after the place that it asks for, as far as the stream has them. Afterwards it takes new ones. */
export async function catchUp({
	connection,
	stream,
	lease,
	turns,
	isWanted,
}: {
	connection: NatsConnection;
	/** Its new frames are being read already. */
	stream: string;
	lease: TailLease;
	turns: FairLimit;
	isWanted: () => boolean;
}): Promise<void> {
	const { after, account, sourceKey } = lease.request;
	const { streams } = await jetstreamManager(connection, { checkAPI: false });
	const { first_seq: first, last_seq: last } = (await streams.info(stream))
		.state;
	const { from, hasGap } = rangeOf(after, stream, first, last);
	if (hasGap) lease.skip();
	lease.startAt({ stream, sequence: from - 1 });
	if (from > last) return;
	await turns.run(account, async () => {
		const reader = await FrameBatches.open(connection, stream, {
			deliver_policy: DeliverPolicy.StartSequence,
			opt_start_seq: from,
		});
		let bytes = 0;
		let reached = from - 1;
		const timer = setTimeout(() => void reader.close(), maxReadMs);
		try {
			await reader.run(async (sequence, frame) => {
				bytes += frame.length;
				if (bytes > maxBytes || sequence > last) return false;
				// Frames between were purged meanwhile.
				if (sequence > reached + 1) lease.skip();
				reached = sequence;
				while (lease.isFull && isWanted()) await delay(waitMs);
				const scanned = scanFrame(frame, (key) => key === sourceKey);
				lease.take(stream, sequence, scanned, performance.now(), false);
				return sequence < last && isWanted();
			});
			if (reached < last && isWanted()) lease.skip();
		} finally {
			clearTimeout(timer);
			await reader.close();
		}
	});
}

/** Where to begin to read, and whether events before that may be missing. A `from` beyond the last frame means: with new ones. */
export function rangeOf(
	after: { stream: string; sequence: number; index?: number } | undefined,
	stream: string,
	first: number,
	last: number,
): { from: number; hasGap: boolean } {
	if (!after) return { from: last + 1, hasGap: false };
	// The stream was rebuilt since.
	if (after.stream !== stream || after.sequence > last)
		return { from: last + 1, hasGap: true };
	const wanted = after.sequence + (after.index === undefined ? 1 : 0);
	const from = Math.max(wanted, first, last - maxFrames + 1);
	// The rest of the frame itself may be archived already, which is no gap if nothing of it was left.
	return { from, hasGap: from > after.sequence + 1 };
}
