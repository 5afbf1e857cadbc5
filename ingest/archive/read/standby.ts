import { jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import type { FlushRequests } from "./flush-requests.ts";
import type { WakeSignal } from "./wake-signal.ts";

/** Another archiver decided this archiver's next cut first. It works on the shard, and one archiver is enough. */
export class CutConflict extends Error {
	override name = "CutConflict";
}

/** How much longer than its age limit a cut may take before the other archiver counts as dead. */
export const graceMs = 3_000;
const pollMs = 1_000;

/** The oldest frame of a stream, and since when it has been the oldest, by performance.now(). */
export interface OldestFrame {
	/** Undefined if the stream is empty. */
	sequence: number | undefined;
	sinceMs: number;
}

export function withOldest(
	before: OldestFrame | undefined,
	sequence: number | undefined,
	nowMs: number,
): OldestFrame {
	return before?.sequence === sequence
		? (before ?? { sequence, sinceMs: nowMs })
		: { sequence, sinceMs: nowMs };
}

/**
 * Whether nobody archives the shard: one frame has been the oldest for longer than a live archiver allows. With a backlog
 * of any size, every cut changes the oldest frame. The frame's own time doesn't count, since clocks differ.
 */
export function isAbandoned(
	oldest: OldestFrame,
	maxAgeMs: number,
	nowMs: number,
): boolean {
	return (
		oldest.sequence !== undefined && nowMs - oldest.sinceMs > maxAgeMs + graceMs
	);
}

/**
 * Settles when this archiver is needed, because the other one is dead or this one is asked for a flush or for frames, and when the
 * signal fires. `wakeSignal` wakes for the last two. Throws NATS's errors.
 */
export async function standBy(
	connection: NatsConnection,
	stream: string,
	wait: {
		flushes: FlushRequests;
		others: readonly { readonly isWaiting: boolean }[];
		wakeSignal: WakeSignal;
		signal: AbortSignal;
	},
	maxAgeMs: number,
): Promise<void> {
	const { streams } = await jetstreamManager(connection, { checkAPI: false });
	let oldest: OldestFrame | undefined;
	const isAsked = () =>
		wait.flushes.through > 0 || wait.others.some((work) => work.isWaiting);
	while (!wait.signal.aborted && !isAsked()) {
		const { messages, first_seq } = (await streams.info(stream)).state;
		const nowMs = performance.now();
		const sequence = messages > 0 ? first_seq : undefined;
		oldest = withOldest(oldest, sequence, nowMs);
		if (isAbandoned(oldest, maxAgeMs, nowMs)) return;
		// The jitter keeps two standbys from stepping in at once.
		await wait.wakeSignal.wait(pollMs * (0.5 + Math.random()));
	}
}
