import {
	forever,
	isLonger,
	keptFrom,
	type RetentionRequest,
	retainedDays,
} from "../../packages/contracts/retention.ts";
import { type UtcDate, utcDate } from "../../packages/contracts/utc-date.ts";
import { findCondition } from "../../packages/kube/conditions.ts";
import type { FindingOf } from "../reconcile/reasons.ts";
import type { SourceKeys } from "./routes/keys.ts";
import type { SourceState } from "./state.ts";

/** Archive is asked again after this time. */
const retryMs = 60_000;

type RetentionAction =
	| { type: "askRetention"; shard: number; question: RetentionRequest }
	| { type: "lookAgain"; afterMs: number };

/** Asks archive to keep the Source's events as long as it says, unless archive does or the operator doesn't allow it. */
export function retentionActions(
	state: SourceState,
	{ shard, sourceKey }: SourceKeys,
): RetentionAction[] {
	const wanted = wantedDays(state);
	if (isHeld(state) || !isAllowed(state, wanted)) return [];
	if (state.retentionTrouble !== undefined)
		return [{ type: "lookAgain", afterMs: retryMs }];
	const account = state.source.metadata.namespace!;
	const question = { account, sourceKey, days: wanted };
	return [{ type: "askRetention", shard, question }];
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
	const { kept, maxRetentionDays, source, retentionTrouble } = state;
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
		const trouble =
			retentionTrouble ??
			kept?.problem ??
			// It stays until there is something newer.
			(before?.reason === "RetentionUnavailable" &&
			before.observedGeneration === source.metadata.generation
				? before.message
				: undefined);
		return trouble !== undefined
			? { status: "False", reason: "RetentionUnavailable", message: trouble }
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
