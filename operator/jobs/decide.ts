import type { JobError, JobResult } from "../../packages/contracts/job.ts";
import type {
	ManifestAnswer,
	ResultAnswer,
} from "../../packages/contracts/manifest.ts";
import { findCondition } from "../../packages/kube/conditions.ts";
import type { Job, Pod } from "../../packages/kube/kinds.ts";
import type { Refusal } from "../../packages/kube/reconcile/refusals.ts";
import { ageOf, type KubeObject } from "../../packages/kube/resource.ts";
import { rfc3339 } from "../../packages/kube/timestamps.ts";
import type { KubeEventReason } from "../reconcile/reasons.ts";
import { type Answered, type AskAction, answerTo } from "./archive-answers.ts";
import { endedAs } from "./endings.ts";
import { failedAttempts } from "./failed-attempts.ts";
import { isInForce, jobRefusal } from "./job-refusal.ts";
import { jobOutcome } from "./outcome.ts";
import { type LostPod, lostPodOf, lostPodText, nextLossMs } from "./pods.ts";
import { nextLookMs, type Place, placeText } from "./slots.ts";
import type { JobWithInput } from "./template.ts";
import type {
	CompleteReason,
	Facts,
	FailedReason,
	Work,
	WorkAction,
	WorkName,
	WorkTransitions,
} from "./transition.ts";

/** What requests have come to by now. A decision only reads it; who applies a decision makes the next requests. */
export interface Outcomes {
	/** What archive was asked last, and answered. */
	answered?: Answered | undefined;
	/** How far archive is with the question that it was asked. */
	progress: string | undefined;
	/** Why there is no slot for a Job yet. */
	place?: Place | undefined;
	/** What Kubernetes refused to write. */
	refusal?: Refusal | undefined;
}

/** All that a decision about the Job of a Run or an Operation rests on, beside the kind's own. */
export interface WorkState extends Outcomes {
	/** Its own Job, unless it is being deleted. */
	job: Job | undefined;
	/** That Job's Pods. */
	pods: Pod[];
	/** What archive said about the Job's result, once it was asked. */
	stored?: ResultAnswer | undefined;
}

/** How a kind differs from others on the way to its Job and back. */
export interface WorkKind<
	W extends Work,
	Name extends WorkName,
	S extends WorkState,
> {
	noun: Name;
	transition: WorkTransitions<W, Name>;
	workIn(state: S): W;
	/** The reason of `Complete` while the Job is there. */
	working: CompleteReason<Name>;
	workingMessage(work: W): string;
	/** How archive's answer is called while it is awaited. */
	listing: string;
	/** The reasons that a person or the cluster must change, beside {@link limitedAlike}. */
	limited: readonly CompleteReason<Name>[];
	/** How long such a reason may last. */
	pendingLimit(state: S): PendingLimit;
	/** When the time of the work is over, all attempts together; undefined if nobody knows. */
	deadlineMs(state: S, startTime: string): number | undefined;
	/** There was no Job yet: what the work waits for, or {@link Lifecycle.askToStart}. */
	prepare(state: S, now: number): WorkAction<W, Name>[];
	/** Whom to ask for what the Job left; undefined if nobody. */
	resultSource(state: S): { sourceKey: string; shard: number } | undefined;
	/** Whether also the result of a Job that succeeded is in the bucket. */
	leavesReport: boolean;
	/** Another start in place of this end, for a reason that only the kind knows. */
	startAnew?(
		state: S,
		error: JobError,
		now: number,
	): WorkAction<W, Name>[] | undefined;
	/** The Job has succeeded. */
	succeed(
		state: S,
		result: Extract<JobResult, { outcome: "Succeeded" }>,
		facts: Facts<W>,
		now: number,
	): WorkAction<W, Name>[];
	/** The reason of `Failed` when the Job has ended with an error. */
	failed: FailedReason<Name>;
}

