import { isDeepStrictEqual } from "node:util";
import type { Source, SourceStatus } from "../../crds/generated/types.ts";
import { annotation, finalizer } from "../../crds/labels.ts";
import type { Notification } from "../../packages/contracts/notification.ts";
import { dayMs } from "../../packages/contracts/utc-date.ts";
import type { ConditionStatus } from "../../packages/kube/conditions.ts";
import { dueNotifications } from "../notification/state.ts";
import type { CommonAction, FinalizerAction } from "../reconcile/actions.ts";
import { remainingGraceMs } from "../reconcile/grace.ts";
import type { KubeEventReason } from "../reconcile/reasons.ts";
import { stopOf } from "./archive-condition.ts";
import { withoutFacts } from "./facts.ts";
import { idleChanges, idleOf } from "./idle.ts";
import { planFindingOf } from "./plan-condition.ts";
import {
	currentFactsOf,
	kubeEventsOf,
	type SourceValidity,
	type SourceVerdict,
	statusOf,
} from "./report.ts";
import {
	type RetentionAction,
	retentionActions,
	withRetentionAnswer,
} from "./retention-condition.ts";
import { authorize, doubtsOf, unprovenOf } from "./routes/authorization.ts";
import { routeOf } from "./routes/decide.ts";
import { tombstone } from "./routes/key-owners.ts";
import {
	keysSecretName,
	type SourceKeys,
	type StoredUnder,
	storedUnder,
} from "./routes/keys.ts";
import type { SourceState } from "./state.ts";

export type SourceAction =
	| FinalizerAction
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
	| RetentionAction
	| CommonAction<Source, KubeEventReason<"Source">>;

export function decide(given: SourceState, now: number): SourceAction[] {
	const { source } = given;
	if (source.metadata.deletionTimestamp) return [];
	const state =
		typeof given.keys === "object"
			? withRetentionAnswer(given, given.keys)
			: given;
	const actions = decideFinalizer(source);
	const rotation = source.metadata.annotations?.[annotation.rotateURL];
	if (state.keys === "absent")
		return [
			...actions,
			{ type: "issueKeys", rotation, stored: storedUnder(source) },
		];

	if (rotation && state.keys !== "invalid" && rotation !== state.keys.rotation)
		return [...actions, { type: "rotateURL", rotation }];

	const validity = validate(state, state.keys, now);
	if (!validity) return actions;
	if (validity.keys) actions.push(...retentionActions(state, validity.keys));
	const readiness = readinessOf(state, validity, now);
	const facts = currentFactsOf(state, validity.keys, now);
	const idle = idleOf(source, facts.lastEventTime, now);
	const { due, kept, retryMs } = dueNotifications(
		source,
		idleChanges(source, idle, now),
		state.notifications,
		now,
	);
	const verdict = { ...validity, readiness, facts, idle, kept };
	const status = statusOf(state, verdict, now);
	const waits = waitsOf(status, source, { ...verdict, retryMs }, now);
	if (isDeepStrictEqual(status, source.status ?? {}))
		return [...actions, ...waits];

	const onlyFactsDiffer = isDeepStrictEqual(
		withoutFacts(status),
		withoutFacts(source.status),
	);
	const waitMs = state.statusWrittenMs + state.statusIntervalMs - now;
	if (onlyFactsDiffer && waitMs > 0)
		return [...actions, { type: "requeueAfter", afterMs: waitMs }];
	return [
		...actions,
		...(due.length > 0 ? [{ type: "notify", due } as const] : []),
		{ type: "writeStatus", status },
		...kubeEventsOf(state, verdict, now),
		...waits,
	];
}

/** Undefined while the route is being published; its change wakes the controller. */
function validate(
	state: SourceState,
	keys: SourceKeys | "invalid",
	now: number,
): SourceValidity | undefined {
	const { source, published, keyOwner } = state;
	const { name, namespace } = source.metadata;
	if (keys === "invalid")
		return {
			reason: "KeysSecretInvalid",
			message: `Secret "${keysSecretName(name)}" was not issued for this Source, or its keys are damaged. Restore the Secret from a backup, or delete it to get a new URL; the events stay with the Source.`,
		};
	if (keyOwner === tombstone)
		return {
			reason: "KeyDeleted",
			message: `The source key in Secret "${keysSecretName(name)}" was deleted together with its Source's events, and is never used again. Delete the Secret to get a new URL.`,
		};
	const contender = published?.account === namespace ? published?.source : name;
	if ((keyOwner !== undefined && keyOwner !== namespace) || contender !== name)
		return {
			reason: "KeyTaken",
			message: `The source key in Secret "${keysSecretName(name)}" belongs to ${contender === name ? "another namespace" : `Source "${contender}"`}. Delete the Secret to get a new URL.`,
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
		return state.publishError === undefined
			? undefined
			: {
					reason: "RouteNotPublished",
					message: `The receivers don't have this Source's current route: ${state.publishError}. Tidemill retries.`,
					keys,
				};
	if (plan && plan.version === undefined)
		return {
			reason: "TrackingPlanUnavailable",
			message: `No version of TrackingPlan "${plan.name}" was ever valid, so senders get 503. ${planFindingOf(state, now)?.message}`,
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
	const stop = stopOf(state, keys);
	if (stop) return { ...stop, keys };
	return {
		reason: "Active",
		message: `The URL in status.webhookURL accepts events.${unprovenOf(source)}${doubtsOf(source, (name) => secrets.get(name))}`,
		keys,
	};
}

/** Unknown while a missing Secret may still arrive. A Source that is suspended on purpose is as it should be (kstatus). */
function readinessOf(
	state: SourceState,
	{ reason }: SourceValidity,
	now: number,
): ConditionStatus {
	const { source } = state;
	if (reason === "Active" || reason === "Suspended") return "True";
	if (reason === "TrackingPlanUnavailable")
		return planFindingOf(state, now)?.status ?? "Unknown";
	return reason === "SecretNotFound" && remainingGraceMs(source, now) > 0
		? "Unknown"
		: "False";
}

/** A missing Secret may still arrive: look again when the grace is over, when the Source is quiet, and when imported events may have passed their retention. */
function waitsOf(
	{ counts }: SourceStatus,
	source: Source,
	{
		reason,
		idle,
		retryMs = 0,
	}: SourceVerdict & { retryMs: number | undefined },
	now: number,
): SourceAction[] {
	const isWaiting =
		reason === "SecretNotFound" || reason === "TrackingPlanUnavailable";
	const waitsMs = [
		...(isWaiting ? [remainingGraceMs(source, now)] : []),
		// A timer misses changes of the clock.
		...(idle && !idle.isIdle
			? [Math.min(idle.idleMs - now, longestWaitMs)]
			: []),
		...(counts?.imported ? [dayMs - (now % dayMs)] : []),
		retryMs,
	].filter((waitMs) => waitMs > 0);
	return waitsMs.length > 0
		? [{ type: "requeueAfter", afterMs: Math.min(...waitsMs) }]
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
