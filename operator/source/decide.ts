import { isDeepStrictEqual } from "node:util";
import type { RetentionState, SourceLedger } from "../../contracts/ledger.ts";
import type { Route } from "../../contracts/route.ts";
import type { UtcDate } from "../../contracts/utc-date.ts";
import type { Source, SourceStatus } from "../../crds/generated/types.ts";
import { annotation, finalizer } from "../../crds/labels.ts";
import {
	type ConditionStatus,
	findCondition,
	setCondition,
} from "../../kube/conditions.ts";
import type { Secret } from "../../kube/kinds.ts";
import type { SealKey } from "../../service/seal-key.ts";
import type { CommonAction } from "../reconcile/actions.ts";
import type { EventReason } from "../reconcile/event-reasons.ts";
import { settlingMs } from "../reconcile/grace.ts";
import type { Reason } from "../reconcile/reasons.ts";
import { authorize } from "./authorization.ts";
import { keysSecretName, type SourceKeys } from "./keys.ts";
import { routeOf } from "./routes/route.ts";
import { buried } from "./routes/table.ts";

/** All that a decision about one Source rests on. */
export interface SourceState {
	source: Source;
	/** From the Secret `<source>-webhook-url`; `invalid` if it isn't this Source's or is damaged. */
	keys: SourceKeys | "absent" | "invalid";
	/** Whether the keys are older than the Source: it was deleted and made again, or restored. */
	keysAdopted: boolean;
	/** The Secrets that the authorization refers to, by name, labelled or not. */
	secrets: ReadonlyMap<string, Secret>;
	/** What signing secrets are sealed with. */
	sealKey: SealKey | undefined;
	/** What receivers have for the source key. */
	published: Route | undefined;
	/** The account that has the source key, or {@link buried}. */
	claimant: string | undefined;
	/** Why routes can't be published at the moment. */
	publishTrouble: string | undefined;
	ledger: SourceLedger | undefined;
	retention: RetentionState | undefined;
	/** Where receivers are reached from outside, without a slash at the end. */
	receiveURL: string;
	/** When this process last wrote the Source's status; 0 if it never did. */
	statusWrittenMs: number;
}

export type SourceAction =
	| { type: "setFinalizers"; finalizers: string[] }
	| { type: "issueKeys" }
	/** The url key alone: the source key names the data. */
	| { type: "rotateURL"; rotation: string }
	| CommonAction<Source, EventReason<"Source">>;

/** Facts from the ledger change with every cut; a Source's status follows at most this often. */
const factsIntervalMs = 10_000;

export function decide(state: SourceState, now: number): SourceAction[] {
	const { source } = state;
	if (source.metadata.deletionTimestamp) return [];
	const actions = decideFinalizer(source);
	if (state.keys === "absent") return [...actions, { type: "issueKeys" }];

	const rotation = rotationOf(source);
	if (rotation && state.keys !== "invalid" && rotation !== state.keys.rotation)
		return [...actions, { type: "rotateURL", rotation }];

	const judged = judge(state, state.keys);
	if (!judged) return actions;
	const verdict = { ...judged, readiness: readinessOf(source, judged, now) };
	const status = statusOf(state, verdict, now);
	if (isDeepStrictEqual(status, source.status ?? {}))
		return [...actions, ...lookAgainFor(source, verdict, now)];

	const onlyFactsDiffer = isDeepStrictEqual(
		withoutFacts(status),
		withoutFacts(source.status),
	);
	const waitMs = state.statusWrittenMs + factsIntervalMs - now;
	if (onlyFactsDiffer && waitMs > 0)
		return [...actions, { type: "lookAgain", afterMs: waitMs }];
	return [
		...actions,
		{ type: "writeStatus", status },
		...eventsOf(state, verdict),
		...lookAgainFor(source, verdict, now),
	];
}

/** What the annotation rotate-url says. */
export function rotationOf({ metadata }: Source): string | undefined {
	return metadata.annotations?.[annotation.rotateURL];
}

interface Judgement {
	reason: Reason<"Source">;
	message: string;
	/** The keys that the status may show; none while they aren't this Source's. */
	keys?: SourceKeys;
}

interface Verdict extends Judgement {
	readiness: ConditionStatus;
}

