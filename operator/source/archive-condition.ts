import type { ShardState } from "../../packages/contracts/ledger.ts";
import { findCondition } from "../../packages/kube/conditions.ts";
import type { FindingsOf, Reason } from "../reconcile/reasons.ts";
import type { SourceKeys } from "./routes/keys.ts";
import type { SourceState } from "./state.ts";

/** What stops the Source's events or its Runs, beyond the Source itself; undefined for nothing. */
export function stopOf(
	{ source, isBufferFull, shardStates }: SourceState,
	{ shard }: Pick<SourceKeys, "shard">,
): { reason: Reason<"Source">; message: string } | undefined {
	const before = findCondition(source.status?.conditions, "Ready");
	// While NATS doesn't say, it stays as it was.
	const isFull = isBufferFull ?? before?.reason === "BufferFull";
	const alarms = alarmsIn(shardStates);
	const words = alarms.length > 0 ? ` ${alarmWords(alarms)}` : "";
	if (isFull)
		return {
			reason: "BufferFull",
			message: `Senders get 503: the buffer of shard ${shard}, which this Source shares, is full. What was acknowledged is kept, and the URL accepts events again once archive has made room.${words} Administrators: see the alert TidemillBufferFills.`,
		};
	// A new leader, or a new NATS, doesn't know yet what the status says.
	if (shardStates.length === 0 && before?.reason === "ArchiveStopped")
		return { reason: before.reason, message: before.message };
	return alarms.length > 0
		? {
				reason: "ArchiveStopped",
				message: `${alarmWords(alarms)} The URL accepts events until the buffer is full, and none is lost, but Runs can't load them. Administrators: see the alert TidemillArchiveAlarm.`,
			}
		: undefined;
}

function alarmsIn(states: readonly ShardState[]): [number, string][] {
	return states.flatMap(({ shard, stopped }) =>
		stopped?.alarm === undefined ? [] : [[shard, stopped.alarm]],
	);
}

function alarmWords(alarms: readonly [shard: number, code: string][]): string {
	const named = alarms.map(
		([shard, code]) => `shard ${shard} with the alarm ${code}`,
	);
	return `Archive has stopped ${named.join(" and ")}.`;
}

/**
 * The condition ArchiveLags stands while archive says that it can't work, and while events of a shard of the Source's have waited for the
 * bucket so long that something is wrong. It stays as it is while nobody knows.
 * @param lagging The shards of the Source's events that lag; undefined while nobody knows.
 */
export function lagFindingOf(
	lagging: readonly number[] | undefined,
	states: readonly ShardState[],
): FindingsOf<"Source">["ArchiveLags"] {
	if (lagging === undefined) return "as before";
	if (lagging.length > 0)
		return {
			status: "True",
			reason: "EventsWait",
			message: `Events of ${shardWords(lagging)}, which this Source shares, have waited for the bucket for more than 5 minutes, and Runs wait for them. None is lost. Archive isn't running, can't reach the bucket, was given another one or has stopped the shard. Administrators: /readyz and the log of archive say which; see the alert TidemillArchiveLags.`,
		};
	const failing = states.filter(
		({ stopped }) => stopped && stopped.alarm === undefined,
	);
	if (failing.length === 0) return undefined;
	return {
		status: "True",
		reason: "ArchiveFails",
		message: `Archive of ${shardWords(failing.map(({ shard }) => shard))}, which this Source shares, has failed for more than a minute and tries again, or was given another bucket, and Runs wait for it. No event is lost. Administrators: its /readyz and its log say why; see the alert TidemillArchiveLags.`,
	};
}

function shardWords(shards: readonly number[]): string {
	return `shard${shards.length > 1 ? "s" : ""} ${shards.join(" and ")}`;
}
