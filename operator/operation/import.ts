import type {
	Operation,
	OperationStatusImport,
} from "../../crds/generated/types.ts";
import type { ImportAnswer } from "../../packages/contracts/transfer.ts";
import { rfc3339 } from "../../packages/kube/timestamps.ts";
import { answerTo } from "../jobs/archive-answers.ts";
import { retryWaitMs } from "../jobs/decide.ts";
import { storedUnder } from "../source/routes/keys.ts";
import { type OperationAction, transition } from "./action.ts";
import type { OperationState } from "./state.ts";

/** As many as the CRD takes. */
const maxDates = 400;

/** The Job has left its parts, which the status says: archive adds them, each once, however often it is asked. */
export function decideImport(
	{ operation, source, progress, answered }: OperationState,
	{ parts = 0, ...left }: OperationStatusImport,
	now: number,
): OperationAction[] {
	const { metadata, status } = operation;
	if (parts === 0)
		return succeed(operation, { ...left, parts, dates: [] }, now);
	const stored = source && storedUnder(source);
	if (!stored)
		return transition.progress(
			operation,
			"SourceNotFound",
			`There is no Source "${operation.spec.sourceRef.name}" with a source key in this namespace.`,
			{ phase: "Running" },
			now,
		);
	const ask = {
		type: "askImport",
		shard: stored.shard,
		question: {
			operation: metadata.uid!,
			account: metadata.namespace!,
			sourceKey: status?.sourceKey ?? stored.sourceKey,
			parts,
		},
	} as const;
	const answer = answerTo<"askImport">(answered, ask);
	if (answer) return decideImported(operation, answer, now);
	const said = progress === undefined ? "" : `: ${progress}`;
	return [
		...transition.progress(
			operation,
			"Working",
			`Archive is adding the events${said}.`,
			{ phase: "Running", import: { ...left, parts } },
			now,
		),
		ask,
	];
}

/** Archive has answered about an Import. */
export function decideImported(
	operation: Operation,
	answer: ImportAnswer,
	now: number,
): OperationAction[] {
	const { import: left } = operation.status ?? {};
	if (answer.ok) {
		const dates = answer.dates.slice(-maxDates);
		return succeed(operation, { ...left!, dates }, now);
	}
	const { error } = answer;
	if (!error.retryable)
		return transition.fail(operation, "ImportRefused", error, {}, now);
	return [
		...transition.progress(
			operation,
			"ImportUnavailable",
			error.message,
			{ phase: "Running" },
			now,
		),
		{ type: "lookAgain", afterMs: retryWaitMs(operation, now) },
	];
}

function succeed(
	operation: Operation,
	done: OperationStatusImport,
	now: number,
): OperationAction[] {
	const { events, duplicates, invalidRows } = done;
	const others = [
		...(duplicates > 0 ? [`${duplicates} stored already`] : []),
		...(invalidRows > 0 ? [`${invalidRows} invalid rows left out`] : []),
	];
	const summary = [
		`${events} ${events === 1 ? "event" : "events"} added`,
		...others,
	].join(", ");
	const completionTime = rfc3339(now);
	return transition.succeed(
		operation,
		summary,
		{ completionTime, import: done, summary },
		now,
	);
}
