import { isDeepStrictEqual } from "node:util";
import type { Source } from "../../../crds/generated/types.ts";
import { finalizer } from "../../../crds/labels.ts";
import type { DeletionAnswer } from "../../../packages/contracts/archive.ts";
import {
	findCondition,
	setCondition,
} from "../../../packages/kube/conditions.ts";
import type { CommonAction, FinalizerAction } from "../../reconcile/actions.ts";
import { type AskAction, answerTo } from "../../reconcile/questions.ts";
import type { KubeEventReason, Reason } from "../../reconcile/reasons.ts";
import {
	heldUnder,
	type StoredUnder,
	shardsIn,
	storedUnder,
} from "../routes/keys.ts";
import type { DeletionState } from "./state.ts";

export type DeletionAction =
	| CommonAction<Source, KubeEventReason<"Source">>
	/** Takes the source key out of use; {@link DeletionState.tombstone} has what came of it. */
	| { type: "putTombstone"; stored: StoredUnder }
	/** {@link DeletionState.answered} has what archive says. */
	| AskAction<"askDeletion">
	| { type: "deleteKeys" }
	| FinalizerAction;

/** The status follows archive's progress at most this often. */
const progressIntervalMs = 10_000;

/**
 * The steps of a deletion, each repeatable: the source key and its URL go out of use; the Runs that load its events end;
 * archive deletes the events; the Secret and the finalizer go. The Secret goes last, since it says what to delete. If
 * somebody deletes it earlier, as `kubectl delete namespace` does, the status says the same.
 */
export function decide(state: DeletionState, now: number): DeletionAction[] {
	const { source, keys, tombstone } = state;
	const { finalizers, deletionTimestamp } = source.metadata;
	if (!deletionTimestamp || !finalizers?.includes(finalizer)) return [];
	if (source.spec.deletionPolicy !== "Delete") return [letGo(source)];
	const stored =
		typeof keys === "object" ? heldUnder(source, keys) : storedUnder(source);
	if (!stored || state.hasContender || tombstone === "foreign")
		return finish(state);
	if (!tombstone) return [{ type: "putTombstone", stored }];
	if (tombstone !== "put")
		return wait(
			state,
			"DeletionWaitsForRoute",
			`The receivers can't be made to stop serving the URL: ${tombstone.lastError}. Tidemill retries.`,
			now,
		);
	const [run] = state.runs;
	if (run !== undefined)
		return wait(
			state,
			"DeletionWaitsForRun",
			`Run "${run}" is loading events of this Source. They are deleted when the Run ends. To end it now, set its spec.cancel.`,
			now,
		);
	const { sourceKey } = stored;
	// Every archive deletes what is in the bucket. People may write the Secret, and nobody answers for a shard that isn't there.
	const shard = stored.shard < state.shards ? stored.shard : 0;
	const account = source.metadata.namespace!;
	const question = { account, sourceKey, ...shardsIn(stored, state.shards) };
	const asked: DeletionAction = { type: "askDeletion", shard, question };
	const answer = answerTo(state.answered, asked);
	return answer
		? decideAnswered(state, answer, now)
		: [...untilAnswered(state, now), asked];
}

/** Archive's last answer stays in the status until there is another one. */
function untilAnswered(state: DeletionState, now: number): DeletionAction[] {
	const { conditions } = state.source.status ?? {};
	const before = findCondition(conditions, "Ready")?.reason;
	return before === "DeletionWaitsForArchive" || before === "DeletingEvents"
		? []
		: say(state, "DeletingEvents", "Archive is deleting the events.", now);
}

function decideAnswered(
	state: DeletionState,
	answer: DeletionAnswer,
	now: number,
): DeletionAction[] {
	if (!answer.ok)
		return wait(state, "DeletionWaitsForArchive", answer.error.message, now);
	if (!answer.isDone)
		return [
			...say(
				state,
				"DeletingEvents",
				`Archive is deleting the events. Those before ${answer.remainsFrom} are gone.`,
				now,
			),
			{ type: "requeueAfter", afterMs: 0 },
		];
	return [
		{
			type: "recordKubeEvent",
			severity: "Normal",
			reason: "EventsDeleted",
			message: "All stored events of the Source are deleted.",
		},
		...finish(state),
	];
}

function finish({ source, keys }: DeletionState): DeletionAction[] {
	return [
		...(typeof keys === "object" ? [{ type: "deleteKeys" } as const] : []),
		letGo(source),
	];
}

function letGo({ metadata }: Source): DeletionAction {
	return {
		type: "setFinalizers",
		finalizers: metadata.finalizers!.filter((name) => name !== finalizer),
	};
}

type DeletionReason = Extract<
	Reason<"Source">,
	"DeletingEvents" | `DeletionWaitsFor${string}`
>;

function wait(
	state: DeletionState,
	reason: DeletionReason,
	message: string,
	now: number,
): DeletionAction[] {
	return [
		...say(state, reason, message, now),
		{ type: "requeueAfter", afterMs: backoffMs(state.source, now) },
	];
}

/** Grows with the time since the deletion, so that many Sources don't overload an archive that is back. */
function backoffMs({ metadata }: Source, now: number): number {
	const waitedMs = now - Date.parse(metadata.deletionTimestamp!);
	return Math.min(60_000, Math.max(2_000, waitedMs / 8));
}

function say(
	{ source, statusWrittenMs }: DeletionState,
	reason: DeletionReason,
	message: string,
	now: number,
): DeletionAction[] {
	const { status = {}, metadata } = source;
	const before = findCondition(status.conditions, "Ready");
	const isNew = before?.reason !== reason;
	if (!isNew && now - statusWrittenMs < progressIntervalMs) return [];
	const observedGeneration = metadata.generation ?? 0;
	const next = {
		...status,
		observedGeneration,
		phase: "Deleting" as const,
		conditions: setCondition(
			status.conditions,
			{ type: "Ready", status: "False", reason, message, observedGeneration },
			now,
		),
	};
	if (isDeepStrictEqual(next, status)) return [];
	return [
		{ type: "writeStatus", status: next },
		...(isNew
			? [
					{
						type: "recordKubeEvent",
						severity:
							reason === "DeletionWaitsForArchive" ||
							reason === "DeletionWaitsForRoute"
								? "Warning"
								: "Normal",
						reason,
						message,
					} as const,
				]
			: []),
	];
}
