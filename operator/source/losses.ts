import type { ShardState } from "../../contracts/ledger.ts";
import { type Condition, setCondition } from "../../kube/conditions.ts";
import type { Reason } from "../reconcile/reasons.ts";

/** The condition EventsLost stands as long as archive remembers the loss: while the lost days could be loaded. */
export function withLosses(
	conditions: Condition[],
	shard: ShardState | undefined,
	observedGeneration: number,
	now: number,
): Condition[] {
	if (!shard) return conditions;
	const losses = Object.entries(shard.lostFrames).sort();
	if (losses.length === 0)
		return conditions.filter(({ type }) => type !== "EventsLost");
	const reason: Reason<"Source", "EventsLost"> = "FramesLost";
	const days = losses.map(([date, frames]) => `${frames} on ${date}`);
	return setCondition(
		conditions,
		{
			type: "EventsLost",
			status: "True",
			reason,
			message: `NATS acknowledged and lost frames of shard ${shard.shard}, which this Source shares: ${days.join(", ")}. Events of this Source may be among them. Archive goes on without them; its log says which they are.`,
			observedGeneration,
		},
		now,
	);
}