/** What Runs and Operations do alike. Each of its functions is pure. */
export function lifecycle<
	W extends Work,
	Name extends WorkName,
	S extends WorkState,
>(kind: WorkKind<W, Name, S>) {
	type Action = WorkAction<W, Name>;
	const { noun, transition } = kind;
	const nothing = {} as Facts<W>;
	const pending = { phase: "Pending" } as Facts<W>;
	/** Both kinds have these reasons. */
	const alike = (reason: SharedReason) => reason as CompleteReason<Name>;
	const limited: ReadonlySet<string> = new Set<string>([
		...limitedAlike,
		...kind.limited,
	]);

	/** Work that hasn't ended. */
	function decideOpen(state: S, now: number): Action[] {
		const actions = state.job
			? follow(state, state.job, now)
			: decideWithoutJob(state, now);
		const wait = {
			work: kind.workIn(state),
			limit: kind.pendingLimit(state),
			hasJob: state.job !== undefined,
		};
		return limitPending(wait, actions, now);
	}

	/** The operator lacks its permissions in the namespace. While the work waits, the time that it may wait counts. */
	function decideNotPermitted(
		wait: PendingWork<W>,
		message: string,
		now: number,
	): Action[] {
		const { work } = wait;
		const { phase = "Pending" } = work.status ?? {};
		const reason = alike("NotPermitted");
		const facts = { phase } as Facts<W>;
		const waits = transition.progress(work, reason, message, facts, now);
		if (phase !== "Pending") return waits;
		if (work.spec.cancel) return transition.cancel(work, nothing, now);
		return limitPending(wait, waits, now);
	}

	function decideWithoutJob(state: S, now: number): Action[] {
		const work = kind.workIn(state);
		if (work.spec.cancel) return transition.cancel(work, nothing, now);
		// The status counts attempts as soon as a Job is seen.
		if (work.status?.attempts === undefined) return kind.prepare(state, now);
		const error = endedAs("JobDeleted", `The ${noun}'s Job is gone`);
		return transition.fail(work, kind.failed, error, nothing, now);
	}

	/** Asks archive, or goes on with its answer: every event answered before is in what it lists. */
	function askToStart(
		state: S,
		ask: AskAction<"askManifest">,
		now: number,
		goOn: (answer: Extract<ManifestAnswer, { ok: true }>) => Action[],
	): Action[] {
		const work = kind.workIn(state);
		const answer = answerTo(state.answered, ask);
		if (answer)
			return answer.ok
				? goOn(answer)
				: refusedByArchive(work, answer.error, now);
		const before = reasonOf(work);
		const wait = (more: string) =>
			transition.progress(
				work,
				alike("Preparing"),
				`${kind.listing}${more}`,
				pending,
				now,
			);
		if (state.progress !== undefined)
			return [...wait(`: ${state.progress}`), ask];
		return toldUntilNews.has(before ?? "") ? [ask] : [...wait("."), ask];
	}

	/** Archive refuses to list the objects, for now or for good. */
	function refusedByArchive(work: W, error: JobError, now: number): Action[] {
		if (!error.retryable)
			return transition.fail(
				work,
				"ManifestRefused" as FailedReason<Name>,
				error,
				nothing,
				now,
			);
		const reason = alike("ManifestUnavailable");
		return [
			...transition.progress(work, reason, error.message, pending, now),
			{ type: "lookAgain", afterMs: retryWaitMs(work, now) },
		];
	}

	/** Starts the Job, unless there are as many as there may be or Kubernetes has just refused it. */
	function start(
		state: S,
		job: JobWithInput,
		message: string,
		facts: Facts<W>,
		now: number,
		event: `${WorkName}Started` & KubeEventReason<Name>,
	): Action[] {
		const work = kind.workIn(state);
		if (state.place) return queued(work, state.place, now);
		if (isInForce(state.refusal)) return refused(work, state.refusal, now);
		const startJob = { type: "startJob", job, age: ageOf(work) } as const;
		return [
			// The status is written before the Job is there. Work that Kubernetes refuses must not seem to run meanwhile.
			{ ...startJob, dryRun: true },
			...transition.progress(work, kind.working, message, facts, now),
			{ ...startJob, dryRun: false },
			transition.tell("Normal", event, message),
		];
	}

	function queued(work: W, place: Place, now: number): Action[] {
		const message = `The ${noun} waits for its turn: ${placeText(place)}`;
		return [
			...transition.progress(work, alike("Queued"), message, pending, now),
			{ type: "awaitSlot", afterMs: nextLookMs(place) },
		];
	}

	/** Kubernetes refuses the Job, its input, or another write that comes before it. */
	function refused(work: W, refusal: Refusal, now: number): Action[] {
		const lookAgain = {
			type: "lookAgain",
			afterMs: refusal.retryInMs,
		} as const;
		if (refusal.mayPass) return [lookAgain];
		const { isLasting, message } = jobRefusal(refusal);
		const reason = isLasting ? "JobNotStarted" : "WriteRefused";
		// The time of the work begins when its Job starts.
		const { startTime: _, ...status } = work.status ?? {};
		return [
			...refusalEvent(work, reason, message),
			...transition.progress(
				{ ...work, status },
				alike(reason),
				message,
				pending,
				now,
			),
			lookAgain,
		];
	}

	/** First, since the status may be what Kubernetes refuses. */
	function refusalEvent(
		work: W,
		reason: "JobNotStarted" | "WriteRefused",
		message: string,
	): Action[] {
		const before = findCondition(work.status?.conditions, "Complete");
		return before?.reason === reason && before.message === message
			? []
			: [transition.tell("Warning", reason, message)];
	}

	/** There is a Job: wait for it, or record its result. */
	function follow(state: S, job: Job, now: number): Action[] {
		const { pods } = state;
		const work = kind.workIn(state);
		const { status = {} } = work;
		const stored = state.stored?.ok ? state.stored.result : undefined;
		const outcome = jobOutcome(job, pods, stored);
		const tried = {
			// The Pods of a Job go when it runs out of time.
			attempts: Math.max(pods.length, status.attempts ?? 0),
			...failedAttempts(status.failedAttempts, pods, outcome.finished),
		} as Facts<W>;
		if (!outcome.finished)
			return [
				...(isInForce(state.refusal) && !state.refusal.mayPass
					? refusalEvent(
							work,
							"WriteRefused",
							jobRefusal(state.refusal).message,
						)
					: []),
				...followRunning(work, pods, outcome.waitingFor, tried, now),
			];
		const { result, at, isPodGone } = outcome;
		if (isPodGone || (kind.leavesReport && result.outcome === "Succeeded")) {
			const asking = askForResult(state, at, now);
			if (asking) return asking;
		}
		const { log } = result;
		const facts = { ...tried, completionTime: at, ...(log && { log }) };
		if (result.outcome === "Succeeded")
			return kind.succeed(state, result, facts, now);
		if (hasTime(state, now)) {
			const again =
				result.error.code === "ManifestExpired"
					? startOver(work, linksExpired, nothing, now)
					: kind.startAnew?.(state, result.error, now);
			if (again) return again;
		}
		const error = withLastWait(work, result.error);
		return transition.fail(work, kind.failed, error, facts, now);
	}

	function followRunning(
		work: W,
		pods: Pod[],
		waitingFor: string | undefined,
		tried: Facts<W>,
		now: number,
	): Action[] {
		if (work.spec.cancel) return transition.cancel(work, tried, now);
		const lost = lostPodOf(pods, now);
		if (lost) return followLost(work, lost, tried, now);
		// A Job has no Pod for a while after it loses one or runs out of time. The status keeps what the last Pod waited for.
		const isEmpty = pods.every(({ metadata }) => metadata.deletionTimestamp);
		const said = waitingFor ?? (isEmpty ? lastWaitOf(work) : undefined);
		const lossMs = nextLossMs(pods, now);
		return [
			...(said === undefined
				? transition.progress(
						work,
						kind.working,
						kind.workingMessage(work),
						{ phase: "Running", ...tried },
						now,
					)
				: transition.progress(
						work,
						alike("PodWaiting"),
						said,
						{ ...pending, ...tried },
						now,
					)),
			...(lossMs === undefined
				? []
				: [{ type: "lookAgain", afterMs: lossMs } as const]),
		];
	}

	/** The Pod should have ended long ago. The work ends after a while; what it wrote to stays taken as long as the Pod is there. */
	function followLost(
		work: W,
		lost: LostPod,
		tried: Facts<W>,
		now: number,
	): Action[] {
		const text = lostPodText(lost);
		if (lost.leftMs <= 0)
			return transition.fail(
				work,
				kind.failed,
				endedAs("PodLost", text),
				tried,
				now,
			);
		return [
			...transition.progress(
				work,
				alike("PodLost"),
				text,
				{ phase: "Running", ...tried },
				now,
			),
			{ type: "lookAgain", afterMs: lost.leftMs },
		];
	}

	/**
	 * The Job has ended, and archive may have its result. Undefined if there is nobody to ask, or archive has answered, or
	 * has been silent for long.
	 */
	function askForResult(
		state: S,
		endedAt: string,
		now: number,
	): Action[] | undefined {
		const { stored } = state;
		const source = kind.resultSource(state);
		if (!source || stored?.ok) return undefined;
		const work = kind.workIn(state);
		const { sourceKey, shard } = source;
		const { uid, namespace } = work.metadata;
		const question = { run: uid!, account: namespace!, sourceKey };
		if (!stored) return [{ type: "askResult", shard, question }];
		const isLost = now - Date.parse(endedAt) > resultPatienceMs;
		if (!stored.error.retryable || isLost) return undefined;
		const message = `The Job has ended. Its result is not known yet: ${stored.error.message}`;
		return [
			...transition.progress(work, kind.working, message, nothing, now),
			{ type: "lookAgain", afterMs: 10_000 },
		];
	}

	/** Archive is asked again, for a new Job: the links expire, and a Job may wait for a node or work for long. */
	function startOver(
		work: W,
		message: string,
		facts: Facts<W>,
		now: number,
	): Action[] {
		const { attempts: _, ...status } = work.status ?? {};
		return [
			...transition.progress(
				{ ...work, status },
				alike("Preparing"),
				message,
				{ ...facts, ...pending },
				now,
			),
			{ type: "removeJob" },
		];
	}

	function hasTime(state: S, now: number): boolean {
		const { spec, status } = kind.workIn(state);
		if (!status?.startTime || spec.cancel) return false;
		const deadlineMs = kind.deadlineMs(state, status.startTime);
		return deadlineMs !== undefined && now < deadlineMs;
	}

	/**
	 * The actions, with a limit to the time that the work waits for a person or the cluster: beyond it, it fails. Waiting for
	 * archive and for other Jobs is Tidemill's own affair, and ends the count.
	 */
	function limitPending(
		{ work, limit, hasJob }: PendingWork<W>,
		actions: Action[],
		now: number,
	): Action[] {
		const index = actions.findIndex(({ type }) => type === "writeStatus");
		const written = actions[index];
		if (written?.type !== "writeStatus") return actions;
		const { pendingSince: before, ...status } = written.status as NonNullable<
			Work["status"]
		>;
		const { reason = "", message = "" } =
			findCondition(status.conditions, "Complete") ?? {};
		// Steps to a Job. Kubernetes may refuse the next one as well.
		const isOnItsWay = reason === "Preparing" || reason === kind.working;
		const since =
			status.completionTime !== undefined
				? undefined
				: limited.has(reason)
					? (before ?? rfc3339(now))
					: isOnItsWay && !hasJob
						? before
						: undefined;
		const counted: Action = {
			type: "writeStatus",
			status: { ...status, ...(since && { pendingSince: since }) } as Facts<W>,
		};
		const others = actions.toSpliced(index, 1, counted);
		if (since === undefined || !limited.has(reason)) return others;

		const { seconds, text } = limit;
		const leftMs = Date.parse(since) + seconds * 1_000 - now;
		if (leftMs > 0) return lookingAgain(others, leftMs);
		const { pendingSince: _, ...lasting } = work.status ?? {};
		const error = {
			code: "PendingDeadlineExceeded",
			message: `${text} It waited for: ${message}`,
			retryable: true,
		};
		return transition.fail(
			{ ...work, status: lasting },
			"PendingDeadlineExceeded" as FailedReason<Name>,
			error,
			nothing,
			now,
		);
	}

	return {
		decideOpen,
		decideNotPermitted,
		askToStart,
		refusedByArchive,
		start,
		startOver,
	};
}

