import type { Source, TrackingPlan } from "../../crds/generated/types.ts";
import type {
	AddedLedger,
	RetentionState,
	ShardState,
	SourceLedger,
} from "../../packages/contracts/ledger.ts";
import type { SourceRetention } from "../../packages/contracts/retention.ts";
import type { Route } from "../../packages/contracts/route.ts";
import type { RoutePlan } from "../../packages/contracts/tracking-plan.ts";
import type { Secret } from "../../packages/kube/kinds.ts";
import type { SecretSealer } from "../../packages/service/seal-key.ts";
import type { HandOver } from "../notification/outbox.ts";
import {
	type NotificationDeps,
	type NotificationState,
	readNotifications,
} from "../notification/state.ts";
import type { OperatorContext } from "../reconcile/context.ts";
import { planNamesOf } from "../reconcile/informers.ts";
import type { LedgerView } from "../reconcile/ledgers.ts";
import type { ArchiveAnswer } from "../reconcile/questions.ts";
import type { LookContext } from "../reconcile/resource-loop.ts";
import { readSecret } from "../reconcile/secret-ref.ts";
import type { PlanVersions } from "../tracking-plan/plan-versions.ts";
import { sourcePlan } from "../tracking-plan/plan-versions.ts";
import { secretNames } from "./routes/authorization.ts";
import { tombstone } from "./routes/key-owners.ts";
import {
	type FoundKeys,
	followedKeys,
	keysIn,
	keysSecretName,
} from "./routes/keys.ts";
import type { RouteBuckets } from "./routes/route-buckets.ts";
import type { ShardBacklogs } from "./shard-backlogs.ts";

/** All that a decision about one Source rests on. */
export interface SourceState {
	source: Source;
	/** From the Secret `<source>-webhook-url`. */
	keys: FoundKeys;
	/** The keys are older than the Source: it was deleted and created again, or restored. */
	keysAdopted: boolean;
	/** The Secrets that the authorization refers to, by name, with or without the label. */
	secrets: ReadonlyMap<string, Secret>;
	notifications: NotificationState;
	/** Seals signing secrets; undefined if the operator has no key. */
	sealKey: SecretSealer | undefined;
	/** The receivers' route for the source key. */
	published: Route | undefined;
	/** The account that has the source key, or {@link tombstone}. */
	keyOwner: string | undefined;
	/** Why routes can't be published at the moment. */
	publishError: string | undefined;
	/** The plan that validates the events, as the route should have it; undefined if the Source names none. */
	plan: RoutePlan | undefined;
	/** The TrackingPlan of that name. */
	trackingPlan: TrackingPlan | undefined;
	ledger: SourceLedger | undefined;
	/** How many events of the ledger were released from quarantine. */
	released: AddedLedger | undefined;
	/** Of the shards that may hold the Source's events. */
	shardStates: ShardState[];
	/** Whether the buffer of the shard of its new events fills; undefined while nobody knows. */
	isBufferFilling: boolean | undefined;
	/** Whether that buffer is full; undefined while nobody knows. */
	isBufferFull: boolean | undefined;
	/** The shards that may hold the Source's events and whose events wait too long; undefined while nobody knows. */
	laggingShards: number[] | undefined;
	/** Whether new Sources find a shard that doesn't fill. */
	isElsewhereRoom: boolean;
	/** How many shards there are. */
	shards: number;
	retention: RetentionState | undefined;
	/** How long archive keeps the Source's events; undefined if it was never asked for more than usual. */
	kept: SourceRetention | undefined;
	/** What archive has said since it was asked to keep the events for another time. */
	retentionAnswered?: ArchiveAnswer | undefined;
	/** Why archive didn't do as the Source says, when it was asked just now. */
	retentionError?: string;
	/** The longest retention that the operator allows, in days; 0 for ever. */
	maxRetentionDays: number;
	/** What webhook URLs begin with, without a trailing slash. */
	receiveURL: string;
	/** When this process last wrote the Source's status; 0 if it never did. */
	statusWrittenMs: number;
	/** The ledger's facts change with every cut. The status follows at most this often. */
	statusIntervalMs: number;
}

/** What the controller of Sources works with, beyond {@link OperatorContext}. */
export interface SourceDeps extends NotificationDeps {
	routes: RouteBuckets;
	ledgers: LedgerView;
	plans: PlanVersions;
	receiveURL: string;
	maxRetentionDays: number;
	/** How many shards there are. */
	shards: number;
	shardBacklogs: ShardBacklogs;
	statusIntervalMs: number;
}

/** What requests of the last reconcile came to. */
export interface SourceOutcome {
	handedOver: HandOver;
}

export async function readSource(
	context: OperatorContext & SourceDeps,
	source: Source,
	{ outcome, statusWrittenMs }: LookContext<SourceOutcome>,
): Promise<SourceState> {
	const { name, namespace, creationTimestamp } = source.metadata;
	const { routes, ledgers, sealKey, receiveURL, statusIntervalMs } = context;
	const { maxRetentionDays } = context;
	// From memory alone: if that lacks the Secret, the apiserver refuses to create another one.
	const { secrets: known } = context.informers;
	await known.settled(namespace!, keysSecretName(name));
	const issued = known.get(namespace!, keysSecretName(name));
	const found = keysIn(issued, name);
	const sourceKey = typeof found === "object" ? found.sourceKey : undefined;
	const published = sourceKey ? routes.published(sourceKey) : undefined;
	const own = published?.account === namespace ? published : undefined;
	const keys =
		typeof found === "object"
			? followedKeys(source, found, {
					published: own,
					known: routes.shardsOf(found.sourceKey),
					shards: context.shards,
				})
			: found;
	const secrets = new Map<string, Secret>();
	for (const name of secretNames(source)) {
		const secret = await readSecret(context, namespace!, name);
		if (secret) secrets.set(name, secret);
	}
	const [planName] = planNamesOf(source);
	return {
		source,
		keys,
		plan: sourcePlan(source, sourceKey ?? "", context),
		trackingPlan: planName
			? context.informers.trackingPlans.get(namespace!, planName)
			: undefined,
		keysAdopted:
			issued !== undefined &&
			issued.metadata.creationTimestamp! < creationTimestamp!,
		secrets,
		notifications: await readNotifications(
			context,
			source,
			outcome?.handedOver,
		),
		sealKey,
		published,
		keyOwner:
			sourceKey && ledgers.isDeleted(sourceKey)
				? tombstone
				: routes.keyOwner(sourceKey ?? ""),
		publishError: routes.lastError,
		ledger: sourceKey ? ledgers.get(sourceKey) : undefined,
		released: sourceKey ? ledgers.released(sourceKey) : undefined,
		shardStates:
			typeof keys === "object"
				? keys.shards.flatMap((shard) => ledgers.shard(shard) ?? [])
				: [],
		isBufferFilling:
			typeof keys === "object" && context.shardBacklogs.fills(keys.shard),
		isBufferFull:
			typeof keys === "object" && context.shardBacklogs.isFull(keys.shard),
		laggingShards:
			typeof keys === "object"
				? context.shardBacklogs.laggingOf(keys.shards)
				: [],
		isElsewhereRoom: context.shardBacklogs.isRoomIn(context.shards),
		shards: context.shards,
		retention: ledgers.retention,
		kept: sourceKey ? ledgers.retentionOf(sourceKey) : undefined,
		maxRetentionDays,
		receiveURL,
		statusWrittenMs,
		statusIntervalMs,
	};
}
