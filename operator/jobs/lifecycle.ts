import type { JobError } from "../../packages/contracts/job.ts";
import type { ManifestRequest } from "../../packages/contracts/manifest.ts";
import { isOfFuture } from "../../packages/contracts/utc-date.ts";
import type { Refusal } from "../../packages/kube/reconcile/refusals.ts";
import { ageOf, rfc3339 } from "../../packages/kube/resource.ts";
import type { PositiveAnswer } from "../reconcile/questions.ts";
import { type Asking, asking } from "./asking.ts";
import { followJob } from "./follow.ts";
import type { WorkKind, WorkState } from "./kind.ts";
import { endedAs } from "./outcome.ts";
import { limitPending, type PendingWork } from "./pending.ts";
import { isInForce, jobRefusal, refusalEvent } from "./refusal.ts";
import { nextLookMs, placeText, type QueuePlace } from "./slots.ts";
import type { JobWithInput } from "./template.ts";
import type {
	JobWork,
	StatusFacts,
	WorkAction,
	WorkReasons,
} from "./transition.ts";

/** A longer wait isn't exact, and a timer has an end. */
const longestWaitMs = 24 * 3_600_000;

/** The Job starts a little later, and its attempts end a little late. */
const linkSlackSeconds = 600;

/** What a snapshot of the future holds to be closed isn't: the next Run would leave out days. */
function snapshotAhead(snapshotTime: string): JobError {
	return {
		code: "ClocksDiffer",
		message: `Archive's snapshot is of ${snapshotTime}, which by the operator's clock has not come yet. Set the clocks of the nodes of NATS and Tidemill, such as by NTP. Tidemill retries.`,
		retryable: true,
	};
}

/** What all work with a Job does alike: it waits, asks archive, queues, starts, is followed, ends and goes. Its functions are pure. */
export function lifecycle<
	W extends JobWork,
	R extends WorkReasons,
	S extends WorkState,
