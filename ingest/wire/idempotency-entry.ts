/**
 * The state of one sender's key: JSON in the idempotency bucket, under the account and the key's digest. The functions here are the rules
 * of its changes; docs/decisions/0006-a-sender-s-key-is-one-event.md argues that they suffice.
 *
 *     (none) → claimed → stored              the usual way
 *              claimed → released            the event is certainly not in the stream
 *              claimed, released → claimed   a repeat takes the id over
 *              any → (none)                  at the end of the window
 */
export type IdempotencyEntry = ClaimedEntry | ReleasedEntry | StoredEntry;

interface EntryBase {
	/** The event id, a UUID's text. All states keep it, because senders rely on the id that they were told. */
	event: string;
	/** End of the window, milliseconds since the epoch. */
	expiresAtMs: number;
}

/** A receiver is storing an event under this key. The event may already be stored. */
export interface ClaimedEntry extends EntryBase {
	state: "claimed";
	/** A random id of the claim, because only the claimant may release it. */
	claim: string;
	/** The claimant publishes nothing after this; milliseconds since the epoch. */
	deadlineMs: number;
	/**
	 * Where the claimant publishes. Another route may name another shard meanwhile. Missing from a claim of an earlier version,
	 * whose claimants publish to the route's shard.
	 */
	shard?: number;
}

/** No event is stored under this key or on its way. */
interface ReleasedEntry extends EntryBase {
	state: "released";
}

/** The event is in the stream or in the store, in this frame. Copies of it in other frames don't count. */
interface StoredEntry extends EntryBase {
	state: "stored";
	/** {@link file://./frame.ts frameId} */
	frame: string;
}

/**
 * The time from a claim to its deadline: receive repeats a publish for 60 s at most, and the other minute is for messages
 * on their way and for clock differences.
 */
export const claimMs = 2 * 60_000;

/** How far a shard's stream and its archiving are. The fields are read in this order. */
export interface ShardProgress {
	/** NATS's clock. */
	nowMs: number;
	/** The stream's last sequence at that time. */
	lastSequence: number;
	/** When the stream's oldest message at that time was stored, on the same clock; NaN for an empty stream. */
	firstStoredAtMs: number;
	/** Archive has settled the keys of all events through this sequence. */
	objectsDone: number;
}

/**
 * What a request with this key does: repeat the event's id, wait for an outcome, or take the id over.
 * @param progress of the claim's shard.
 */
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
 * The claim's event isn't stored and never will be. The claimant publishes nothing after the deadline, and archive has seen
 * everything stored by then, so it would have made the entry `stored`. Archive has seen everything if it is at the end of
 * the stream or, while events keep coming, if the stream's oldest message is younger than the deadline.
 */
function isAbandoned(
	{ deadlineMs }: ClaimedEntry,
	{ nowMs, lastSequence, firstStoredAtMs, objectsDone }: ShardProgress,
): boolean {
	return (
		nowMs > deadlineMs &&
		(objectsDone >= lastSequence || firstStoredAtMs > deadlineMs)
	);
}

/** Makes the entry of a claim. @param before the entry whose id and window the claim takes over. */
export function claimed(
	event: string,
	claim: string,
	{
		nowMs,
		windowMs,
		shard,
	}: { nowMs: number; windowMs: number; shard: number },
	before?: IdempotencyEntry,
): ClaimedEntry {
	return {
		state: "claimed",
		event: before?.event ?? event,
		expiresAtMs: before?.expiresAtMs ?? nowMs + windowMs,
		claim,
		deadlineMs: nowMs + claimMs,
		shard,
	};
}

/**
 * Returns the entry's next state when the event is found in the stream, in this frame. `keep`: the event counts, and the
 * entry already says so or belongs to another event. `drop`: the event was stored before, in another frame.
 */
export function onStored(
	entry: IdempotencyEntry | undefined,
	event: string,
	frame: string,
): StoredEntry | "keep" | "drop" {
	if (entry?.event !== event) return "keep";
	if (entry.state === "stored") return entry.frame === frame ? "keep" : "drop";
	const { expiresAtMs } = entry;
	return { state: "stored", event, expiresAtMs, frame };
}

/** Returns the entry's next state when the claimant knows that its event isn't stored; undefined if the claim is no longer its own. */
export function onRefused(
	entry: IdempotencyEntry | undefined,
	claim: string,
): ReleasedEntry | undefined {
	if (entry?.state !== "claimed" || entry.claim !== claim) return undefined;
	const { event, expiresAtMs } = entry;
	return { state: "released", event, expiresAtMs };
}
