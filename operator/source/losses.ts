import type { ShardState } from "../../contracts/ledger.ts";
import type { FindingsOf } from "../reconcile/findings.ts";

/** The condition EventsLost stands as long as archive remembers the loss: while the lost days could be loaded. */
export function lossesFindingOf(
	shard: ShardState | undefined,
): FindingsOf<"Source">["EventsLost"] {
	if (!shard) return "as before";
	const losses = Object.entries(shard.lostFrames).sort();
	if (losses.length === 0) return undefined;
	const days = losses.map(([date, frames]) => `${frames} on ${date}`);
	return {
		status: "True",
		reason: "FramesLost",
		message: `NATS acknowledged and lost frames of shard ${shard.shard}, which this Source shares: ${days.join(", ")}. Events of this Source may be among them. Archive goes on without them; its log says which they are.`,
	};
}
