import { jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { framesSubject } from "../../../contracts/nats.ts";
import { Alarm } from "../decide/alarm.ts";
import { RequestFailure } from "./errors.ts";
import type { FlushRequests } from "./flush-requests.ts";

/** What a flush needs of a shard. */
export interface FlushableShard {
	readonly number: number;
	readonly flushes: FlushRequests;
	readonly notReady: string | undefined;
}

/** How long a request may wait for the flush. Operator repeats it. */
const flushTimeoutMs = 40_000;

/**
 * Waits until everything that is now in the shard's stream is archived. Returns an instant of NATS's clock, RFC 3339:
 * every frame acknowledged before it is archived.
 * Throws {@link RequestFailure} ShardNotReady, ShardStopped or ArchiveBusy, or why archive is stopping.
 */
export async function flushAll(
	connection: NatsConnection,
	shard: FlushableShard,
	stopping: AbortSignal,
): Promise<string> {
	const { streams } = await jetstreamManager(connection, { checkAPI: false });
	// NATS knows the stream even while the shard is still catching up.
	const subject = framesSubject(shard.number);
	const [stream] = await streams.names(subject).next();
	if (stream === undefined)
		throw new RequestFailure("ShardNotReady", `No stream takes ${subject}`);
	// The clock is read before the last sequence. In the other order, a frame could be acknowledged in between.
	const { ts } = await streams.info(stream);
	const { last_seq } = (await streams.info(stream)).state;
	const timeout = AbortSignal.timeout(flushTimeoutMs);
	try {
		await shard.flushes.wait(
			stream,
			last_seq,
			AbortSignal.any([timeout, stopping]),
		);
	} catch (error) {
		if (error instanceof Alarm)
			throw new RequestFailure("ShardStopped", `${shard.notReady}`, {
				cause: error,
			});
		if (!timeout.aborted) throw error;
		throw new RequestFailure(
			"ArchiveBusy",
			`Shard ${shard.number} wasn't archived through sequence ${last_seq} within ${flushTimeoutMs / 1000} s${shard.notReady ? ` (${shard.notReady})` : ""}`,
		);
	}
	return new Date(ts!).toISOString();
}
