import type { JobError, JobResult } from "../../packages/contracts/job.ts";
import type { ResultAnswer } from "../../packages/contracts/manifest.ts";
import type { Job, Pod } from "../../packages/kube/kinds.ts";
import type { Refusal } from "../../packages/kube/reconcile/refusals.ts";
import type { ArchiveAnswer } from "../reconcile/questions.ts";
import type { QueuePlace } from "./slots.ts";
import type {
	CompleteReason,
	JobWork,
	StatusFacts,
	WorkAction,
	WorkReasons,
	WorkTransitions,
} from "./transition.ts";

/** What requests have come to by now. A decision only reads it; who applies a decision makes the next requests. */
export interface RequestOutcomes {
	/** What archive was asked last, and answered. */
	answered?: ArchiveAnswer | undefined;
	/** How far archive is with the question that it was asked. */
	progress: string | undefined;
	/** Why there is no slot for a Job yet. */
	place?: QueuePlace | undefined;
	/** What Kubernetes refused to write. */
	refusal?: Refusal | undefined;
}

/** All that a decision about work with a Job rests on, beside the kind's own. */
export interface WorkState extends RequestOutcomes {
	/** Its own Job, unless it is being deleted. */
	job: Job | undefined;
	/** That Job's Pods. */
	pods: Pod[];
	/** What archive said about the Job's result, once it was asked. */
	stored?: ResultAnswer | undefined;
}

/**
 * What a kind gives {@link file://./lifecycle.ts lifecycle}, which does the rest alike for all: the input of the Job (`prepare`), who
 * reads its result (`succeed`), and the reasons that people read.
 */
export interface WorkKind<
	W extends JobWork,
	R extends WorkReasons,
	S extends WorkState,
> {
	noun: R["noun"];
	transition: WorkTransitions<W, R>;
	workIn(state: S): W;

	/** There was no Job yet: what the work waits for, or an action of `askToStart`. */
	prepare(state: S, now: number): WorkAction<W, R>[];
	/** How long the work may take from its start on, all attempts together; undefined if nobody knows. */
	activeDeadlineSeconds(state: S): number | undefined;

	/** Whom to ask for what the Job left; undefined if nobody. */
	resultSource(state: S): { sourceKey: string; shard: number } | undefined;
	/** Whether also the result of a Job that succeeded is in the bucket. */
	leavesReport: boolean;
	/** The Job has succeeded. */
	succeed(
		state: S,
		result: Extract<JobResult, { outcome: "Succeeded" }>,
		facts: StatusFacts<W>,
		now: number,
	): WorkAction<W, R>[];
	/** Another start in place of this end, for a reason that only the kind knows. */
	startAnew?(
		state: S,
		error: JobError,
		now: number,
	): NewStart<W, R> | undefined;
	/** The Job has done its part, and archive does the rest; undefined as long as it hasn't. */
	finish?(state: S, now: number): WorkAction<W, R>[] | undefined;

	/** How long the work stays after its end; undefined if somebody else removes it. */
	keptMs(state: S): number | undefined;
	/** Work that has ended and of which there is too much: it goes at once. */
	surplus?(state: S): W[];

	/** The reason of `Complete` while the Job is there. */
	working: CompleteReason<R>;
	workingMessage(work: W): string;
	/** How archive's answer is called while it is awaited. */
	listing: string;
	/** The reason of `Failed` when the Job has ended with an error. */
	failed: R["failed"];
	/** A more telling one for an error of the Job; undefined for that. */
	failedBy?(error: JobError): R["failed"] | undefined;
	/** The reasons that a person or the cluster must change, beside those of every kind. */
	limited: readonly CompleteReason<R>[];
	/** How long such a reason may last. */
	pendingLimit(state: S): PendingLimit;
}

/** `text`: what people read when the time is over. */
export interface PendingLimit {
	seconds: number;
	text: string;
}

/** The work starts over: archive is asked again, for a new Job. */
export interface NewStart<W extends JobWork, R extends WorkReasons> {
	message: string;
	facts: StatusFacts<W>;
	/** Of `Complete`, unless archive is asked at once. */
	reason?: CompleteReason<R>;
	event?: R["event"];
}
