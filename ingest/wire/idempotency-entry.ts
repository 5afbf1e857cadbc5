/**
 * What is known of one sender's key: an entry of the idempotency bucket under the key's digest, JSON. The rules of its
 * changes stand here as functions; docs/decisions/0006-a-sender-s-key-is-one-event.md argues that they suffice.
 *
 *     (none) → claimed → stored          the usual way
 *              claimed → released        its event is certainly not in the stream
 *              claimed, released → claimed   a repeat takes the id over
 *              any → (none)              at the end of the window
 */
export type IdempotencyEntry = Claimed | Released | Stored;

interface Known {
	/** Event id, a UUID's text. The same in all states: who was told it may rely on it. */
	event: string;
	/** End of the window, milliseconds since the epoch. */
	expiresAtMs: number;
}

/** A receiver has set out to store an event under this key. It may be stored. */
export interface Claimed extends Known {
	state: "claimed";
	/** Whose it is: random, as only the claimant may release it. */
	claim: string;
	/** From then on the claimant publishes nothing any more; milliseconds since the epoch. */
	deadlineMs: number;
}

/** No event is stored under this key, and none is on its way. */
export interface Released extends Known {
	state: "released";
}

/** The event stands in the stream or in the store, by this frame; copies of it in other frames are no events. */
export interface Stored extends Known {
	state: "stored";
	/** {@link file://./frame.ts frameId} */
	frame: string;
}

/**
 * From a claim to its deadline: a publish is repeated for 60 s at most (design §4), and a minute is left for what was
 * on its way and for clocks.
 */
export const claimMs = 2 * 60_000;

/** How far a shard's stream and its archiving are, read in the order of these fields. */
export interface ShardProgress {
	/** NATS's clock. */
	nowMs: number;
	/** The stream's last sequence at that time. */
	lastSequence: number;
	/** When the oldest message that it had at that time was stored, on the same clock; NaN when it had none. */
	firstStoredAtMs: number;
	/** Archive has settled the keys of all events through this sequence. */
	objectsDone: number;
}

/** What a request under this key is to do: nothing but say the event's id, wait for an outcome, or take the id over. */
export function reactionTo(
	entry: IdempotencyEntry,
	progress: ShardProgress | undefined,
): "repeat" | "wait" | "take over" {
	switch (entry.state) {
		case "stored":
			return "repeat";
		case "released":
			return "take over";
		case "claimed":
			return progress && isAbandoned(entry, progress) ? "take over" : "wait";
	}
}

/**
 * The claim's event isn't stored and won't be: the claimant publishes no more, and archive has seen all that was stored
 * by the deadline, so that it would have made the entry `stored`. It has when it has seen all there is; or, as events
 * mostly go on coming, when it has purged all that is older than the deadline.
 */
function isAbandoned(
	{ deadlineMs }: Claimed,
	{ nowMs, lastSequence, firstStoredAtMs, objectsDone }: ShardProgress,
): boolean {
	return (
		nowMs > deadlineMs &&
		(objectsDone >= lastSequence || firstStoredAtMs > deadlineMs)
	);
}

/** The entry of a claim: of a new event, or of the one whose id `before` has. */
export function claimed(
	event: string,
	claim: string,
	{ nowMs, windowMs }: { nowMs: number; windowMs: number },
	before?: IdempotencyEntry,
): Claimed {
	return {
		state: "claimed",
		event: before?.event ?? event,
		expiresAtMs: before?.expiresAtMs ?? nowMs + windowMs,
		claim,
		deadlineMs: nowMs + claimMs,
	};
}

/**
 * What becomes of the entry when the event is found in the stream, in this frame. `keep`: the event counts, and the
 * entry says so or knows nothing of the event. `drop`: it was stored before, by another frame.
 */
export function onStored(
	entry: IdempotencyEntry | undefined,
	event: string,
	frame: string,
): Stored | "keep" | "drop" {
	if (entry?.event !== event) return "keep";
	if (entry.state === "stored") return entry.frame === frame ? "keep" : "drop";
	const { expiresAtMs } = entry;
	return { state: "stored", event, expiresAtMs, frame };
}

/** What becomes of the entry when the claimant knows that its event isn't stored; undefined when it is not its own. */
export function onRefused(
	entry: IdempotencyEntry | undefined,
	claim: string,
): Released | undefined {
	if (entry?.state !== "claimed" || entry.claim !== claim) return undefined;
	const { event, expiresAtMs } = entry;
	return { state: "released", event, expiresAtMs };
}
