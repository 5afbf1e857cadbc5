import type { Source, SourceStatus } from "../../crds/generated/types.ts";
import type {
	LostByDate,
	ShardState,
} from "../../packages/contracts/ledger.ts";
import type { Notification } from "../../packages/contracts/notification.ts";
import { keptFrom } from "../../packages/contracts/retention.ts";
import { utcDate } from "../../packages/contracts/utc-date.ts";
import {
	type ConditionStatus,
	findCondition,
	setConditions,
} from "../../packages/kube/conditions.ts";
import { deliveryFindingOf, pendingOf } from "../notification/state.ts";
import type { ReportAction } from "../reconcile/actions.ts";
import type {
	FindingsOf,
	KubeEventReason,
	Reason,
} from "../reconcile/reasons.ts";
import { lagFindingOf } from "./archive-condition.ts";
import { factsOf, type LedgerFacts } from "./facts.ts";
import { receivingFindingOf, type SourceIdleness } from "./idle.ts";
import { planFindingOf } from "./plan-condition.ts";
import { retentionFindingOf } from "./retention-condition.ts";
import {
	keysSecretName,
	type SourceKeys,
	type StoredUnder,
	storedUnder,
} from "./routes/keys.ts";
import type { SourceState } from "./state.ts";

/** Whether senders reach the Source. */
export interface SourceValidity {
	reason: Reason<"Source">;
	message: string;
	/** The keys that the status may show; absent if they don't belong to this Source. */
	keys?: SourceKeys;
}

/** What was decided about a Source. */
export interface SourceVerdict extends SourceValidity {
	readiness: ConditionStatus;
	facts: LedgerFacts;
	idle: SourceIdleness | undefined;
	/** Notifications that wait until NATS takes them. */
	kept: Notification[];
}

/** @param keys Undefined if they don't belong to the Source: then what archive has under them doesn't, either. */
export function currentFactsOf(
	state: SourceState,
	keys: SourceKeys | undefined,
	now: number,
): LedgerFacts {
	const { ledger, released, kept, retention } = state;
	return factsOf(
		state.source.status,
		{
			ledger: keys && ledger,
			released: keys && released,
			retention,
			kept: keys && kept,
		},
		storedKeysOf(state, keys)?.sourceKey,
		now,
	);
}

const phases = { True: "Active", False: "Error", Unknown: "Pending" } as const;

export function statusOf(
	state: SourceState,
	verdict: SourceVerdict,
	now: number,
): SourceStatus {
	const { source, shardStates, receiveURL } = state;
	const { reason, message, keys, readiness, facts, idle, kept } = verdict;
	const before = source.status;
	const stored = storedKeysOf(state, keys);
	const observedGeneration = source.metadata.generation ?? 0;
	const conditions: FindingsOf<"Source"> = {
		Ready: { status: readiness, reason, message },
		PlanCurrent: planFindingOf(state, now),
		RetentionCurrent: retentionFindingOf(state, keys, now),
		EventsLost: isLossUnread(state)
			? "as before"
			: lossesFindingOf(shardStates, lostOf(state, keys, now)),
		ArchiveLags: lagFindingOf(state.laggingShards, shardStates),
		BufferFills: bufferFindingOf(
			stored?.shard,
			state.isBufferFilling,
			state.isElsewhereRoom,
		),
		Receiving: receivingFindingOf(source, idle),
		NotificationsDelivered: deliveryFindingOf(
			state.notifications,
			pendingOf(before),
		),
	};
	return {
		observedGeneration,
		phase: reason === "Suspended" ? reason : phases[readiness],
		...(keys && {
			webhookURL: `${receiveURL}/hooks/${keys.sourceKey}/${keys.urlKey}`,
		}),
		...(stored && { sourceKey: stored.sourceKey, shard: stored.shard }),
		...(stored && stored.shards.length > 1 && { shards: stored.shards }),
		...facts,
		...(kept.length > 0 && { pendingNotifications: kept }),
		conditions: setConditions(
			before?.conditions,
			conditions,
			observedGeneration,
			now,
		),
	};
}

/** Without usable keys, the Source's events stay under the earlier source key, unless that very key was refused. */
function storedKeysOf(
	{ source, keys: found }: SourceState,
	keys: SourceKeys | undefined,
): StoredUnder | undefined {
	if (keys) return keys;
	const stored = storedUnder(source);
	const refused = typeof found === "object" ? found.sourceKey : undefined;
	return stored?.sourceKey === refused ? undefined : stored;
}

/** What is new about a Source. */
export function kubeEventsOf(
	state: SourceState,
	{ reason, message, readiness, keys }: SourceVerdict,
	now: number,
): ReportAction<Source, KubeEventReason<"Source">>[] {
	const { source, keysAdopted } = state;
	const news = [
		...(keys ? moveOf(source, keys) : []),
		...lossEventsOf(state, keys, now),
	];
	const before = findCondition(source.status?.conditions, "Ready");
	if (before?.reason === reason && before.status === readiness) return news;
	const calm = readiness !== "False";
	return [
		...news,
		...(before === undefined && keysAdopted
			? [
					{
						type: "recordKubeEvent",
						severity: "Normal",
						reason: "URLAdopted",
						message: `Secret "${keysSecretName(source.metadata.name)}" already exists, so the Source has its earlier URL.`,
					} as const,
				]
			: []),
		{
			type: "recordKubeEvent",
			severity: calm ? "Normal" : "Warning",
			reason,
			message,
		},
	];
}

