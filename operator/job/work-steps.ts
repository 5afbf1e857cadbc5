import type {
	ManifestAnswer,
	ResultAnswer,
	ResultRequest,
} from "../../contracts/manifest.ts";
import type { ObjectMeta } from "../../kube/resource.ts";
import { retryWaitMs } from "./retry-wait.ts";
import { nextLookMs, type Place, placeText } from "./slots.ts";
import type { JobWithInput } from "./template.ts";
import { withoutFact } from "./work-status.ts";

/** What is done about the Job of a Run or an Operation. */
export type WorkAction =
	/** What the Job left in the bucket. The decision is then made again. */
	| { type: "askResult"; question: ResultRequest; shard: number }
	/** `dryRun`: only asks Kubernetes whether it would take the Job. */
	| { type: "startJob"; job: JobWithInput; dryRun: boolean }
	/** The Job with its Pods, and its input. */
	| { type: "removeJob" }
	| { type: "lookAgain"; afterMs: number };

type Refusal = Extract<ManifestAnswer, { ok: false }>["error"];

interface Work {
	metadata: ObjectMeta;
	status?: { phase?: string; startTime?: string; attempts?: number };
}

type Facts<W extends Work> = NonNullable<W["status"]>;

/** How a Run differs from an Operation on the way to its Job and back. */
interface WorkKind<W extends Work, A, Working> {
	noun: string;
	/** The reason of `Complete` while the Job is there. */
	working: Working;
	transition: {
		progress(
			work: W,
			reason:
				| "Queued"
				| "ManifestUnavailable"
				| "JobNotStarted"
				| "Preparing"
				| Working,
			message: string,
			facts: Facts<W>,
			now: number,
		): A[];
		fail(
			work: W,
			reason: "ManifestRefused",
			error: Refusal,
			facts: Facts<W>,
			now: number,
		): A[];
	};
	tell(severity: "Warning", reason: "JobNotStarted", message: string): A;
}

/** What Runs and Operations do alike, as their own actions. */
export function workSteps<W extends Work, A, Working extends string>({
	noun,
	working,
	transition,
	tell,
}: WorkKind<W, A, Working>) {
	type Actions = (A | WorkAction)[];
	const nothing = {} as Facts<W>;
	const pending = { phase: "Pending" } as Facts<W>;
	return {
		/** Archive refuses to list the objects, for now or for good. */
		refusedByArchive(work: W, error: Refusal, now: number): Actions {
			if (!error.retryable)
				return transition.fail(work, "ManifestRefused", error, nothing, now);
			const { message } = error;
			return [
				...transition.progress(
					work,
					"ManifestUnavailable",
					message,
					pending,
					now,
				),
				{ type: "lookAgain", afterMs: retryWaitMs(work, now) },
			];
		},

		/** Archive has answered, and there are as many Jobs as there may be. */
		queued(work: W, place: Place, now: number): Actions {
			const message = `The ${noun} waits for its turn: ${placeText(place)}`;
			return [
				...transition.progress(work, "Queued", message, pending, now),
				{ type: "lookAgain", afterMs: nextLookMs(place) },
			];
		},

		start(
			work: W,
			job: JobWithInput,
			message: string,
			facts: Facts<W>,
			now: number,
		): Actions {
			return [
				// The status is written before the Job is there. Work that Kubernetes refuses must not seem to run meanwhile.
				{ type: "startJob", job, dryRun: true },
				...transition.progress(work, working, message, facts, now),
				{ type: "startJob", job, dryRun: false },
			];
		},

		/** @param message Why Kubernetes refused the Job or its input. */
		refusedByKubernetes(work: W, message: string, now: number): Actions {
			// The time of the work begins when its Job starts.
			const waiting = withoutFact(work, "startTime");
			return [
				...transition.progress(waiting, "JobNotStarted", message, pending, now),
				tell("Warning", "JobNotStarted", message),
				{ type: "lookAgain", afterMs: retryWaitMs(work, now) },
			];
		},

		/**
		 * The Job has ended, and archive may have its result. Undefined if there is nobody to ask, or archive has answered, or
		 * has been silent for long.
		 */
		askForResult(
			work: W,
			asked: {
				sourceKey: string | undefined;
				shard: number | undefined;
				/** Archive's last answer. */
				stored: ResultAnswer | undefined;
				endedAt: string;
			},
			now: number,
		): Actions | undefined {
			const { sourceKey, shard, stored, endedAt } = asked;
			if (sourceKey === undefined || shard === undefined || stored?.ok)
				return undefined;
			if (!stored) {
				const { uid, namespace } = work.metadata;
				const question = { run: uid!, account: namespace!, sourceKey };
				return [{ type: "askResult", shard, question }];
			}
			const isLost = now - Date.parse(endedAt) > patienceMs;
			if (!stored.error.retryable || isLost) return undefined;
			const message = `The Job has ended. Its result is not known yet: ${stored.error.message}`;
			return [
				...transition.progress(work, working, message, nothing, now),
				{ type: "lookAgain", afterMs: 10_000 },
			];
		},

		/** Archive is asked again, for a new Job: the links expire, and a Job may wait for a node or work for long. */
		startOver(work: W, message: string, facts: Facts<W>, now: number): Actions {
			return [
				...transition.progress(
					withoutFact(work, "attempts"),
					"Preparing",
					message,
					{ ...facts, ...pending },
					now,
				),
				{ type: "removeJob" },
			];
		},
	};
}

/** Longer than an archive takes to restart. */
const patienceMs = 10 * 60_000;

/** The message with which work starts over because its links live no longer. */
export const linksExpired =
	"The links to the objects have expired. Archive is making new ones.";
