import type { FindingsOf } from "../reconcile/reasons.ts";

/**
 * The condition ArchiveLags stands while events of a shard of the Source's have waited for the bucket so long that something is wrong:
 * archive isn't running, can't reach the bucket, or has stopped the shard. It stays as it is while nobody knows.
 * @param lagging The shards of the Source's events that lag; undefined while nobody knows.
 */
export function lagFindingOf(
	lagging: readonly number[] | undefined,
): FindingsOf<"Source">["ArchiveLags"] {
	if (lagging === undefined) return "as before";
	if (lagging.length === 0) return undefined;
	const shards = `shard${lagging.length > 1 ? "s" : ""} ${lagging.join(" and ")}`;
	return {
		status: "True",
		reason: "EventsWait",
		message: `Events of ${shards}, which this Source shares, have waited for the bucket for more than 5 minutes, and Runs wait for them. None is lost. Archive isn't running, can't reach the bucket, was given another one or has stopped the shard. Administrators: /readyz and the log of archive say which; see the alert TidemillArchiveLags.`,
	};
}
