import { type Condition, setCondition } from "../../../kube/conditions.ts";
import type { Reason } from "../../reconcile/reasons.ts";

/** The condition BufferFills stands while the buffer of the Source's shard fills, so that its people know before senders do. */
export function withBuffer(
	conditions: Condition[],
	{
		shard,
		isFilling,
		isElsewhereRoom,
	}: {
		shard: number | undefined;
		/** Undefined while nobody knows: the condition stays as it is. */
		isFilling: boolean | undefined;
		isElsewhereRoom: boolean;
	},
	observedGeneration: number,
	now: number,
): Condition[] {
	if (isFilling === undefined) return conditions;
	if (!isFilling || shard === undefined)
		return conditions.some(({ type }) => type === "BufferFills")
			? conditions.filter(({ type }) => type !== "BufferFills")
			: conditions;
	const reason: Reason<"Source", "BufferFills"> = "ArchiveIsBehind";
	const advice = isElsewhereRoom
		? 'New Sources go to other shards; with a higher chart value "shards" there are more.'
		: 'With a higher chart value "shards", new Sources go to a shard that has room.';
	return setCondition(
		conditions,
		{
			type: "BufferFills",
			status: "True",
			reason,
			message: `The buffer of shard ${shard}, which this Source shares, is more than 60% full. Once it is full, senders get 503 until archive catches up. Administrators: see the alert TidemillBufferFills. ${advice}`,
			observedGeneration,
		},
		now,
	);
}