function moveOf(
	{ status }: Source,
	{ sourceKey, shard, shards }: SourceKeys,
): ReportAction<Source, "Moved">[] {
	const { shard: former } = status ?? {};
	if (former === undefined || former === shard) return [];
	if (status?.sourceKey !== sourceKey) return [];
	const message = `New events go to shard ${shard}, no longer to shard ${former}. Earlier ones stay where they are: in shards ${shards.join(" and ")}.`;
	return [
		{ type: "recordKubeEvent", severity: "Normal", reason: "Moved", message },
	];
}

/**
 * The condition EventsLost stands as long as the lost days could be loaded, as archive remembers them.
 * @param lost from the bucket, by a person's word.
 */
export function lossesFindingOf(
	shards: readonly ShardState[],
	lost: LostByDate = {},
): FindingsOf<"Source">["EventsLost"] {
	const accepted = acceptedWords(lost);
	if (shards.length === 0 && accepted === undefined) return "as before";
	const frames = shards.flatMap(({ shard, lostFrames }) => {
		const days = Object.entries(lostFrames)
			.sort()
			.map(([date, frames]) => `${frames} on ${date}`);
		return days.length > 0
			? [`of shard ${shard}, which this Source shares: ${days.join(", ")}`]
			: [];
	});
	const unknown = shards.flatMap(({ shard, unknownSince }) =>
		unknownSince
			? [`of shard ${shard}, which this Source shares, since ${unknownSince}`]
			: [],
	);
	if (frames.length + unknown.length === 0) {
		if (accepted !== undefined)
			return { status: "True", reason: "LossAccepted", message: accepted };
		// Archive may have stopped before it told a new NATS what was lost.
		return shards.some(({ stopped }) => stopped) ? "as before" : undefined;
	}
	const told = [
		frames.length > 0 &&
			`NATS acknowledged and lost frames ${frames.join("; ")}.`,
		unknown.length > 0 &&
			`A stream in NATS is gone, and it is unknown how many frames were lost ${unknown.join("; ")}.`,
		"Events of this Source may be among them. Archive goes on without them; its log says which they are.",
		accepted,
	];
	return {
		status: "True",
		reason: frames.length > 0 ? "FramesLost" : "LossUnknown",
		message: told.filter(Boolean).join(" "),
	};
}

const mostDatesNamed = 10;

function acceptedWords(lost: LostByDate): string | undefined {
	const dates = Object.entries(lost).sort();
	if (dates.length === 0) return undefined;
	const named = dates
		.slice(-mostDatesNamed)
		.map(([date, { events, objects }]) => {
			const of = `${objects} ${objects === 1 ? "object" : "objects"}`;
			return `${events} of ${date} in ${of}`;
		});
	const more = dates.length - named.length;
	return `Events are gone from the bucket for good, which an administrator has accepted: ${named.join(", ")}${more > 0 ? ` and of ${more} earlier dates` : ""}. Runs leave them out.`;
}

/** What a person has accepted to be lost of the dates that Runs may load. */
function lostOf(
	{ released, kept }: SourceState,
	keys: SourceKeys | undefined,
	now: number,
): LostByDate {
	const lost = (keys && released?.lost) ?? {};
	const from = keptFrom(kept, utcDate(now));
	return Object.fromEntries(
		Object.entries(lost).filter(([date]) => date >= from),
	);
}

/** A new leader, or a new NATS, doesn't know yet what the status says. */
function isLossUnread({ source, released }: SourceState): boolean {
	const before = findCondition(source.status?.conditions, "EventsLost");
	return released === undefined && before?.reason === "LossAccepted";
}

/** Archive told of a loss that the Source's status doesn't have yet. */
function lossEventsOf(
	state: SourceState,
	keys: SourceKeys | undefined,
	now: number,
): ReportAction<Source, "LossAccepted">[] {
	const message = acceptedWords(lostOf(state, keys, now));
	const before = findCondition(state.source.status?.conditions, "EventsLost");
	if (message === undefined || before?.message.includes(message)) return [];
	return [
		{
			type: "recordKubeEvent",
			severity: "Warning",
			reason: "LossAccepted",
			message,
		},
	];
}

/**
 * The condition BufferFills stands while the buffer of the Source's shard fills, so that its people know before senders do.
 * It stays as it is while nobody knows how full the buffer is.
 */
export function bufferFindingOf(
	shard: number | undefined,
	isBufferFilling: boolean | undefined,
	isElsewhereRoom: boolean,
): FindingsOf<"Source">["BufferFills"] {
	if (isBufferFilling === undefined) return "as before";
	if (!isBufferFilling || shard === undefined) return undefined;
	const advice = isElsewhereRoom
		? 'New Sources go to other shards; with a higher chart value "shards" there are more.'
		: 'With a higher chart value "shards", new Sources go to a shard that has room.';
	return {
		status: "True",
		reason: "ArchiveIsBehind",
		message: `The buffer of shard ${shard}, which this Source shares, is more than 60% full. Once it is full, senders get 503 until archive catches up. Administrators: see the alert TidemillBufferFills. ${advice}`,
	};
}
