import type { NatsConnection } from "@nats-io/transport-node";
import { type Source, sourceKind } from "../../crds/generated/types.ts";
import { fieldManager } from "../../crds/labels.ts";
import { kinds } from "../../packages/kube/kinds.ts";
import type { ControllerLoop } from "../../packages/kube/reconcile/controller.ts";
import { keyOf, textOf } from "../../packages/kube/resource.ts";
import { webhookSecretsOf } from "../notification/webhooks.ts";
import type { OperatorContext } from "../reconcile/context.ts";
import { planNamesOf } from "../reconcile/informers.ts";
import { ArchiveQuestions, isQuestion } from "../reconcile/questions.ts";
import type { KubeEventReason } from "../reconcile/reasons.ts";
import { createResourceLoop } from "../reconcile/resource-loop.ts";
import { fetchSecret } from "../reconcile/secret-ref.ts";
import { notReady } from "../reconcile/while-permitted.ts";
import { decide, type SourceAction } from "./decide.ts";
import { secretNames } from "./routes/authorization.ts";
import {
	keysSecret,
	keysSecretName,
	newKeys,
	readKeys,
	urlRotation,
} from "./routes/keys.ts";
import { ShardLoads } from "./shard-loads.ts";
import {
	readSource,
	type SourceDeps,
	type SourceOutcome,
	type SourceState,
} from "./state.ts";

/**
 * Issues a Source's keys and keeps its status. {@link file://./routes/controller.ts} publishes its route, and
 * {@link file://./deletion/controller.ts} deletes what it leaves behind. The loop doesn't run yet.
 */
export function createSourceController(
	context: OperatorContext & SourceDeps & { nats: NatsConnection },
): ControllerLoop {
	const { informers, ledgers, routes, outbox, shardBacklogs } = context;
	const questions = new ArchiveQuestions(context, undefined, (key) =>
		loop.enqueue(key),
	);
	const shards = new ShardLoads({
		shards: context.shards,
		sources: informers.sources,
		ledgers,
		backlogs: shardBacklogs,
		now: Date.now,
	});
	const loop = createResourceLoop<
		Source,
		SourceState,
		SourceAction,
		SourceOutcome
	>(context, {
		name: "source",
		known: informers.sources,
		verb: "Reconcile",
		// Each of hundreds of new Sources needs four requests in turn, and its Pipelines wait for it.
		workers: 16,
		notPermitted: notReady({ phase: "Error" }),
		read: async (source, look) => ({
			...(await readSource(context, source, look)),
			retentionAnswered: questions.answered(keyOf(source)),
		}),
		decide,
		objectIn: ({ source }) => source,
		onDecision(key, actions) {
			if (!actions.some(isQuestion)) questions.drop(key);
		},
		async apply(action, source, { notifications }) {
			switch (action.type) {
				case "askRetention":
					questions.ask(source, action);
					return source;
				case "issueKeys":
					await issueKeys(context, shards, source, action);
					return source;
				case "rotateURL":
					await rotateURL(context, source, action.rotation);
					return source;
				case "notify": {
					const { usable } = notifications.webhooks;
					const { due } = action;
					return {
						outcome: { handedOver: await outbox.handOver(source, due, usable) },
					};
				}
			}
		},
	});
	loop.watch(informers.sources);
	const sourcesOfSecret = informers.sources.index((source) =>
		[
			keysSecretName(source.metadata.name),
			...secretNames(source),
			...webhookSecretsOf(source),
		].map((name) => textOf({ ...keyOf(source), name })),
	);
	const sourcesOfPlan = informers.sources.index((source) =>
		planNamesOf(source).map((name) => textOf({ ...keyOf(source), name })),
	);
	loop.watch(informers.secrets, (secret) =>
		sourcesOfSecret(textOf(keyOf(secret))).map(keyOf),
	);
	loop.watchGroups(informers.trackingPlans, {
		groupsOf: (plan) => [textOf(keyOf(plan))],
		membersOf: (group) => sourcesOfPlan(group).map(keyOf),
	});
	const ofRoute = (route: { account: string; source: string }) =>
		loop.enqueue({ namespace: route.account, name: route.source });
	outbox.onChange(({ kind, account, name }) => {
		if (kind === "Source") loop.enqueue({ namespace: account, name });
	});
	routes.onChange(ofRoute);
	shardBacklogs.onChange((changed) => {
		// A Source of a shard that fills says whether others have room.
		for (const source of informers.sources.list()) {
			const { shard = -1, shards = [shard] } = source.status ?? {};
			if (shards.includes(changed) || shardBacklogs.fills(shard))
				loop.enqueue(keyOf(source));
		}
	});
	ledgers.onChange((key) => {
		if (key === undefined)
			for (const source of informers.sources.list())
				loop.enqueue(keyOf(source));
		const route = key === undefined ? undefined : routes.published(key);
		if (route) ofRoute(route);
	});
	return loop;
}

async function issueKeys(
	{ client, kubeEvents }: OperatorContext,
	shards: ShardLoads,
	source: Source,
	{ rotation, stored }: Extract<SourceAction, { type: "issueKeys" }>,
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
	{ client, kubeEvents }: OperatorContext,
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
