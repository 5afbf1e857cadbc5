import { isDeepStrictEqual } from "node:util";
import type {
	DeletionAnswer,
	DeletionQuestion,
} from "../../../contracts/deletion.ts";
import type { Source } from "../../../crds/generated/types.ts";
import { finalizer } from "../../../crds/labels.ts";
import { findCondition, setCondition } from "../../../kube/conditions.ts";
import type { CommonAction } from "../../reconcile/actions.ts";
import type { EventReason } from "../../reconcile/event-reasons.ts";
import type { Reason } from "../../reconcile/reasons.ts";
import type { SourceKeys } from "../keys.ts";

/** All that the deletion of one Source rests on. */
export interface DeletionState {
	source: Source;
	/** From the Secret `<source>-webhook-url`; `invalid` if it isn't this Source's or is damaged. */
	keys: SourceKeys | "absent" | "invalid";
	/** Another Source of the namespace has the source key: the Secret was copied, and the events aren't this Source's. */
	hasRival: boolean;
	/** Names of the Runs under way that load the Source's events. */
	runs: string[];
	/** When this process last wrote the Source's status; 0 if it never did. */
	statusWrittenMs: number;
}

export type DeletionAction =
	| CommonAction<Source, EventReason<"Source">>
	/** Then goes on by {@link decideBuried}. */
	| { type: "buryKey"; stored: StoredUnder }
	/** Then goes on by {@link decideAnswered}. */
	| { type: "askArchive"; shard: number; question: DeletionQuestion }
	| { type: "deleteKeys" }
	| { type: "setFinalizers"; finalizers: string[] };

/** What a Source's events are found by. */
export type StoredUnder = Pick<SourceKeys, "sourceKey" | "shard">;

/** Whether the source key is out of use; `foreign` when it is another account's, else why NATS can't be asked. */
export type Burial = "buried" | "foreign" | { trouble: string };

/** A message that changes with the progress is written at most this often. */
const progressIntervalMs = 10_000;

/**
 * The steps in their order, each repeatable: the source key goes out of use, and its URL with it; the Runs that load its
 * events end; archive deletes the events; the Secret and the finalizer go. The Secret goes last, since it says what to
 * delete; should somebody delete it before, as `kubectl delete namespace` does, the status says so as well.
 */
export function decideDeletion(state: DeletionState): DeletionAction[] {
	const { source, keys } = state;
	const { finalizers = [], deletionTimestamp } = source.metadata;
	if (!deletionTimestamp || !finalizers.includes(finalizer)) return [];
	if (source.spec.deletionPolicy !== "Delete") return [letGo(source)];
	const stored = storedUnder(source, keys);
	if (!stored || state.hasRival) return finish(state);
	return [{ type: "buryKey", stored }];
}

export function decideBuried(
	state: DeletionState,
	stored: StoredUnder,
	burial: Burial,
	now: number,
): DeletionAction[] {
	const { source, runs } = state;
	if (burial === "foreign") return finish(state);
	if (burial !== "buried")
		return wait(
			state,
			"DeletionWaitsForRoute",
			`The URL can't be taken from the receivers: ${burial.trouble}. It is tried again.`,
			now,
		);
	const [run] = runs;
	if (run !== undefined)
		return wait(
			state,
			"DeletionWaitsForRun",
			`Run "${run}" loads events of this Source, which are deleted when it has ended. Set its spec.cancel to have that now.`,
			now,
		);
	const { sourceKey, shard } = stored;
	const account = source.metadata.namespace!;
	const before = findCondition(source.status?.conditions, "Ready")?.reason;
	return [
		// What archive said last stays in view until it says something else.
		...(before === "DeletionWaitsForArchive" || before === "DeletingEvents"
			? []
			: say(state, "DeletingEvents", "Archive deletes the events.", now)),
		{ type: "askArchive", shard, question: { account, sourceKey } },
	];
}

export function decideAnswered(
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
				`Archive deletes the events. Those before ${answer.remainsFrom} are gone.`,
				now,
			),
			{ type: "lookAgain", afterMs: 0 },
		];
	return [
		{
			type: "recordEvent",
			severity: "Normal",
			reason: "EventsDeleted",
			message: "None of the Source's events is stored any more.",
		},
		...finish(state),
	];
}

function storedUnder(
	{ status }: Source,
	keys: DeletionState["keys"],
): StoredUnder | undefined {
	if (typeof keys === "object") return keys;
	const { sourceKey, shard } = status ?? {};
	return sourceKey !== undefined && shard !== undefined
		? { sourceKey, shard }
		: undefined;
}

function finish({ source, keys }: DeletionState): DeletionAction[] {
	return [
		...(typeof keys === "object" ? [{ type: "deleteKeys" } as const] : []),
		letGo(source),
	];
}

function letGo({ metadata: { finalizers = [] } }: Source): DeletionAction {
	return {
		type: "setFinalizers",
		finalizers: finalizers.filter((name) => name !== finalizer),
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
		{ type: "lookAgain", afterMs: backoffMs(state.source, now) },
	];
}

/** Longer the longer it has waited, so that many Sources don't press on an archive that is away. */
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
						type: "recordEvent",
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
