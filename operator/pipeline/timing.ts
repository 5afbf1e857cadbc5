import { createHash } from "node:crypto";
import type {
	Pipeline,
	PipelineStatusSchedule,
} from "../../crds/generated/types.ts";
import { rfc3339 } from "../kube/conditions.ts";
import { latestSlot, type Schedule } from "./schedule.ts";

/** What a schedule means for a Pipeline at one moment. Instants are in milliseconds since the epoch. */
export interface Timing {
	/** The schedule in force, for the status; undefined for one that is manual, invalid or suspended. */
	schedule: PipelineStatusSchedule | undefined;
	/** The slot for which a Run is to be made now. */
	dueMs: number | undefined;
	/** The latest slot for which a Run was made, the one that is due included. */
	lastMs: number | undefined;
	/** The next slot. */
	nextMs: number | undefined;
}

/**
 * A slot that can't be served waits: of those that were missed the latest runs once, within startingDeadlineSeconds. A
 * schedule that is new, edited or resumed makes up for nothing (design §6).
 * @param canStart whether a Run could be made now: nothing hinders it, and no other is under way.
 */
export function decideTiming(
	{ spec, status }: Pipeline,
	schedule: Schedule | undefined,
	canStart: boolean,
	now: number,
): Timing {
	const recorded = instant(status?.lastScheduleTime);
	if (!schedule || spec.suspend)
		return {
			schedule: undefined,
			dueMs: undefined,
			lastMs: recorded,
			nextMs: undefined,
		};
	const hash = createHash("sha256")
		.update(JSON.stringify(spec.schedule))
		.digest("hex")
		.slice(0, 16);
	const known = status?.schedule;
	const sinceMs = instant(known?.since);
	// A slot that is still to come is known to have run if the clock went back a little. One beyond the next was written
	// by a clock that was far ahead; to wait for it could take years.
	const wasAhead =
		(sinceMs ?? now) > now || (recorded ?? now) > schedule.next(now);
	const goesOn = known?.hash === hash && sinceMs !== undefined && !wasAhead;
	const lastMs = wasAhead ? undefined : recorded;
	const afterMs = Math.max(goesOn ? sinceMs : now, lastMs ?? 0);
	const slotMs = canStart ? latestSlot(schedule, afterMs, now) : undefined;
	const deadlineMs = (spec.startingDeadlineSeconds ?? Infinity) * 1000;
	const isDue = slotMs !== undefined && now - slotMs <= deadlineMs;
	return {
		schedule: goesOn ? known : { hash, since: rfc3339(now) },
		dueMs: isDue ? slotMs : undefined,
		lastMs: isDue ? slotMs : lastMs,
		nextMs: schedule.next(Math.max(now, afterMs)),
	};
}

function instant(text: string | undefined): number | undefined {
	return text === undefined ? undefined : Date.parse(text);
}
