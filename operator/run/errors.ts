/**
 * Why the operator itself ends a Run, and what to do. docs/reference/errors.md is generated from this table. How a Job ends
 * without a result: operator/jobs/outcome.ts.
 */
export const runErrors = {
	PendingDeadlineExceeded:
		"The Run waited too long for something that Tidemill can't change; the message says for what. Change that, or raise the Pipeline's spec.pendingDeadlineSeconds, then start a new Run.",
	DatesNeedDateColumn:
		"Start a Run without spec.dates, or add Date to the Pipeline's spec.table.columns.",
	DatesNotRetained:
		"Start a Run whose spec.dates are among the days that the message names.",
} as const;

export type RunErrorCode = keyof typeof runErrors;
