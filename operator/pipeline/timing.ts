import { createHash } from "node:crypto";
import type {
	Pipeline,
	PipelineStatusSchedule,
} from "../../crds/generated/types.ts";
import { rfc3339 } from "../../kube/timestamps.ts";
import { latestSlot, type Schedule } from "./schedule.ts";

/** What a schedule means for a Pipeline at one moment. Instants are in milliseconds since the epoch. */
export interface Timing {
	/** The schedule in force, for the status; undefined for one that is manual, invalid or suspended. */
	schedule: PipelineStatusSchedule | undefined;
	/** The slot for which a Run is to be made now. */
	dueMs: number | undefined;
	/** The slot that is given up now: it has waited for longer than startingDeadlineSeconds. */
	missedMs: number | undefined;
	/** Until when the slot that waits may start; undefined when none waits, or for as long as it takes. */
	deadlineMs: number | undefined;
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
			missedMs: undefined,
			deadlineMs: undefined,
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
	const patienceMs = (spec.startingDeadlineSeconds ?? Infinity) * 1000;
	const slotMs =
		canStart || patienceMs < Infinity
			? latestSlot(schedule, afterMs, now)
			: undefined;
	const deadlineMs = slotMs === undefined ? Infinity : slotMs + patienceMs;
	const isMissed = now > deadlineMs;
	const dueMs = canStart && !isMissed ? slotMs : undefined;
	return {
		schedule: isMissed
			? { hash, since: rfc3339(slotMs!) }
			: goesOn
				? known
				: { hash, since: rfc3339(now) },
		dueMs,
		missedMs: isMissed ? slotMs : undefined,
		deadlineMs:
			canStart || isMissed || deadlineMs === Infinity ? undefined : deadlineMs,
		lastMs: dueMs ?? lastMs,
		nextMs: schedule.next(Math.max(now, afterMs)),
	};
}

function instant(text: string | undefined): number | undefined {
	return text === undefined ? undefined : Date.parse(text);
}
