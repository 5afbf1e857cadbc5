import type { CallOutcome } from "./checked-request.ts";

/** What follows from one attempt. */
export type NextStep =
	| { state: "Delivered" }
	| { state: "Delivering"; afterMs: number; error: string }
	| { state: "Failed"; error: string };

const [second, minute, hour] = [1_000, 60_000, 3_600_000];

/** How long to wait after each attempt: over a day in all. The last one's failure is final. */
const waitsMs = [
	5 * second,
	minute,
	5 * minute,
	30 * minute,
	2 * hour,
	5 * hour,
	10 * hour,
	10 * hour,
] as const;

export const maxAttempts = waitsMs.length + 1;

/**
 * Any status but 2xx is a failure, and 410 is the receiver's word that it wants no more (Standard Webhooks, "Delivery").
 * @param attempt 1 for the first.
 * @param random from 0 to 1: receivers that failed together aren't called again together.
 */
export function decide(
	outcome: CallOutcome,
	attempt: number,
	random: number,
): NextStep {
	const error = errorOf(outcome);
	if (error === undefined) return { state: "Delivered" };
	const waitMs = waitsMs[attempt - 1];
	if (waitMs === undefined || ("status" in outcome && outcome.status === 410))
		return { state: "Failed", error };
	const asked =
		"status" in outcome ? Number(outcome.retryAfter || 0) * second : 0;
	// A date, or nonsense, is NaN.
	const afterMs = Math.max(waitMs, Math.min(asked || 0, hour));
	// NATS takes no fractions: it would repeat the order at once.
	const jitteredMs = Math.round(afterMs * (1 + random / 5));
	return { state: "Delivering", afterMs: jitteredMs, error };
}

function errorOf(outcome: CallOutcome): string | undefined {
	if ("error" in outcome) return outcome.error;
	const { status } = outcome;
	if (status >= 200 && status < 300) return undefined;
	return status >= 300 && status < 400
		? `The receiver answered with status ${status}. Redirects are not followed: use the address that it leads to.`
		: `The receiver answered with status ${status}.`;
}
