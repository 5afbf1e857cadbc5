import type { RunFailedAttempt } from "../../crds/generated/types.ts";
import type { JobError } from "../../packages/contracts/job.ts";
import {
	type Condition,
	setCondition,
} from "../../packages/kube/conditions.ts";
import type { KubeObject } from "../../packages/kube/resource.ts";
import { rfc3339 } from "../../packages/kube/resource.ts";
import type { CommonAction } from "../reconcile/actions.ts";
import type { AskAction } from "../reconcile/questions.ts";
import type { KubeEventReason, ReasonTable } from "../reconcile/reasons.ts";
import type { JobWithInput } from "./template.ts";

/** What a Job carries out, and what keeps how it ended, such as a Run. */
export interface JobWork extends KubeObject {
	spec: { cancel?: boolean };
	status?: {
		observedGeneration?: number;
		phase?: string;
		startTime?: string;
		completionTime?: string;
		pendingSince?: string;
		retryTime?: string;
		attempts?: number;
		failedAttempts?: RunFailedAttempt[];
		error?: JobError;
		log?: string;
		conditions?: Condition[];
	};
}

/** A part of the status. */
export type StatusFacts<W extends JobWork> = NonNullable<W["status"]>;

/** What a kind of work is called, and the reasons that people read of it. */
export interface WorkReasons {
	noun: string;
	/** Of the condition `Complete`. */
	complete: string;
	/** Of the condition `Failed`. */
	failed: string;
	/** Of KubeEvents. */
	event: string;
}

/** Those of operator/reconcile/reasons.ts. */
export interface ReasonsOf<Noun extends "Run" | "Operation"> {
	noun: Noun;
	complete: keyof ReasonTable[Noun]["Complete"] & string;
	failed: keyof ReasonTable[Noun]["Failed"] & string;
	event: KubeEventReason<Noun>;
}

type Both = "Run" | "Operation";
/** The reasons that every kind has: those that the tables of all have. */
export type CompleteReason<R extends WorkReasons> =
	| R["complete"]
	| ReasonsOf<Both>["complete"];
export type FailedReason<R extends WorkReasons> =
	| R["failed"]
	| ReasonsOf<Both>["failed"];
type EventReason<R extends WorkReasons> =
	| R["event"]
	| (KubeEventReason<"Run"> & KubeEventReason<"Operation">);

/** What is done about the Job of a Run, an Operation or a Destination's check. */
export type JobAction =
	/** The answer is part of the state of a later reconcile. */
	| AskAction
	/** `dryRun`: only asks Kubernetes whether it would take the Job. `age`: its turn, if there are too many Jobs. */
	| { type: "startJob"; job: JobWithInput; dryRun: boolean; age: string }
	/** The Job with its Pods, and its input. */
	| { type: "removeJob" }
	/** As `requeueAfter`, and the place in the queue for a Job is kept. */
	| { type: "awaitSlot"; afterMs: number };

export type WorkAction<W extends JobWork, R extends WorkReasons> =
	| JobAction
	/** One that has ended: this one or another. */
	| { type: "delete"; object: W }
	| CommonAction<W, EventReason<R>>;

/**
 * How the status of work changes. It is written before the KubeEvent is recorded, and before the Job with its result goes.
 * @param factsOf What the status has from the start on.
 */
export function workTransitions<W extends JobWork, R extends WorkReasons>(
	noun: R["noun"],
	factsOf: (work: W) => Partial<StatusFacts<W>> = () => ({}),
) {
	type Action = WorkAction<W, R>;
	type Finding = Pick<Condition, "type" | "status" | "reason" | "message">;

	const record = (
		severity: "Normal" | "Warning",
		reason: EventReason<R>,
		message: string,
	): Action => ({ type: "recordKubeEvent", severity, reason, message });
	/** Each kind has these reasons, which are made of its name. */
	const named = (word: string) => `${noun}${word}` as R["event"];

	function write(
		work: W,
		facts: StatusFacts<W>,
		findings: Finding[],
		now: number,
	): Action {
		const { metadata } = work;
		const { retryTime, ...status } = work.status ?? {};
		const { phase = status.phase } = facts;
		const observedGeneration = metadata.generation ?? 0;
		const conditions = findings.reduce(
			(before, finding) =>
				setCondition(before, { ...finding, observedGeneration }, now),
			status.conditions ?? [],
		);
		return {
			type: "writeStatus",
			status: {
				...status,
				...(phase === "Pending" && retryTime !== undefined && { retryTime }),
				observedGeneration,
				...factsOf(work),
				...facts,
				conditions,
			} as StatusFacts<W>,
		};
	}

	/** @param failed The reason of `Failed`: as with a Job, that is a condition of its own beside `Complete`. */
	function end(
		work: W,
		phase: "Succeeded" | "Failed" | "Cancelled",
		message: string,
		facts: StatusFacts<W>,
		now: number,
		{
			failed,
			note = message,
		}: { failed?: FailedReason<R>; note?: string } = {},
	): Action[] {
		const status = failed === undefined ? "True" : "False";
		const complete = { type: "Complete", status, reason: phase, message };
		const findings = [
			complete,
			...(failed === undefined
				? []
				: [{ type: "Failed", status: "True", reason: failed, message }]),
		] as Finding[];
		const ended = { phase, completionTime: rfc3339(now), ...facts };
		return [
			write(work, ended, findings, now),
			record(phase === "Failed" ? "Warning" : "Normal", named(phase), note),
			{ type: "removeJob" },
		];
	}

	return {
		record,

		/** The Job is made. */
		started: (message: string): Action =>
			record("Normal", named("Started"), message),

		/** It waits or works: `facts` has the phase. */
		progress(
			work: W,
			reason: CompleteReason<R>,
			message: string,
			facts: StatusFacts<W>,
			now: number,
		): Action[] {
			const finding = { type: "Complete", reason, message } as const;
			return [write(work, facts, [{ ...finding, status: "False" }], now)];
		},

		succeed: (work: W, message: string, facts: StatusFacts<W>, now: number) =>
			end(work, "Succeeded", message, facts, now),

		fail(
			work: W,
			reason: FailedReason<R>,
			error: JobError,
			facts: StatusFacts<W>,
			now: number,
		): Action[] {
			const { code, message } = error;
			return end(work, "Failed", message, { error, ...facts }, now, {
				failed: reason,
				note: `${code}: ${message}`,
			});
		},

		cancel: (work: W, facts: StatusFacts<W>, now: number) =>
			end(
				work,
				"Cancelled",
				`The ${noun} was cancelled by spec.cancel.`,
				facts,
				now,
				{ failed: "Cancelled" },
			),
	};
}

export type WorkTransitions<
	W extends JobWork,
	R extends WorkReasons,
> = ReturnType<typeof workTransitions<W, R>>;
