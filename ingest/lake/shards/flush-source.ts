import { jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { framesSubject } from "../../../packages/contracts/nats.ts";
import { pause } from "../../../packages/service/pause.ts";
import { Alarm } from "../../archive/decide/alarm.ts";
import type { FlushRequests } from "../../archive/read/flush-requests.ts";
import { RequestFailure } from "../request/errors.ts";
import type { Task } from "../request/responder.ts";
import type { SourceTails } from "./source-tails.ts";

/** What a flush needs of a shard. */
export interface FlushableShard {
	readonly number: number;
	readonly flushes: FlushRequests;
	readonly tails: SourceTails;
	readonly notReady: string | undefined;
}

/** How long a request may wait for the flush. Operator repeats it. */
const flushTimeoutMs = 40_000;
/** A flush that takes longer has much before it, so it pays to look for the source's last event. */
const usualMs = 1_000;

/**
 * Waits until every event of the source before the end of the shard's stream is archived, and not for other sources' events
 * behind it. Throws {@link RequestFailure} ShardNotReady, ShardStopped or ArchiveBusy, or why archive is stopping.
 * @param end as of now, if it isn't known.
 */
export async function flushSource(
	connection: NatsConnection,
	shard: FlushableShard,
	sourceKey: string,
	task: Task,
	end?: StreamEnd,
): Promise<void> {
	const { stream, last } = end ?? (await endOf(connection, shard));
	const { flushes, tails } = shard;
	const before = flushes.doneOf(stream);
	let through = last;
	if (before !== undefined)
		task.progress = () =>
			`${(flushes.doneOf(stream) ?? before) - before} of ${through - before} frames that may hold the Source's events are archived.`;
	const timeout = AbortSignal.timeout(flushTimeoutMs);
	const settled = new AbortController();
	const signal = AbortSignal.any([timeout, task.stopping, settled.signal]);
	const whole = flushes.wait(stream, last, signal);
	const own = async () => {
		await pause(usualMs, signal);
		signal.throwIfAborted();
		const done = flushes.doneOf(stream);
		// The shard is still catching up, and its ledger isn't complete.
		if (done === undefined) return whole;
		const waiting = { stream, from: done + 1, to: last };
		const found = await tails.lastOf(sourceKey, waiting, signal);
		if (found === undefined) return whole;
		through = Math.max(found, done);
		return flushes.wait(stream, through, signal);
	};
	try {
		await Promise.race([whole, own()]);
	} catch (error) {
		if (error instanceof Alarm)
			throw new RequestFailure(
				"ShardStopped",
				`Shard ${shard.number} has stopped with an alarm`,
				{ cause: error, ...internalsOf(shard) },
			);
		if (!timeout.aborted) throw error;
		throw new RequestFailure(
			"ArchiveBusy",
			`Shard ${shard.number} wasn't archived through sequence ${through} within ${flushTimeoutMs / 1000} s`,
			internalsOf(shard),
		);
	} finally {
		settled.abort();
		task.progress = undefined;
	}
}

export type StreamEnd = Awaited<ReturnType<typeof endOf>>;

/** The stream's last sequence, and an instant: every frame acknowledged before it has at most this sequence. */
export async function endOf(
	connection: NatsConnection,
	shard: Pick<FlushableShard, "number">,
) {
	const { streams } = await jetstreamManager(connection, { checkAPI: false });
	// NATS knows the stream even while the shard is still catching up.
	const subject = framesSubject(shard.number);
	const [stream] = await streams.names(subject).next();
	if (stream === undefined)
		throw new RequestFailure("ShardNotReady", `No stream takes ${subject}`);
	// The clock is read before the last sequence. In the other order, a frame could be acknowledged in between.
	const { ts } = await streams.info(stream);
	const { state } = await streams.info(stream);
	const time = new Date(ts!).toISOString();
	return { stream, last: state.last_seq, time, state };
}

/** An instant: every frame acknowledged before it is archived. Undefined while one isn't, or nobody knows. */
export async function drainedAt(
	connection: NatsConnection,
	shard: Pick<FlushableShard, "number" | "flushes">,
): Promise<string | undefined> {
	const end = await endOf(connection, shard).catch(() => undefined);
	const done = end && shard.flushes.doneOf(end.stream);
	return done !== undefined && done >= end!.last ? end!.time : undefined;
}

/** Why the shard isn't ready, which names the store or the stream. */
export function internalsOf({ notReady }: Pick<FlushableShard, "notReady">) {
	return notReady ? { internals: notReady } : {};
}
