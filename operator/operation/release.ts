import type { Operation } from "../../crds/generated/types.ts";
import type { ReleaseAnswer } from "../../packages/contracts/archive.ts";
import { rfc3339 } from "../../packages/kube/timestamps.ts";
import { answerTo } from "../jobs/archive-answers.ts";
import { retryWaitMs } from "../jobs/decide.ts";
import type { StoredUnder } from "../source/routes/keys.ts";
import { type OperationAction, transition } from "./action.ts";
import { keptDays } from "./days.ts";
import type { OperationState } from "./state.ts";
import { eventFilter } from "./work.ts";

/** As many as the CRD takes. */
const maxDates = 400;

/** Archive releases what matches, date by date, and each event once, however often it is asked. */
export function decideRelease(
	{ operation, source, progress, answered }: OperationState,
	{ shard, sourceKey }: StoredUnder,
	now: number,
): OperationAction[] {
	const { metadata, spec, status } = operation;
	const ask = {
		type: "askRelease",
		shard,
		question: {
			operation: metadata.uid!,
			account: metadata.namespace!,
			sourceKey,
			...(spec.dates ?? keptDays(source, now)),
			filter: eventFilter(spec.filter),
		},
	} as const;
	const answer = answerTo<"askRelease">(answered, ask);
	if (answer) return decideReleased(operation, answer, now);
	const said = progress === undefined ? "" : `: ${progress}`;
	return [
		...transition.progress(
			operation,
			"Working",
			`Archive is releasing events${said}.`,
			{ phase: "Running", startTime: status?.startTime ?? rfc3339(now) },
			now,
		),
		ask,
	];
}

/** Archive has answered about a Release. */
export function decideReleased(
	operation: Operation,
	answer: ReleaseAnswer,
	now: number,
): OperationAction[] {
	if (answer.ok) {
		const events = answer.dates.reduce((sum, each) => sum + each.events, 0);
		const of = answer.dates.length === 1 ? "date" : "dates";
		const summary = `${events} ${events === 1 ? "event" : "events"} of ${answer.dates.length} ${of} released`;
		return transition.succeed(
			operation,
			summary,
			{
				completionTime: rfc3339(now),
				release: { events, dates: answer.dates.slice(-maxDates) },
				summary,
			},
			now,
		);
	}
	const { error } = answer;
	if (!error.retryable)
		return transition.fail(operation, "ReleaseRefused", error, {}, now);
	return [
		...transition.progress(
			operation,
			"ReleaseUnavailable",
			error.message,
			{ phase: "Running" },
			now,
		),
		{ type: "lookAgain", afterMs: retryWaitMs(operation, now) },
	];
}
