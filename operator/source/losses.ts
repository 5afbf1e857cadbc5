import type { ShardState } from "../../packages/contracts/ledger.ts";
import type { FindingsOf } from "../reconcile/findings.ts";

/** The condition EventsLost stands as long as archive remembers the loss: while the lost days could be loaded. */
export function lossesFindingOf(
	shards: readonly ShardState[],
): FindingsOf<"Source">["EventsLost"] {
	if (shards.length === 0) return "as before";
	const lost = shards.flatMap(({ shard, lostFrames }) => {
		const days = Object.entries(lostFrames)
			.sort()
			.map(([date, frames]) => `${frames} on ${date}`);
		return days.length > 0
			? [`of shard ${shard}, which this Source shares: ${days.join(", ")}`]
			: [];
	});
	if (lost.length === 0) return undefined;
	return {
		status: "True",
		reason: "FramesLost",
		message: `NATS acknowledged and lost frames ${lost.join("; ")}. Events of this Source may be among them. Archive goes on without them; its log says which they are.`,
	};
}
