import type { FindingsOf } from "../../reconcile/findings.ts";

/**
 * The condition BufferFills stands while the buffer of the Source's shard fills, so that its people know before senders do.
 * It stays as it is while nobody knows how full the buffer is.
 */
export function bufferFindingOf(
	shard: number | undefined,
	isBufferFilling: boolean | undefined,
	isElsewhereRoom: boolean,
): FindingsOf<"Source">["BufferFills"] {
	if (isBufferFilling === undefined) return "as before";
	if (!isBufferFilling || shard === undefined) return undefined;
	const advice = isElsewhereRoom
		? 'New Sources go to other shards; with a higher chart value "shards" there are more.'
		: 'With a higher chart value "shards", new Sources go to a shard that has room.';
	return {
		status: "True",
		reason: "ArchiveIsBehind",
		message: `The buffer of shard ${shard}, which this Source shares, is more than 60% full. Once it is full, senders get 503 until archive catches up. Administrators: see the alert TidemillBufferFills. ${advice}`,
	};
}
