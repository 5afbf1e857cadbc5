import type { Pipeline } from "../../crds/generated/types.ts";
import { parseSchedule, type Schedule } from "../../crds/schedule/schedule.ts";

/**
 * The scheduled time that is the first without a successful Run, past or to come, in milliseconds since 1970. Undefined for a
 * Pipeline without an active schedule.
 */
export function firstOpenSlotMs({
	metadata,
	spec,
	status,
}: Pipeline): number | undefined {
	if (spec.suspend) return undefined;
	const parsed = parseSchedule(spec.schedule);
	const since = status?.schedule?.since;
	if (!("schedule" in parsed) || !parsed.schedule || since === undefined)
		return undefined;
	const { schedule } = parsed;
	const sinceMs = Date.parse(since);
	const success = status?.lastSuccess?.snapshotTime;
	// A slot that was skipped begins the schedule anew (timing.ts), and is late all the same. What a person edits or resumes
	// catches up on nothing.
	const isSkipped = isSlot(schedule, sinceMs);
	const afterMs = isSkipped
		? Date.parse(success ?? metadata.creationTimestamp!)
		: Math.max(sinceMs, success === undefined ? 0 : Date.parse(success));
	return schedule.next(afterMs);
}

/** How long ago that was: 0 if it is to come. */
export function overdueSeconds(slotMs: number, now: number): number {
	return Math.max(0, (now - slotMs) / 1000);
}

function isSlot(schedule: Schedule, atMs: number): boolean {
	return schedule.next(atMs - 1) === atMs;
}
