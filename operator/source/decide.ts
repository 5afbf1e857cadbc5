import { isDeepStrictEqual } from "node:util";
import type { Notification } from "../../contracts/notification/order.ts";
import type { RetentionRequest } from "../../contracts/stored/retention.ts";
import { dayMs } from "../../contracts/utc-date.ts";
import type { Source, SourceStatus } from "../../crds/generated/types.ts";
import { annotation, finalizer } from "../../crds/labels.ts";
import {
	type ConditionStatus,
	findCondition,
	setCondition,
} from "../../kube/conditions.ts";
import { withDelivered } from "../notification/condition.ts";
import { dueNotifications, pendingOf } from "../notification/pending.ts";
import type { CommonAction } from "../reconcile/actions.ts";
import { remainingGraceMs } from "../reconcile/grace.ts";
import type { KubeEventReason, Reason } from "../reconcile/reasons.ts";
import { factsOf, withoutFacts } from "./facts.ts";
import { withLosses } from "./losses.ts";
import { planConditionOf, withPlan } from "./plan-condition.ts";
import { newsOf, type Quietness, quietnessOf, withReceiving } from "./quiet.ts";
import { retentionActions, withRetention } from "./retention-condition.ts";
import { buried } from "./routes/key-owners.ts";
import { withBuffer } from "./shards/buffer-condition.ts";
import type { SourceState } from "./state.ts";
import { authorize } from "./webhook/authorization.ts";
import {
	keysSecretName,
	type SourceKeys,
	type StoredUnder,
	storedUnder,
} from "./webhook/keys.ts";
import { routeOf } from "./webhook/route.ts";

export type SourceAction =
	| { type: "setFinalizers"; finalizers: string[] }
	/**
	 * `rotation`: the value of the annotation that the new url key is for. `stored`: the Source had keys before, and its events
	 * stay under that source key.
	 */
	| {
			type: "issueKeys";
			rotation: string | undefined;
			stored: StoredUnder | undefined;
	  }
	/** Replaces the url key. The source key stays, since it names the data. */
	| { type: "rotateURL"; rotation: string }
	/** What isn't taken goes into the status that is written next. */
	| { type: "notify"; due: Notification[] }
	/** To keep events as long as the Source says. */
	| { type: "askRetention"; shard: number; question: RetentionRequest }
	| CommonAction<Source, KubeEventReason<"Source">>;

export function decide(state: SourceState, now: number): SourceAction[] {
	const { source } = state;
	if (source.metadata.deletionTimestamp) return [];
	const actions = decideFinalizer(source);
	const rotation = source.metadata.annotations?.[annotation.rotateURL];
	if (state.keys === "absent")
		return [
			...actions,
			{ type: "issueKeys", rotation, stored: storedUnder(source) },
		];

	if (rotation && state.keys !== "invalid" && rotation !== state.keys.rotation)
		return [...actions, { type: "rotateURL", rotation }];

	const judged = judge(state, state.keys, now);
	if (!judged) return actions;
	if (judged.keys) actions.push(...retentionActions(state, judged.keys));
	const verdict = { ...judged, readiness: readinessOf(state, judged, now) };
	const facts = statusOf(state, verdict, now);
	const quietness = quietnessOf(source, facts.lastEventTime, now);
	const { webhooks } = state.notifications;
	const news = newsOf(source, quietness, now);
	const { due, kept } = dueNotifications(source, news, webhooks, now);
	const status = withNotifications(facts, state, { quietness, kept }, now);
	const waits = [...lookAgainFor(status, source, verdict, quietness, now)];
	if (isDeepStrictEqual(status, source.status ?? {}))
		return [...actions, ...waits];

	const onlyFactsDiffer = isDeepStrictEqual(
		withoutFacts(status),
		withoutFacts(source.status),
	);
	const waitMs = state.statusWrittenMs + state.statusIntervalMs - now;
	if (onlyFactsDiffer && waitMs > 0)
		return [...actions, { type: "lookAgain", afterMs: waitMs }];
	return [
		...actions,
		...(due.length > 0 ? [{ type: "notify", due } as const] : []),
		{ type: "writeStatus", status },
		...kubeEventsOf(state, verdict),
		...waits,
	];
}