>(kind: WorkKind<W, R, S>) {
	type Action = WorkAction<W, R>;
	const { noun, transition } = kind;
	const { ask, refusedByArchive } = asking<W, R, S>(kind);
	const nothing = {} as StatusFacts<W>;
	const pending = { phase: "Pending" } as StatusFacts<W>;

	/** In the order in which they are applied. */
	function decide(state: S, now: number): Action[] {
		const work = kind.workIn(state);
		if (work.metadata.deletionTimestamp) return [];
		if (work.status?.completionTime !== undefined)
			return decideEnded(state, work.status.completionTime, now);
		const finishing = kind.finish?.(state, now);
		if (finishing)
			return work.spec.cancel
				? transition.cancel(work, nothing, now)
				: finishing;
		const actions = state.job
			? followJob(kind, state, state.job, now)
			: decideWithoutJob(state, now);
		const limit = kind.pendingLimit(state);
		const wait = { work, limit, hasJob: state.job !== undefined };
		return limitPending(kind, wait, actions, now);
	}

	function decideEnded(state: S, endedAt: string, now: number): Action[] {
		const work = kind.workIn(state);
		const surplus = kind.surplus?.(state) ?? [];
		const actions: Action[] = [
			...(state.job ? [{ type: "removeJob" } as const] : []),
			...surplus.map((object) => ({ type: "delete", object }) as const),
		];
		const keptMs = kind.keptMs(state);
		const { uid } = work.metadata;
		if (
			keptMs === undefined ||
			surplus.some(({ metadata }) => metadata.uid === uid)
		)
			return actions;
		const leftMs = Date.parse(endedAt) + keptMs - now;
		return [
			...actions,
			leftMs <= 0
				? { type: "delete", object: work }
				: { type: "requeueAfter", afterMs: Math.min(leftMs, longestWaitMs) },
		];
	}

	/** The operator lacks its permissions in the namespace. While the work waits, the time that it may wait counts. */
	function decideNotPermitted(
		wait: PendingWork<W>,
		message: string,
		now: number,
	): Action[] {
		const { work } = wait;
		const { phase = "Pending", completionTime } = work.status ?? {};
		if (completionTime !== undefined) return [];
		const facts = { phase } as StatusFacts<W>;
		const waits = transition.progress(
			work,
			"NotPermitted",
			message,
			facts,
			now,
		);
		if (phase !== "Pending") return waits;
		if (work.spec.cancel) return transition.cancel(work, nothing, now);
		return limitPending(kind, wait, waits, now);
	}

	function decideWithoutJob(state: S, now: number): Action[] {
		const work = kind.workIn(state);
		if (work.spec.cancel) return transition.cancel(work, nothing, now);
		// The status counts attempts as soon as a Job is seen.
		if (work.status?.attempts === undefined) return kind.prepare(state, now);
		const error = endedAs("JobDeleted", `The ${noun}'s Job is gone`);
		return transition.fail(work, kind.failed, error, nothing, now);
	}

	/** Asks archive for what the Job reads. Every event answered before is in what archive lists. */
	function askToStart(
		state: S,
		{ shard, ...asked }: WorkQuestion,
		now: number,
		goOn: (answer: PositiveAnswer<"askManifest">) => Action[],
	): Action[] {
		const { metadata, status } = kind.workIn(state);
		const question = {
			run: metadata.uid!,
			account: metadata.namespace!,
			...asked,
			linkSeconds: secondsLeft(state, now) + linkSlackSeconds,
			// An earlier Job of this work found its links expired.
			...(status?.startTime && { renew: true }),
		};
		return ask(
			state,
			{ type: "askManifest", shard, question },
			{
				...listing,
				goOn: (answer) =>
					isOfFuture(Date.parse(answer.snapshotTime), now)
						? refusedByArchive(
								kind.workIn(state),
								listing,
								snapshotAhead(answer.snapshotTime),
								now,
							)
						: goOn(answer),
			},
			now,
		);
	}

	/** Of the time of the work, all attempts together. */
	function secondsLeft(state: S, now: number): number {
		const seconds = kind.activeDeadlineSeconds(state) ?? 0;
		const endMs = Date.parse(startTimeOf(state, now)) + seconds * 1_000;
		return Math.max(0, Math.ceil((endMs - now) / 1_000));
	}

	function startTimeOf(state: S, now: number): string {
		return kind.workIn(state).status?.startTime ?? rfc3339(now);
	}

	const listing: Asking<W, R> = {
		reason: "Preparing",
		message: kind.listing,
		facts: pending,
		unavailable: "ManifestUnavailable",
		refused: "ManifestRefused",
	};

	/**
	 * Starts the Job, unless there are as many as there may be or Kubernetes has just refused it.
	 * @param jobWithin The Job, which may take so many seconds.
	 */
	function start(
		state: S,
		jobWithin: (activeDeadlineSeconds: number) => JobWithInput,
		message: string,
		facts: StatusFacts<W>,
		now: number,
	): Action[] {
		const work = kind.workIn(state);
		if (state.place) return queued(work, state.place, now);
		if (isInForce(state.refusal)) return refused(work, state.refusal, now);
		const job = jobWithin(Math.max(1, secondsLeft(state, now)));
		const startJob = { type: "startJob", job, age: ageOf(work) } as const;
		const startTime = startTimeOf(state, now);
		const began = { ...facts, phase: "Running", startTime };
		return [
			// The status is written before the Job is there. Work that Kubernetes refuses must not seem to run meanwhile.
			{ ...startJob, dryRun: true },
			...transition.progress(work, kind.working, message, began, now),
			{ ...startJob, dryRun: false },
			transition.started(message),
		];
	}

	function queued(work: W, place: QueuePlace, now: number): Action[] {
		const message = `The ${noun} waits for its turn: ${placeText(place)}`;
		return [
			...transition.progress(work, "Queued", message, pending, now),
			{ type: "awaitSlot", afterMs: nextLookMs(place) },
		];
	}

	/** Kubernetes refuses the Job, its input, or another write that comes before it. */
	function refused(work: W, refusal: Refusal, now: number): Action[] {
		const { retryInMs: afterMs, mayPass } = refusal;
		if (mayPass) return [{ type: "requeueAfter", afterMs }];
		const { isLasting, message } = jobRefusal(refusal);
		const reason = isLasting ? "JobNotStarted" : "WriteRefused";
		// The time of the work begins when its Job starts.
		const { startTime: _, ...status } = work.status ?? {};
		return [
			...refusalEvent(transition, work, reason, message),
			...transition.progress(
				{ ...work, status },
				reason,
				message,
				pending,
				now,
			),
			{ type: "requeueAfter", afterMs },
		];
	}

	return {
		decide,
		decideNotPermitted,
		askToStart,
		/** Archive can't be asked yet to list the objects. */
		notListed: (work: W, error: JobError, now: number) =>
			refusedByArchive(work, listing, error, now),
		start,
	};
}

/** What a kind asks archive to list. The rest is the same for all. */
export type WorkQuestion = { shard: number } & Omit<
	ManifestRequest,
	"run" | "account" | "linkSeconds" | "renew"
>;
