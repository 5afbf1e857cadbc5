import type { Source } from "../../crds/generated/types.ts";
import { durationMs } from "../../crds/schedule/duration.ts";
import type { Notification } from "../../packages/contracts/notification.ts";
import { findCondition } from "../../packages/kube/conditions.ts";
import { rfc3339 } from "../../packages/kube/timestamps.ts";
import type { FindingOf } from "../reconcile/reasons.ts";

const type = "Receiving";

/** Whether events have stopped to arrive. */
export interface Quietness {
	isQuiet: boolean;
	/** When the Source is quiet unless an event arrives. */
	quietMs: number;
	/** The latest event. */
	lastEventTime: string | undefined;
}

/**
 * Undefined if the spec doesn't say when the Source is quiet, or refuses events. The time runs from the latest event, or from
 * when the Source was first watched.
 */
export function quietnessOf(
	{ spec, status }: Source,
	lastEventTime: string | undefined,
	now: number,
): Quietness | undefined {
	if (!spec.notify || spec.suspend) return undefined;
	const before = findCondition(status?.conditions, type);
	const eventMs = Date.parse(lastEventTime ?? "") || 0;
	const watchedMs =
		before === undefined
			? now
			: before.status === "True"
				? Date.parse(before.lastTransitionTime)
				: 0;
	const quietMs =
		Math.max(eventMs, watchedMs) + durationMs(spec.notify.quietAfter);
	return { isQuiet: now >= quietMs, quietMs, lastEventTime };
}

/** Whether events arrive; nothing if nobody asked. */
export function receivingFindingOf(
	source: Source,
	quietness: Quietness | undefined,
): FindingOf<"Source", typeof type> | undefined {
	if (!quietness) return undefined;
	return quietness.isQuiet
		? {
				status: "False",
				reason: "Quiet",
				message: quietText(source, quietness),
			}
		: {
				status: "True",
				reason: "EventsArrive",
				message: `Events arrive at least every ${source.spec.notify!.quietAfter}.`,
			};
}

/** What has changed since the status was written. */
export function newsOf(
	source: Source,
	quietness: Quietness | undefined,
	now: number,
): Notification[] {
	const before = findCondition(source.status?.conditions, type);
	if (!quietness || !before) return [];
	const wasQuiet = before.status === "False";
	if (quietness.isQuiet === wasQuiet) return [];
	const { uid, name } = source.metadata;
	const { quietMs, isQuiet, lastEventTime } = quietness;
	return isQuiet
		? [
				{
					id: `msg_${uid}_quiet_${Math.floor(quietMs / 1000)}`,
					type: "SourceQuiet",
					time: rfc3339(quietMs),
					message: quietText(source, quietness),
				},
			]
		: [
				{
					id: `msg_${uid}_recovered_${Date.parse(before.lastTransitionTime) / 1000}`,
					type: "SourceRecovered",
					time: lastEventTime ?? rfc3339(now),
					message: `Source "${name}" receives events again.`,
				},
			];
}

function quietText(
	{ metadata, spec }: Source,
	{ lastEventTime }: Quietness,
): string {
	const since =
		lastEventTime === undefined ? "" : ` The latest was at ${lastEventTime}.`;
	return `Source "${metadata.name}" has received no event for ${spec.notify!.quietAfter}.${since}`;
}
