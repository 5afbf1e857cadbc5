import { jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { framesSubject } from "../../../contracts/nats.ts";
import { Alarm } from "../alarm.ts";
import type { Shard } from "../shard.ts";
import { QuestionFailure } from "./errors.ts";

/** How long a question may wait for the flush; who asks waits a minute. */
const flushTimeoutMs = 40_000;

/**
 * Waits until everything is archived that is in the shard's stream now. Returns an instant by NATS's clock such that
 * every frame acknowledged before it is archived, RFC 3339.
 * Throws {@link QuestionFailure} ShardNotReady, ShardStopped or ArchiveBusy, or why archive is stopping.
 */
export async function flushAll(
	connection: NatsConnection,
	shard: Shard,
	stopping: AbortSignal,
): Promise<string> {
	const { streams } = await jetstreamManager(connection, { checkAPI: false });
	// Asked of NATS, not of the shard: one that is still catching up is waited for.
	const subject = framesSubject(shard.number);
	const [stream] = await streams.names(subject).next();
	if (stream === undefined)
		throw new QuestionFailure("ShardNotReady", `No stream takes ${subject}`);
	// The clock is read before the last sequence: in the other order, a frame could be acknowledged in between.
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
			throw new QuestionFailure("ShardStopped", `${shard.notReady}`, {
				cause: error,
			});
		if (!timeout.aborted) throw error;
		throw new QuestionFailure(
			"ArchiveBusy",
			`Shard ${shard.number} wasn't archived through sequence ${last_seq} within ${flushTimeoutMs / 1000} s${shard.notReady ? ` (${shard.notReady})` : ""}`,
		);
	}
	return new Date(ts!).toISOString();
}
