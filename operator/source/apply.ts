import type { NatsConnection } from "@nats-io/transport-node";
import { type Source, sourceKind } from "../../crds/generated/types.ts";
import { fieldManager } from "../../crds/labels.ts";
import { retentionSubject } from "../../packages/contracts/nats.ts";
import type { Notification } from "../../packages/contracts/notification.ts";
import type { RetentionAnswer } from "../../packages/contracts/retention.ts";
import { kinds } from "../../packages/kube/kinds.ts";
import type { BackgroundWork } from "../../packages/kube/reconcile/background-work.ts";
import {
	type Result,
	soonest,
} from "../../packages/kube/reconcile/controller.ts";
import { keyOf } from "../../packages/kube/resource.ts";
import { askArchive } from "../archive/ask.ts";
import type { NotificationMeans } from "../notification/state.ts";
import { soonerIf, withPending } from "../notification/state.ts";
import { report, setFinalizers } from "../reconcile/actions.ts";
import type { OperatorContext } from "../reconcile/context.ts";
import type { KubeEventReason } from "../reconcile/reasons.ts";
import { fetchSecret } from "../reconcile/secret-ref.ts";
import { decide, type SourceAction } from "./decide.ts";
import {
	keysSecret,
	keysSecretName,
	newKeys,
	readKeys,
	urlRotation,
} from "./routes/keys.ts";
import type { ShardLoads } from "./shard-loads.ts";
import type { SourceState } from "./state.ts";

export const aboutSource = { kind: sourceKind, verb: "Reconcile" };

type IssueKeys = Extract<SourceAction, { type: "issueKeys" }>;

interface ApplyMeans {
	shards: Pick<ShardLoads, "place">;
	nats: NatsConnection;
	/** The requests to archive to keep events longer. */
	retentionAsks: BackgroundWork<RetentionAnswer>;
}

type Context = OperatorContext & Pick<NotificationMeans, "outbox"> & ApplyMeans;

/** Does what was decided. */
export async function applySource(
	context: Context,
	state: SourceState,
	actions: SourceAction[],
): Promise<Result | undefined> {
	const { nats, retentionAsks } = context;
	const { notifications } = state;
	let { source } = state;
	let result: Result | undefined;
	let left: Notification[] = [];
	if (!actions.some(({ type }) => type === "askRetention"))
		retentionAsks.drop(keyOf(source));
	for (const action of actions)
		switch (action.type) {
			case "setFinalizers":
				source = await setFinalizers(
					context.client,
					sourceKind,
					source,
					action.finalizers,
				);
				break;
			case "askRetention": {
				const { shard, question } = action;
				const subject = retentionSubject(shard);
				const about = subject + JSON.stringify(question);
				const answer = retentionAsks.outcomeOf(keyOf(source), about, (signal) =>
					askArchive<RetentionAnswer>(
						nats,
						{ subject, shard },
						question,
						"ArchiveUnavailable",
						signal,
					),
				);
				// The Source comes back when the answer is there.
				if (!answer) break;
				retentionAsks.drop(keyOf(source));
				const answered = answer.ok
					? { ...state, source, kept: answer.retention }
					: { ...state, source, retentionTrouble: answer.error.message };
				return applySource(context, answered, decide(answered, Date.now()));
			}
			case "issueKeys":
				await issueKeys(context, source, action);
				break;
			case "rotateURL":
				await rotateURL(context, source, action.rotation);
				break;
			case "notify": {
				const { usable } = notifications.webhooks;
				left = await context.outbox.handOver(source, action.due, usable);
				break;
			}
			case "writeStatus": {
				const status = withPending(action.status, left);
				const write = { ...action, status };
				source = await report(context, aboutSource, source, write);
				break;
			}
			case "lookAgain":
				result = soonest(result, action.afterMs);
				break;
			default:
				source = await report(context, aboutSource, source, action);
		}
	return soonerIf(left, result);
}

async function issueKeys(
	{ client, kubeEvents, shards }: Context,
	source: Source,
	{ rotation, stored }: IssueKeys,
): Promise<void> {
	const { name, namespace } = source.metadata;
	await client.create(
		kinds.secret,
		keysSecret(
			{ namespace: namespace!, name },
			newKeys(stored?.shard ?? shards.place(source), {
				rotation,
				sourceKey: stored?.sourceKey,
				shards: stored?.shards,
			}),
		),
		{ fieldManager },
	);
	kubeEvents.record(sourceKind, source, {
		type: "Normal",
		reason: "URLIssued" satisfies KubeEventReason<"Source">,
		action: "IssueURL",
		note: stored
			? `Secret "${keysSecretName(name)}" was deleted, so the Source has a new URL: see status.webhookURL. Its events stay. Senders that use the earlier URL get 404.`
			: `The Source has a URL. Its keys are in Secret "${keysSecretName(name)}".`,
	});
}

async function rotateURL(
	{ client, kubeEvents }: Context,
	source: Source,
	rotation: string,
): Promise<void> {
	const { name, namespace } = source.metadata;
	// From the apiserver: memory may lack a rotation that was just done.
	const secretName = keysSecretName(name);
	const secret = await fetchSecret(client, namespace!, secretName);
	const keys = secret && readKeys(secret, name);
	if (!keys || keys.rotation === rotation) return;
	await client.patch(
		kinds.secret,
		secretName,
		namespace,
		urlRotation(rotation, secret.metadata.resourceVersion!),
		"merge",
		{ fieldManager },
	);
	kubeEvents.record(sourceKind, source, {
		type: "Normal",
		reason: "URLRotated" satisfies KubeEventReason<"Source">,
		action: "RotateURL",
		note: "The Source has a new URL: see status.webhookURL. Senders that use the earlier URL get 404.",
	});
}
