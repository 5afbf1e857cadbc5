import type { OfShards } from "./route.ts";
import { addDays, type UtcDate } from "./utc-date.ts";

/** A Source's events stay so many days after their date, unless the Source says more. Runs load back to today − 30. */
export const retainedDays = 30;

/** `days` of a Source whose events are never deleted. */
export const forever = 0;

/**
 * How long a Source's events stay. Archive publishes it in the ledger bucket under {@link sourceRetentionKey}; the records in
 * its object store are the truth. Absent for a Source that has always had {@link retainedDays}.
 */
export interface SourceRetention {
	version: 1;
	account: string;
	sourceKey: string;
	/** Days after an event's date, or {@link forever}. */
	days: number;
	/** Events of earlier dates may have been deleted before `days` was raised. */
	from: UtcDate;
	/** Operator asked for fewer days, which hold from this date on. */
	next?: { days: number; date: UtcDate };
	/** Why the bucket won't keep them so long. */
	problem?: string;
}

/** The entry of the ledger bucket for a {@link SourceRetention}. No source key has a dot. */
export function sourceRetentionKey(sourceKey: string): string {
	return `retention.${sourceKey}`;
}

/** The first date whose events are all kept on `today`. Of a Source that keeps them forever: its first event's date is later. */
export function keptFrom(
	{ days, from = "" }: { days: number; from?: UtcDate | undefined } = {
		days: retainedDays,
	},
	today: UtcDate,
): UtcDate {
	const oldest = days === forever ? "1970-01-01" : addDays(today, -days);
	return from > oldest ? from : oldest;
}

/** Whether `a` keeps events longer than `b` does. Both are days, or {@link forever}. */
export function isLonger(a: number, b: number): boolean {
	return b !== forever && (a === forever || a > b);
}

/** Operator's request to archive to keep a Source's events so long, JSON on {@link file://./nats.ts retentionSubject}. */
export interface RetentionRequest extends OfShards {
	account: string;
	sourceKey: string;
	/** At least {@link retainedDays}, or {@link forever}. */
	days: number;
}

export type RetentionAnswer =
	| { ok: true; retention: SourceRetention }
	| { ok: false; error: { code: string; message: string; retryable: boolean } };
