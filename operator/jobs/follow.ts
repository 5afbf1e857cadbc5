import type { JobError } from "../../packages/contracts/job.ts";
import { findCondition } from "../../packages/kube/conditions.ts";
import type { Job, Pod } from "../../packages/kube/kinds.ts";
import type { NewStart, WorkKind, WorkState } from "./kind.ts";
import { lostPodOf, lostPodText, nextLossMs } from "./lost-pods.ts";
import { endedAs, failedAttempts, jobOutcome } from "./outcome.ts";
import { isInForce, jobRefusal, refusalEvent } from "./refusal.ts";
import type {
	CompleteReason,
	JobWork,
	StatusFacts,
	WorkAction,
	WorkReasons,
} from "./transition.ts";

/** Longer than an archive takes to restart. */
const resultTimeoutMs = 10 * 60_000;

/** The message with which work starts over because its links live no longer. */
const linksExpired =
	"The links to the objects have expired. Archive is making new ones.";

/** There is a Job: wait for it, or record its result. */
export function followJob<
	W extends JobWork,
	R extends WorkReasons,
	S extends WorkState,
>(
	kind: WorkKind<W, R, S>,
	state: S,
	job: Job,
	now: number,
): WorkAction<W, R>[] {
	type Action = WorkAction<W, R>;
	const { transition } = kind;
	const { pods, refusal } = state;
	const work = kind.workIn(state);
	const { status = {} } = work;
	const stored = state.stored?.ok ? state.stored.result : undefined;
	const outcome = jobOutcome(job, pods, stored);
	const tried = {
		// The Pods of a Job go when it runs out of time.
		attempts: Math.max(pods.length, status.attempts ?? 0),
		...failedAttempts(status.failedAttempts, pods, outcome.finished),
	} as StatusFacts<W>;
	const wait = (reason: CompleteReason<R>, message: string, facts: object) =>
		transition.progress(work, reason, message, facts as StatusFacts<W>, now);

	if (!outcome.finished) {
		const refused =
			isInForce(refusal) && !refusal.mayPass
				? refusalEvent(
						transition,
						work,
						"WriteRefused",
						jobRefusal(refusal).message,
					)
				: [];
		return [...refused, ...followRunning(outcome.waitingFor)];
	}
	const { result, at, isPodGone } = outcome;
	if (isPodGone || (kind.leavesReport && result.outcome === "Succeeded")) {
		const asking = askForResult(at);
		if (asking) return asking;
	}
	const { log } = result;
	const facts = { ...tried, completionTime: at, ...(log && { log }) };
	if (result.outcome === "Succeeded")
		return kind.succeed(state, result, facts, now);
	const again = hasTime() ? startAnew(result.error) : undefined;
	if (again) return again;
	const { waits: _, ...error } = withLastWait(work, result.error);
	const reason = kind.failedBy?.(error) ?? kind.failed;
	return transition.fail(work, reason, error, facts, now);

	function followRunning(waitingFor: string | undefined): Action[] {
		if (work.spec.cancel) return transition.cancel(work, tried, now);
		const lost = lostPodOf(pods, now);
		// The Pod should have ended long ago. The work ends after a while; what it wrote to stays taken as long as the Pod is there.
		if (lost) {
			const text = lostPodText(lost);
			return lost.leftMs <= 0
				? transition.fail(
						work,
						kind.failed,
						endedAs("PodLost", text),
						tried,
						now,
					)
				: [
						...wait("PodLost", text, { phase: "Running", ...tried }),
						{ type: "requeueAfter", afterMs: lost.leftMs },
					];
		}
		// A Job has no Pod for a while after it loses one or runs out of time. The status keeps what the last Pod waited for.
		const podlessMs =
			tried.attempts === 0 ? podlessLeftMs(job, now) : undefined;
		const podless = podlessMs === 0 ? podlessText(job) : undefined;
		const said =
			waitingFor ?? (isEmpty(pods) ? (lastWaitOf(work) ?? podless) : undefined);
		const lossMs = nextLossMs(pods, now) ?? (podlessMs || undefined);
		return [
			...(said === undefined
				? wait(kind.working, kind.workingMessage(work), {
						phase: "Running",
						...tried,
					})
				: wait("PodWaiting", said, { phase: "Pending", ...tried })),
			...(lossMs === undefined
				? []
				: [{ type: "requeueAfter", afterMs: lossMs } as const]),
		];
	}

	/**
	 * The Job has ended, and archive may have its result. Undefined if there is nobody to ask, or archive has answered, or
	 * has been silent for long.
	 */
	function askForResult(endedAt: string): Action[] | undefined {
		const { stored } = state;
		const source = kind.resultSource(state);
		if (!source || stored?.ok) return undefined;
		const { sourceKey, shard } = source;
		const { uid, namespace } = work.metadata;
		const question = { run: uid!, account: namespace!, sourceKey };
		if (!stored) return [{ type: "askResult", shard, question }];
		const isLost = now - Date.parse(endedAt) > resultTimeoutMs;
		if (!stored.error.retryable || isLost) return undefined;
		const message = `The Job has ended. Its result is not known yet: ${stored.error.message}`;
		return [
			...wait(kind.working, message, {}),
			{ type: "requeueAfter", afterMs: 10_000 },
		];
	}

	function hasTime(): boolean {
		if (!status.startTime || work.spec.cancel) return false;
		const seconds = kind.activeDeadlineSeconds(state) ?? 0;
		return now < Date.parse(status.startTime) + seconds * 1_000;
	}

	/** Archive is asked again, for a new Job: the links expire, and a Job may wait for a node or work for long. */
	function startAnew(error: JobError): Action[] | undefined {
		const again =
			error.code === "ManifestExpired"
				? { message: linksExpired, facts: {} }
				: kind.startAnew?.(state, error, now);
		if (!again) return undefined;
		const {
			message,
			facts,
			reason = "Preparing",
			event,
		} = again as NewStart<W, R>;
		const { attempts: _, ...lasting } = status;
		return [
			...transition.progress(
				{ ...work, status: lasting },
				reason,
				message,
				{
					...failedAttempts(status.failedAttempts, pods, false),
					...facts,
					phase: "Pending",
				} as StatusFacts<W>,
				now,
			),
			{ type: "removeJob" },
			...(event === undefined
				? []
				: [transition.record("Normal", event, message)]),
		];
	}
}

