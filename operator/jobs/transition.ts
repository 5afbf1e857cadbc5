import type { RunFailedAttempt } from "../../crds/generated/types.ts";
import type { JobError } from "../../packages/contracts/job.ts";
import {
	type Condition,
	setCondition,
} from "../../packages/kube/conditions.ts";
import type { KubeObject } from "../../packages/kube/resource.ts";
import { rfc3339 } from "../../packages/kube/timestamps.ts";
import type { CommonAction } from "../reconcile/actions.ts";
import type { KubeEventReason, Reason } from "../reconcile/reasons.ts";
import type { AskAction } from "./archive-answers.ts";
import type { JobWithInput } from "./template.ts";

/** What a Job carries out, and what keeps how it ended: a Run or an Operation. */
export interface Work extends KubeObject {
	spec: { cancel?: boolean };
	status?: {
		observedGeneration?: number;
		phase?: string;
		startTime?: string;
		completionTime?: string;
		pendingSince?: string;
		attempts?: number;
		failedAttempts?: RunFailedAttempt[];
		error?: JobError;
		log?: string;
		conditions?: Condition[];
	};
}

export type WorkName = "Run" | "Operation";

/** A part of the status. */
export type Facts<W extends Work> = NonNullable<W["status"]>;

export type CompleteReason<Name extends WorkName> = Name extends "Run"
	? Reason<"Run", "Complete">
	: Reason<"Operation", "Complete">;
export type FailedReason<Name extends WorkName> = Name extends "Run"
	? Reason<"Run", "Failed">
	: Reason<"Operation", "Failed">;

/** What is done about the Job of a Run, an Operation or a Destination's check. */
export type JobAction =
	/** The answer is part of the state of a later reconcile. */
	| AskAction
	/** `dryRun`: only asks Kubernetes whether it would take the Job. `age`: its turn, if there are too many Jobs. */
	| { type: "startJob"; job: JobWithInput; dryRun: boolean; age: string }
	/** The Job with its Pods, and its input. */
	| { type: "removeJob" }
	/** As `lookAgain`, and the place in the queue for a Job is kept. */
	| { type: "awaitSlot"; afterMs: number };

export type WorkAction<W extends Work, Name extends WorkName> =
	| JobAction
	/** One that has ended: this one or another. */
	| { type: "delete"; object: W }
	| CommonAction<W, KubeEventReason<Name>>;

/**
 * How the status of a Run or an Operation changes. It is written before people are told, and before the Job with its result
 * goes.
 * @param factsOf What the status has from the start on.
 */
export function workTransitions<W extends Work, Name extends WorkName>(
	noun: Name,
	factsOf: (work: W) => Partial<Facts<W>> = () => ({}),
) {
	type Action = WorkAction<W, Name>;

	/** Both kinds have these reasons, which are made of their name. */
	const ended = (word: "Succeeded" | "Failed" | "Cancelled") =>
		`${noun}${word}` as KubeEventReason<Name>;

	const tell = (
		severity: "Normal" | "Warning",
		reason: KubeEventReason<Name>,
		message: string,
	): Action => ({ type: "recordKubeEvent", severity, reason, message });

	const write = (
		{ metadata, status }: W,
		facts: Facts<W>,
		findings: Finding[],
		now: number,
	): Action => {
		const observedGeneration = metadata.generation ?? 0;
		return {
			type: "writeStatus",
			status: {
				...status,
				observedGeneration,
				...facts,
				conditions: findings.reduce(
					(conditions, finding) =>
						setCondition(conditions, { ...finding, observedGeneration }, now),
					status?.conditions ?? [],
				),
			} as Facts<W>,
		};
	};

	/** As with a Job, `Failed` is a condition of its own beside `Complete`. */
	const failed = (
		complete: "Failed" | "Cancelled",
		reason: string,
		message: string,
	): Finding[] => [
		{ type: "Complete", status: "False", reason: complete, message },
		{ type: "Failed", status: "True", reason, message },
	];

	return {
		tell,

		/** It waits or works: `facts` has the phase. */
		progress(
			work: W,
			reason: CompleteReason<Name>,
			message: string,
			facts: Facts<W>,
			now: number,
		): Action[] {
			const finding = { type: "Complete", status: "False", reason, message };
			const all = { ...factsOf(work), ...facts };
			return [write(work, all, [finding as Finding], now)];
		},

		succeed(work: W, message: string, facts: Facts<W>, now: number): Action[] {
			const reason = "Succeeded";
			return [
				write(
					work,
					{ ...factsOf(work), phase: "Succeeded", ...facts },
					[{ type: "Complete", status: "True", reason, message }],
					now,
				),
				tell("Normal", ended("Succeeded"), message),
				{ type: "removeJob" },
			];
		},

		fail(
			work: W,
			reason: FailedReason<Name>,
			error: JobError,
			facts: Facts<W>,
			now: number,
		): Action[] {
			const { code, message } = error;
			const completionTime = rfc3339(now);
			return [
				write(
					work,
					{
						...factsOf(work),
						phase: "Failed",
						completionTime,
						error,
						...facts,
					},
					failed("Failed", reason, message),
					now,
				),
				tell("Warning", ended("Failed"), `${code}: ${message}`),
				{ type: "removeJob" },
			];
		},

		cancel(work: W, facts: Facts<W>, now: number): Action[] {
			const message = `The ${noun} was cancelled by spec.cancel.`;
			const completionTime = rfc3339(now);
			return [
				write(
					work,
					{ ...factsOf(work), phase: "Cancelled", completionTime, ...facts },
					failed("Cancelled", "Cancelled", message),
					now,
				),
				tell("Normal", ended("Cancelled"), message),
				{ type: "removeJob" },
			];
		},
	};
}

export type WorkTransitions<W extends Work, Name extends WorkName> = ReturnType<
	typeof workTransitions<W, Name>
>;

type Finding = Pick<Condition, "type" | "status" | "reason" | "message">;