/** Undefined while the route is on its way: whoever publishes it asks again. */
function judge(
	state: SourceState,
	keys: SourceKeys | "invalid",
): Judgement | undefined {
	const { source, published, claimant } = state;
	const { name, namespace } = source.metadata;
	if (keys === "invalid")
		return {
			reason: "KeysSecretInvalid",
			message: `Secret "${keysSecretName(name)}" was not issued for this Source, or its keys are damaged. Restore it from a backup, or delete it to get a new URL.`,
		};
	if (claimant === buried)
		return {
			reason: "KeyDeleted",
			message: `The source key in Secret "${keysSecretName(name)}" was deleted with its Source's events and is never used again. Delete the Secret to get a new URL.`,
		};
	const rival = published?.account === namespace ? published?.source : name;
	if ((claimant !== undefined && claimant !== namespace) || rival !== name)
		return {
			reason: "KeyTaken",
			message: `The source key in Secret "${keysSecretName(name)}" belongs to ${rival === name ? "another namespace" : `Source "${rival}"`}. Delete the Secret to get a new URL.`,
		};

	const { secrets, sealKey } = state;
	const { authorization, problem } = authorize(source, {
		secretOf: (name) => secrets.get(name),
		seal: sealKey && ((secret) => sealKey.seal(secret, keys.sourceKey)),
	});
	if (problem) return { ...problem, keys };
	if (!isDeepStrictEqual(published, routeOf(source, keys, authorization)))
		return state.publishTrouble === undefined
			? undefined
			: {
					reason: "RouteNotPublished",
					message: `Receivers don't know this Source as it is now: ${state.publishTrouble}. It is tried again.`,
					keys,
				};
	return source.spec.suspend
		? {
				reason: "Suspended",
				message: "Senders are answered with 403 until spec.suspend is false.",
				keys,
			}
		: {
				reason: "Active",
				message: "The URL in status.webhookURL accepts events.",
				keys,
			};
}

/** Unknown while a Secret may be on its way. */
function readinessOf(
	source: Source,
	{ reason }: Judgement,
	now: number,
): ConditionStatus {
	if (reason === "Active") return "True";
	return reason === "SecretNotFound" && settlingMs(source, now) > 0
		? "Unknown"
		: "False";
}

const phases = { True: "Active", False: "Error", Unknown: "Pending" } as const;

function statusOf(
	{ source, ledger, retention, receiveURL }: SourceState,
	{ reason, message, keys, readiness }: Verdict,
	now: number,
): SourceStatus {
	const observedGeneration = source.metadata.generation ?? 0;
	return {
		observedGeneration,
		phase: reason === "Suspended" ? reason : phases[readiness],
		...(keys && {
			webhookURL: `${receiveURL}/hooks/${keys.sourceKey}/${keys.urlKey}`,
			sourceKey: keys.sourceKey,
			shard: keys.shard,
		}),
		...factsOf(source.status),
		...(keys && ledger && ledgerFacts(ledger)),
		...(retention && {
			retention: {
				days: retention.days,
				enforcedBy: retention.enforcedBy,
			},
		}),
		conditions: setCondition(
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
	};
}

type Facts = Pick<
	SourceStatus,
	| "firstEventDate"
	| "lastEventTime"
	| "archivedThrough"
	| "counts"
	| "retention"
>;

function ledgerFacts(ledger: SourceLedger): Facts {
	const archived = sumOf(ledger.archived);
	const quarantined = sumOf(ledger.quarantined);
	return {
		firstEventDate: ledger.firstEventDate,
		lastEventTime: ledger.lastEventTime,
		archivedThrough: ledger.archivedThrough,
		counts: { accepted: archived + quarantined, archived, quarantined },
	};
}

function sumOf(events: Record<UtcDate, number> = {}): number {
	return Object.values(events).reduce((a, b) => a + b, 0);
}

/** What the status already says; it stays while the ledger can't be read. */
function factsOf(status: SourceStatus = {}): Facts {
	const { firstEventDate, lastEventTime, archivedThrough } = status;
	const { counts, retention } = status;
	return {
		...(firstEventDate !== undefined && { firstEventDate }),
		...(lastEventTime !== undefined && { lastEventTime }),
		...(archivedThrough !== undefined && { archivedThrough }),
		...(counts && { counts }),
		...(retention && { retention }),
	};
}

function withoutFacts(status: SourceStatus = {}): SourceStatus {
	const {
		firstEventDate,
		lastEventTime,
		archivedThrough,
		counts,
		retention,
		...rest
	} = status;
	return rest;
}

function eventsOf(
	{ source, keysAdopted }: SourceState,
	{ reason, message, readiness }: Verdict,
): SourceAction[] {
	const before = findCondition(source.status?.conditions, "Ready");
	if (before?.reason === reason && before.status === readiness) return [];
	const calm = readiness !== "False" || reason === "Suspended";
	return [
		...(before === undefined && keysAdopted
			? [
					{
						type: "recordEvent",
						severity: "Normal",
						reason: "URLAdopted",
						message: `Secret "${keysSecretName(source.metadata.name)}" was there: the Source has its earlier URL.`,
					} as const,
				]
			: []),
		{
			type: "recordEvent",
			severity: calm ? "Normal" : "Warning",
			reason,
			message,
		},
	];
}

/** A Secret that may be on its way is waited for before anybody is warned. */
function lookAgainFor(
	source: Source,
	{ reason }: Verdict,
	now: number,
): SourceAction[] {
	const afterMs = reason === "SecretNotFound" ? settlingMs(source, now) : 0;
	return afterMs > 0 ? [{ type: "lookAgain", afterMs }] : [];
}

/** Only `deletionPolicy: Delete` leaves work that a deletion must wait for. */
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
