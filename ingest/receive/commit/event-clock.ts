import { maxClockDifferenceMs } from "../../../packages/contracts/utc-date.ts";
import type { ClockComparison } from "../../wire/stream-inspection.ts";

/**
 * The date and time now in milliseconds since the epoch, if this machine's clock is right; undefined if it has jumped since it was
 * compared with NATS's. A clock that can't jump shows that.
 *
 * @param steadyMs of the clock that can't jump.
 */
export function rightTime(
	compared: ClockComparison | undefined,
	dateMs: number,
	steadyMs: number,
): number | undefined {
	if (!compared) return undefined;
	const jumpedMs = dateMs - compared.dateMs - (steadyMs - compared.steadyMs);
	const aheadMs = compared.aheadMs + jumpedMs;
	return Math.abs(aheadMs) <= maxClockDifferenceMs ? dateMs : undefined;
}

/**
 * No frame is published later than this after its oldest event's receipt. Archive closes dates, and repeats take over
 * idempotency keys, because of this bound.
 */
export const maxRepeatMs = 60_000;

/**
 * Whether an event may be published now: its own time is as long ago as such an event can be. It isn't if the clock jumped and came
 * back around its receipt, or if the machine slept since. Archive may have closed its date.
 */
export function isTimely(receivedAtMs: number, nowMs: number): boolean {
	const ageMs = nowMs - receivedAtMs;
	return (
		ageMs >= -maxClockDifferenceMs &&
		ageMs <= maxRepeatMs + maxClockDifferenceMs
	);
}
