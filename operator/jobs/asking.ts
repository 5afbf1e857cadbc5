import type { JobError } from "../../packages/contracts/job.ts";
import { findCondition } from "../../packages/kube/conditions.ts";
import type { KubeObject } from "../../packages/kube/resource.ts";
import {
	type AskAction,
	answerTo,
	type PositiveAnswer,
	type QuestionType,
} from "../reconcile/questions.ts";
import type { WorkKind, WorkState } from "./kind.ts";
import type {
	CompleteReason,
	FailedReason,
	JobWork,
	StatusFacts,
	WorkAction,
	WorkReasons,
} from "./transition.ts";

/** The last answer of archive or Kubernetes, and the place in the queue, stay until there is something newer. */
const keptUntilChange: ReadonlySet<string> = new Set([
	"Queued",
	"JobNotStarted",
	"WriteRefused",
]);

/** What people read while archive is asked, and when it refuses. */
export interface Asking<W extends JobWork, R extends WorkReasons> {
	reason: CompleteReason<R>;
	message: string;
	/** The status meanwhile. */
	facts: StatusFacts<W>;
	/** Archive refuses for now. */
	unavailable: CompleteReason<R>;
	/** Archive refuses for good. */
	refused: FailedReason<R>;
}

/** How work asks archive: it waits for the answer, and goes on, asks again or fails by it. Its functions are pure. */
export function asking<
	W extends JobWork,
	R extends WorkReasons,
	S extends WorkState,
>({ workIn, transition }: Pick<WorkKind<W, R, S>, "workIn" | "transition">) {
	type Action = WorkAction<W, R>;

	/** Asks archive, or goes on with its answer. */
	function ask<Type extends QuestionType>(
		state: S,
		question: AskAction<Type>,
		of: Asking<W, R> & { goOn(answer: PositiveAnswer<Type>): Action[] },
		now: number,
	): Action[] {
		const work = workIn(state);
		const answer = answerTo(state.answered, question);
		if (answer)
			return answer.ok
				? of.goOn(answer as PositiveAnswer<Type>)
				: refusedByArchive(work, of, answer.error, now);
		const { progress } = state;
		const before = findCondition(work.status?.conditions, "Complete");
		const reason = before?.reason ?? "";
		const isKept = keptUntilChange.has(reason) || reason === of.unavailable;
		if (progress === undefined && isKept) return [question as AskAction];
		const message = `${of.message}${progress === undefined ? "." : `: ${progress}`}`;
		return [
			...transition.progress(work, of.reason, message, of.facts, now),
			question as AskAction,
		];
	}

	/** Archive refuses to do what it was asked, for now or for good. */
	function refusedByArchive(
		work: W,
		{ facts, unavailable, refused }: Asking<W, R>,
		error: JobError,
		now: number,
	): Action[] {
		if (!error.retryable)
			return transition.fail(work, refused, error, {} as StatusFacts<W>, now);
		return [
			...transition.progress(work, unavailable, error.message, facts, now),
			{ type: "requeueAfter", afterMs: retryWaitMs(work, now) },
		];
	}

	return { ask, refusedByArchive };
}

/** How long until archive is asked again: a quarter of the object's age, from 1 s to 1 min. Backoff without memory. */
function retryWaitMs({ metadata }: KubeObject, now: number): number {
	const waitedMs = now - Date.parse(metadata.creationTimestamp ?? "");
	return Math.min(Math.max(waitedMs / 4, 1_000), 60_000);
}