interface Judgement {
	reason: Reason<"Source">;
	message: string;
	/** The keys that the status may show; absent if they don't belong to this Source. */
	keys?: SourceKeys;
}

interface Verdict extends Judgement {
	readiness: ConditionStatus;
}

/** Undefined while the route is being published; its change wakes the controller. */
function judge(
	state: SourceState,
	keys: SourceKeys | "invalid",
	now: number,
): Judgement | undefined {
	const { source, published, keyOwner } = state;
	const { name, namespace } = source.metadata;
	if (keys === "invalid")
		return {
			reason: "KeysSecretInvalid",
			message: `Secret "${keysSecretName(name)}" was not issued for this Source, or its keys are damaged. Restore the Secret from a backup, or delete it to get a new URL; the events stay with the Source.`,
		};
	if (keyOwner === buried)
		return {
			reason: "KeyDeleted",
			message: `The source key in Secret "${keysSecretName(name)}" was deleted together with its Source's events, and is never used again. Delete the Secret to get a new URL.`,
		};
	const rival = published?.account === namespace ? published?.source : name;
	if ((keyOwner !== undefined && keyOwner !== namespace) || rival !== name)
		return {
			reason: "KeyTaken",
			message: `The source key in Secret "${keysSecretName(name)}" belongs to ${rival === name ? "another namespace" : `Source "${rival}"`}. Delete the Secret to get a new URL.`,
		};

	const { secrets, sealKey, receiveURL } = state;
	const { authorization, problem } = authorize(source, {
		secretOf: (name) => secrets.get(name),
		sealKey,
		receiveURL,
		sourceKey: keys.sourceKey,
	});
	if (problem) return { ...problem, keys };
	const { plan } = state;
	if (!isDeepStrictEqual(published, routeOf(source, keys, authorization, plan)))
		return state.publishTrouble === undefined
			? undefined
			: {
					reason: "RouteNotPublished",
					message: `The receivers don't have this Source's current route: ${state.publishTrouble}. Tidemill retries.`,
					keys,
				};
	if (plan && plan.version === undefined)
		return {
			reason: "TrackingPlanUnavailable",
			message: `No version of TrackingPlan "${plan.name}" was ever valid, so senders get 503. ${planConditionOf(state, now).message}`,
			keys,
		};
	// Receive asks for this before it looks for the shard.
	if (source.spec.suspend)
		return {
			reason: "Suspended",
			message: "Senders get 403 until spec.suspend is false.",
			keys,
		};
	const { shards } = state;
	if (keys.shard >= shards)
		return {
			reason: "ShardMissing",
			message: `Senders get 503: the Source's events belong to shard ${keys.shard}, and there are only ${shards} shards. An administrator sets the chart value "shards" to ${keys.shard + 1} or more.`,
			keys,
		};
	return {
		reason: "Active",
		message: "The URL in status.webhookURL accepts events.",
		keys,
	};
}

/** Unknown while a missing Secret may still arrive. A Source that is suspended on purpose is as it should be (kstatus). */
function readinessOf(
	state: SourceState,
	{ reason }: Judgement,
	now: number,
): ConditionStatus {
	const { source } = state;
	if (reason === "Active" || reason === "Suspended") return "True";
	if (reason === "TrackingPlanUnavailable")
		return planConditionOf(state, now).status;
	return reason === "SecretNotFound" && remainingGraceMs(source, now) > 0
		? "Unknown"
		: "False";
}

const phases = { True: "Active", False: "Error", Unknown: "Pending" } as const;

