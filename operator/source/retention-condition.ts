import {
	forever,
	isLonger,
	keptFrom,
	retainedDays,
} from "../../packages/contracts/retention.ts";
import { type UtcDate, utcDate } from "../../packages/contracts/utc-date.ts";
import { findCondition } from "../../packages/kube/conditions.ts";
import { type AskAction, answerTo } from "../reconcile/questions.ts";
import type { FindingOf } from "../reconcile/reasons.ts";
import { type SourceKeys, shardsIn } from "./routes/keys.ts";
import type { SourceState } from "./state.ts";

/** Archive is asked again after this time. */
const retryMs = 60_000;

export type RetentionAction =
	| AskAction<"askRetention">
	| { type: "requeueAfter"; afterMs: number };

/** The state, in which what archive said counts, if that was about what the Source says now. */
export function withRetentionAnswer(
	state: SourceState,
	keys: SourceKeys,
): SourceState {
	const answer = answerTo(state.retentionAnswered, questionOf(state, keys));
	if (!answer) return state;
	return answer.ok
		? { ...state, kept: answer.retention }
		: { ...state, retentionError: answer.error.message };
}

function questionOf(
	state: SourceState,
	keys: SourceKeys,
): AskAction<"askRetention"> {
	const account = state.source.metadata.namespace!;
	const { shard, sourceKey } = keys;
	const days = wantedDays(state);
	const question = { account, sourceKey, ...shardsIn(keys), days };
	return { type: "askRetention", shard, question };
}

/** Asks archive to keep the Source's events as long as it says, unless archive does or the operator doesn't allow it. */
export function retentionActions(
	state: SourceState,
	keys: SourceKeys,
): RetentionAction[] {
	if (isHeld(state) || !isAllowed(state, wantedDays(state))) return [];
	return state.retentionError === undefined
		? [questionOf(state, keys)]
		: [{ type: "requeueAfter", afterMs: retryMs }];
}

/**
 * The condition RetentionCurrent stands for a Source that says how long its events stay, or said it before.
 * @param keys Undefined if they don't belong to the Source: then what archive says of them doesn't, either.
 */
export function retentionFindingOf(
	state: SourceState,
	keys: SourceKeys | undefined,
	now: number,
): Finding | undefined {
	const { source, kept } = state;
	const wasUsual = keys
		? (kept?.days ?? retainedDays) === retainedDays
		: findCondition(source.status?.conditions, "RetentionCurrent") ===
			undefined;
	if (wantedDays(state) === retainedDays && wasUsual) return undefined;
	return keys ? findingOf(state, utcDate(now)) : withoutKeys;
}

type Finding = FindingOf<"Source", "RetentionCurrent">;

const withoutKeys: Finding = {
	status: "Unknown",
	reason: "RetentionPending",
	message:
		"Archive isn't asked how long events stay, because the Source's keys can't be used: see the condition Ready. What it was asked before holds.",
};

function findingOf(state: SourceState, today: UtcDate): Finding {
	const { kept, maxRetentionDays, source, retentionError } = state;
	const wanted = wantedDays(state);
	const days = kept?.days ?? retainedDays;
	const holds = `Events stay ${daysText(days)}.`;
	if (!isAllowed(state, wanted))
		return {
			status: "False",
			reason: "InvalidRetention",
			message: `spec.retentionDays is ${wanted}, and the operator's setting MAX_RETENTION_DAYS allows ${maxRetentionDays} at most. ${holds}`,
		};
	if (!isHeld(state)) {
		const before = findCondition(source.status?.conditions, "RetentionCurrent");
		const lastError =
			retentionError ??
			kept?.problem ??
			// It stays until there is something newer.
			(before?.reason === "RetentionUnavailable" &&
			before.observedGeneration === source.metadata.generation
				? before.message
				: undefined);
		return lastError !== undefined
			? { status: "False", reason: "RetentionUnavailable", message: lastError }
			: {
					status: "Unknown",
					reason: "RetentionPending",
					message: `Archive is being asked to keep events ${daysText(wanted)}. ${holds}`,
				};
	}
	if (kept?.next)
		return {
			status: "True",
			reason: "RetentionLowered",
			message: `Events stay ${daysText(days)} until ${kept.next.date}, and ${daysText(kept.next.days)} from then on. Set spec.retentionDays back before that to keep them.`,
		};
	return {
		status: "True",
		reason: "Current",
		message:
			kept && kept.from > keptFrom({ days }, today)
				? `${holds} Those from before ${kept.from} were deleted earlier.`
				: holds,
	};
}

/** The CRD has a default. A Source from before the field has none. */
function wantedDays({ source }: SourceState): number {
	return source.spec.retentionDays ?? retainedDays;
}

/** Whether archive does what the Source says, or will. */
function isHeld(state: SourceState): boolean {
	const { kept } = state;
	const coming = kept?.next?.days ?? kept?.days ?? retainedDays;
	return coming === wantedDays(state) && kept?.problem === undefined;
}

function isAllowed({ maxRetentionDays }: SourceState, wanted: number): boolean {
	return !isLonger(wanted, maxRetentionDays);
}

function daysText(days: number): string {
	return days === forever ? "for ever" : `for ${days} days after their date`;
}
