import { createHash } from "node:crypto";
import type {
	Pipeline,
	PipelineStatusSchedule,
} from "../../crds/generated/types.ts";
import {
	latestSlot,
	parseSchedule,
	type Schedule,
} from "../../crds/schedule.ts";
import { rfc3339 } from "../../packages/kube/resource.ts";

/** What a schedule means for a Pipeline at one moment. */
export interface ScheduleTiming {
	/** The active schedule, for the status; undefined if it is manual, invalid or suspended. */
	schedule: PipelineStatusSchedule | undefined;
	/** The slot whose Run is created now. */
	dueMs: number | undefined;
	/** The slot that is skipped now: it waited longer than startingDeadlineSeconds. */
	missedMs: number | undefined;
	/** The latest start of the slot that waits; undefined if no slot waits or it may wait for ever. */
	deadlineMs: number | undefined;
	/** The latest slot whose Run was created, now or before. */
	lastMs: number | undefined;
	/** The next slot. */
	nextMs: number | undefined;
}

/**
 * A slot waits while no Run can start. Of several missed slots only the latest runs, within startingDeadlineSeconds. A new,
 * edited or resumed schedule catches up on nothing.
 * @param canStart Whether a Run could start now: there is no problem, and no other Run is active.
 */
export function decideTiming(
	{ spec, status }: Pipeline,
	schedule: Schedule | undefined,
	canStart: boolean,
	now: number,
): ScheduleTiming {
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
	// Of the rule, not of the spec: a CRD that gains a field or a default must not make a Pipeline forget a missed slot.
	const hash = createHash("sha256")
		.update(`1 ${schedule.rule}`)
		.digest("hex")
		.slice(0, 16);
	const known = status?.schedule;
	const sinceMs = instant(known?.since);
	// If the clock went back a little, the next slot may have run already. A recorded slot beyond that comes from a clock
	// that was far ahead: waiting for it could take years.
	const wasAhead =
		(sinceMs ?? now) > now || (recorded ?? now) > schedule.next(now);
	const goesOn = known?.hash === hash && sinceMs !== undefined && !wasAhead;
	const lastMs = wasAhead ? undefined : recorded;
	const afterMs = Math.max(goesOn ? sinceMs : now, lastMs ?? 0);
	const timeoutMs = (spec.startingDeadlineSeconds ?? Infinity) * 1000;
	const slotMs =
		canStart || timeoutMs < Infinity
			? latestSlot(schedule, afterMs, now)
			: undefined;
	const deadlineMs = slotMs === undefined ? Infinity : slotMs + timeoutMs;
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
