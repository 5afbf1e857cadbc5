import { jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import type { WakeSignal } from "../concurrency/wait.ts";
import type { FlushRequests } from "../request/flush-requests.ts";

/** Another archiver has decided the cut that this one was about to: it is at work on the shard, and one is enough. */
export class Outpaced extends Error {
	override name = "Outpaced";
}

/** How much longer than its age limit the other may take for a cut, before it is taken for dead. */
export const graceMs = 3_000;
const pollMs = 1_000;

/** The oldest frame of a stream, and since when it has been seen to be that one, on the clock of performance.now(). */
export interface OldestFrame {
	/** Undefined when the stream is empty. */
	sequence: number | undefined;
	sinceMs: number;
}

/** What is known after another look. */
export function lookedAgain(
	before: OldestFrame | undefined,
	sequence: number | undefined,
	nowMs: number,
): OldestFrame {
	return before?.sequence === sequence
		? (before ?? { sequence, sinceMs: nowMs })
		: { sequence, sinceMs: nowMs };
}

/**
 * Whether nobody else archives the shard: a frame stays the oldest for longer than any archiver that lives would let it.
 * By how long it was seen, not by its time: clocks differ. With a backlog of any size the oldest changes with every cut.
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
 * Settles when this archiver is needed: the other one does nothing any more, or somebody asks this one for a flush. The
 * bell rings then, and when the signal fires. Throws what NATS says.
 */
export async function standBy(
	connection: NatsConnection,
	stream: string,
	wait: { flushes: FlushRequests; wakeSignal: WakeSignal; signal: AbortSignal },
	maxAgeMs: number,
): Promise<void> {
	const { streams } = await jetstreamManager(connection, { checkAPI: false });
	let oldest: OldestFrame | undefined;
	while (!wait.signal.aborted && wait.flushes.through === 0) {
		const { messages, first_seq } = (await streams.info(stream)).state;
		const nowMs = performance.now();
		const sequence = messages > 0 ? first_seq : undefined;
		oldest = lookedAgain(oldest, sequence, nowMs);
		if (isAbandoned(oldest, maxAgeMs, nowMs)) return;
		// Two that stand by should not step in at once.
		await wait.wakeSignal.wait(pollMs * (0.5 + Math.random()));
	}
}
