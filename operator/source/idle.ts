import type { Source } from "../../crds/generated/types.ts";
import { durationMs } from "../../crds/schedule.ts";
import type { Notification } from "../../packages/contracts/notification.ts";
import { findCondition } from "../../packages/kube/conditions.ts";
import { rfc3339 } from "../../packages/kube/resource.ts";
import type { FindingOf } from "../reconcile/reasons.ts";

const type = "Receiving";

/** Whether a Source receives no events any more. */
export interface SourceIdleness {
	isIdle: boolean;
	/** When the Source is idle unless an event arrives. */
	idleMs: number;
	/** The latest event. */
	lastEventTime: string | undefined;
}

/**
 * Undefined if the spec doesn't say when the Source counts as idle, or refuses events. The time runs from the latest event, or from
 * when the Source was first watched.
 */
export function idleOf(
	{ spec, status }: Source,
	lastEventTime: string | undefined,
	now: number,
): SourceIdleness | undefined {
	if (!spec.notify || spec.suspend) return undefined;
	const before = findCondition(status?.conditions, type);
	const eventMs = Date.parse(lastEventTime ?? "") || 0;
	const watchedMs =
		before === undefined
			? now
			: before.status === "True"
				? Date.parse(before.lastTransitionTime)
				: 0;
	const idleMs =
		Math.max(eventMs, watchedMs) + durationMs(spec.notify.quietAfter);
	return { isIdle: now >= idleMs, idleMs, lastEventTime };
}

/** Whether events arrive; nothing if nobody asked. */
export function receivingFindingOf(
	source: Source,
	idle: SourceIdleness | undefined,
): FindingOf<"Source", typeof type> | undefined {
	if (!idle) return undefined;
	return idle.isIdle
		? {
				status: "False",
				reason: "Quiet",
				message: quietText(source, idle),
			}
		: {
				status: "True",
				reason: "EventsArrive",
				message: `Events arrive at least every ${source.spec.notify!.quietAfter}.`,
			};
}

/** What has changed since the status was written. */
export function idleChanges(
	source: Source,
	idle: SourceIdleness | undefined,
	now: number,
): Notification[] {
	const before = findCondition(source.status?.conditions, type);
	if (!idle || !before) return [];
	const wasIdle = before.status === "False";
	if (idle.isIdle === wasIdle) return [];
	const { uid, name } = source.metadata;
	const { idleMs, isIdle, lastEventTime } = idle;
	return isIdle
		? [
				{
					id: `msg_${uid}_quiet_${Math.floor(idleMs / 1000)}`,
					type: "SourceQuiet",
					time: rfc3339(idleMs),
					message: quietText(source, idle),
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
	{ lastEventTime }: SourceIdleness,
): string {
	const since =
		lastEventTime === undefined ? "" : ` The latest was at ${lastEventTime}.`;
	return `Source "${metadata.name}" has received no event for ${spec.notify!.quietAfter}.${since}`;
}
