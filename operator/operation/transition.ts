import type { Operation } from "../../crds/generated/types.ts";
import { asking } from "../jobs/asking.ts";
import {
	type CompleteReason,
	type ReasonsOf,
	type WorkAction,
	workTransitions,
} from "../jobs/transition.ts";
import type { OperationState } from "./state.ts";

/** Why the operator itself ends an Operation, and what to do. docs/reference/errors.md is generated from this table. */
export const operationErrors = {
	EventsBlocked:
		"The DryRun has spec.failIfBlocked, and the plan would have quarantined or rejected events. status.dryRun.findings says why. Correct the plan or the sender.",
	PendingDeadlineExceeded:
		"The Operation could not start within an hour; the message says what it waited for. Change that, then create another Operation.",
	PlanTooLarge:
		"A Job's input holds a plan of at most 900 KiB. Split the plan by event types, then create another Operation.",
	OperationDatesNotKept:
		"Create an Operation whose spec.dates are among the days that the message names.",
} as const;

export type OperationErrorCode = keyof typeof operationErrors;

export type OperationReasons = ReasonsOf<"Operation">;
export type Waiting = [
	reason: CompleteReason<OperationReasons>,
	message: string,
];

export type WorkOnOperation = WorkAction<Operation, OperationReasons>;

export const transition = workTransitions<Operation, OperationReasons>(
	"Operation",
);

/** How each type asks archive. */
export const { ask } = asking<Operation, OperationReasons, OperationState>({
	transition,
	workIn: ({ operation }) => operation,
});

/** Dates in a status: as many as the CRD takes. */
export const maxDates = 400;

export function countText(count: number, noun: string): string {
	return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