function isEmpty(pods: Pod[]): boolean {
	return pods.every(({ metadata }) => metadata.deletionTimestamp);
}

/** The Pods of a Job that ran out of time are gone. The status has what they waited for. */
function withLastWait(work: JobWork, error: JobError): JobError {
	const last = lastWaitOf(work);
	if (error.code !== "DeadlineExceeded" || last === undefined) return error;
	const message = `${error.message} Last it waited for: ${last}`;
	return { ...error, message };
}

function lastWaitOf({ status }: JobWork): string | undefined {
	const complete = findCondition(status?.conditions, "Complete");
	return complete?.reason === "PodWaiting" ? complete.message : undefined;
}

/** Kubernetes makes a Job's first Pod within a second or two, unless something refuses it. */
const podlessMs = 20_000;

/** How long until a Job without a Pod is odd, in milliseconds; 0 if it is. */
function podlessLeftMs({ metadata }: Job, now: number): number | undefined {
	const createdMs = Date.parse(metadata.creationTimestamp ?? "");
	return Number.isNaN(createdMs)
		? undefined
		: Math.max(0, createdMs + podlessMs - now);
}

/** The operator may not read the Events that have the reason. */
function podlessText({ metadata: { name, namespace } }: Job): string {
	return `The Job has no Pod. A quota, a LimitRange, a PriorityClass or ServiceAccount that is missing, the Pod Security Standard or an admission policy may refuse it: kubectl describe job ${name} --namespace ${namespace} says which.`;
}