function statusOf(
	state: SourceState,
	{ reason, message, keys, readiness }: Verdict,
	now: number,
): SourceStatus {
	const { source, ledger, released, shard, receiveURL } = state;
	const { kept, retention } = state;
	const stored = keys ?? stillStoredUnder(state);
	const observedGeneration = source.metadata.generation ?? 0;
	const status = {
		observedGeneration,
		phase: reason === "Suspended" ? reason : phases[readiness],
		...(keys && {
			webhookURL: `${receiveURL}/hooks/${keys.sourceKey}/${keys.urlKey}`,
		}),
		...(stored && { sourceKey: stored.sourceKey, shard: stored.shard }),
		...factsOf(
			source.status,
			{
				ledger: keys && ledger,
				released: keys && released,
				retention,
				kept: keys && kept,
			},
			stored?.sourceKey,
			now,
		),
		conditions: withLosses(
			withRetention(
				state,
				keys,
				withPlan(
					state,
					setCondition(
						source.status?.conditions,
						{
							type: "Ready",
							status: readiness,
							reason,
							message,
							observedGeneration,
						},
						now,
					),
					now,
				),
				now,
			),
			shard,
			observedGeneration,
			now,
		),
	};
	return {
		...status,
		conditions: withBuffer(
			status.conditions,
			{
				shard: stored?.shard,
				isFilling: state.isBufferFilling,
				isElsewhereRoom: state.isElsewhereRoom,
			},
			observedGeneration,
			now,
		),
	};
}

/** Without usable keys, the Source's events stay under the earlier source key, unless that very key was refused. */
function stillStoredUnder({
	source,
	keys,
}: SourceState): StoredUnder | undefined {
	const stored = storedUnder(source);
	const refused = typeof keys === "object" ? keys.sourceKey : undefined;
	return stored?.sourceKey === refused ? undefined : stored;
}

function kubeEventsOf(
	{ source, keysAdopted }: SourceState,
	{ reason, message, readiness }: Verdict,
): SourceAction[] {
	const before = findCondition(source.status?.conditions, "Ready");
	if (before?.reason === reason && before.status === readiness) return [];
	const calm = readiness !== "False";
	return [
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

/** The status with what the Source's webhooks are told, and how that goes. */
function withNotifications(
	status: SourceStatus,
	{ source, notifications }: SourceState,
	{
		quietness,
		kept,
	}: { quietness: Quietness | undefined; kept: Notification[] },
	now: number,
): SourceStatus {
	const conditions = withDelivered(
		withReceiving(status.conditions ?? [], source, quietness, now),
		notifications,
		pendingOf(source.status),
		status.observedGeneration ?? 0,
		now,
	);
	return {
		...status,
		...(kept.length > 0 && { pendingNotifications: kept }),
		conditions,
	};
}

/** A missing Secret may still arrive: look again when the grace is over, when the Source is quiet, and when imported events may have passed their retention. */
function lookAgainFor(
	{ counts }: SourceStatus,
	source: Source,
	{ reason }: Verdict,
	quietness: Quietness | undefined,
	now: number,
): SourceAction[] {
	const isWaiting =
		reason === "SecretNotFound" || reason === "TrackingPlanUnavailable";
	const waitsMs = [
		...(isWaiting ? [remainingGraceMs(source, now)] : []),
		// A timer misses changes of the clock.
		...(quietness && !quietness.isQuiet
			? [Math.min(quietness.quietMs - now, longestWaitMs)]
			: []),
		...(counts?.imported ? [dayMs - (now % dayMs)] : []),
	].filter((waitMs) => waitMs > 0);
	return waitsMs.length > 0
		? [{ type: "lookAgain", afterMs: Math.min(...waitsMs) }]
		: [];
}

const longestWaitMs = 5 * 60_000;

/** Only `deletionPolicy: Delete` makes a deletion wait, for archive. */
function decideFinalizer(source: Source): SourceAction[] {
	const finalizers = source.metadata.finalizers ?? [];
	const wanted = source.spec.deletionPolicy === "Delete";
	if (finalizers.includes(finalizer) === wanted) return [];
	const others = finalizers.filter((name) => name !== finalizer);
	return [
		{
			type: "setFinalizers",
			finalizers: wanted ? [...others, finalizer] : others,
		},
	];
}