/** Work that may wait for a person or the cluster, and for how long. */
interface PendingWork<W> {
	work: W;
	limit: PendingLimit;
	hasJob: boolean;
}

/** `text`: what people read when the time is over. */
export interface PendingLimit {
	seconds: number;
	text: string;
}

type SharedReason = CompleteReason<"Run"> & CompleteReason<"Operation">;

/** What a person or the cluster must change. It may stay as it is for ever, so the time is limited. */
const limitedAlike = [
	"JobNotStarted",
	"WriteRefused",
	"PodWaiting",
	"PodLost",
	"NotPermitted",
] as const satisfies SharedReason[];

/** The last answer of archive or Kubernetes, and the place in the queue, stay until there is something newer. */
const toldUntilNews: ReadonlySet<string> = new Set<SharedReason>([
	"ManifestUnavailable",
	"Queued",
	"JobNotStarted",
	"WriteRefused",
]);

/** Longer than an archive takes to restart. */
const resultPatienceMs = 10 * 60_000;

/** The message with which work starts over because its links live no longer. */
const linksExpired =
	"The links to the objects have expired. Archive is making new ones.";

/** How long until archive is asked again: a quarter of the object's age, from 1 s to 1 min. Backoff without memory. */
export function retryWaitMs({ metadata }: KubeObject, now: number): number {
	const waitedMs = now - Date.parse(metadata.creationTimestamp ?? "");
	return Math.min(Math.max(waitedMs / 4, 1_000), 60_000);
}

/** The actions with one look again, after this time at the latest. */
function lookingAgain<A extends { type: string }>(
	actions: A[],
	afterMs: number,
): (A | LookAgain)[] {
	const isLook = (action: { type: string }) => action.type === "lookAgain";
	const planned = actions.filter(isLook) as unknown as LookAgain[];
	const soonest = Math.min(afterMs, ...planned.map(({ afterMs }) => afterMs));
	return [
		...actions.filter((action) => !isLook(action)),
		{ type: "lookAgain", afterMs: soonest },
	];
}

type LookAgain = { type: "lookAgain"; afterMs: number };

/** The Pods of a Job that ran out of time are gone. The status has what they waited for. */
function withLastWait(work: Work, error: JobError): JobError {
	const last = lastWaitOf(work);
	if (error.code !== "DeadlineExceeded" || last === undefined) return error;
	const message = `${error.message} Last it waited for: ${last}`;
	return { ...error, message };
}

function lastWaitOf(work: Work): string | undefined {
	const complete = findCondition(work.status?.conditions, "Complete");
	return complete?.reason === "PodWaiting" ? complete.message : undefined;
}

function reasonOf({ status }: Work): string | undefined {
	return findCondition(status?.conditions, "Complete")?.reason;
}
