import type { NatsConnection } from "@nats-io/transport-node";
import type { RetentionAnswer } from "../../packages/contracts/retention.ts";
import { BackgroundWork } from "../../packages/kube/reconcile/background-work.ts";
import { ControllerLoop } from "../../packages/kube/reconcile/controller.ts";
import { keyOf, textOf } from "../../packages/kube/resource.ts";
import { webhookSecretsOf } from "../notification/webhooks.ts";
import type { OperatorContext } from "../reconcile/context.ts";
import { planNamesOf } from "../reconcile/informers.ts";
import { tellRefusal } from "../reconcile/refusals.ts";
import {
	notReady,
	wakeByPermission,
	whilePermitted,
} from "../reconcile/while-permitted.ts";
import { aboutSource, applySource } from "./apply.ts";
import { decide } from "./decide.ts";
import { secretNames } from "./routes/authorization.ts";
import { keysSecretName } from "./routes/keys.ts";
import { ShardLoads } from "./shard-loads.ts";
import { readSource, type SourceMeans } from "./state.ts";

/**
 * Issues a Source's keys and keeps its status. {@link file://./routes/controller.ts} publishes its route, and
 * {@link file://./deletion/controller.ts} deletes what it leaves behind. The loop doesn't run yet.
 */
export function createSourceController(
	context: OperatorContext & SourceMeans & { nats: NatsConnection },
): ControllerLoop {
	const { informers, ledgers, routes, outbox, log } = context;
	const retentionAsks = new BackgroundWork<RetentionAnswer>((key) =>
		loop.enqueue(key),
	);
	const { shardBacklogs } = context;
	const shards = new ShardLoads({
		shards: context.shards,
		sources: informers.sources,
		ledgers,
		backlogs: shardBacklogs,
		now: Date.now,
	});
	const means = { ...context, retentionAsks, shards };
	const statusWrittenMs = new Map<string, number>();
	const loop: ControllerLoop = new ControllerLoop(
		{
			name: "source",
			reconcile: async (key) => {
				const text = textOf(key);
				const source = informers.sources.get(key.namespace, key.name);
				if (!source) {
					statusWrittenMs.delete(text);
					retentionAsks.drop(key);
					return undefined;
				}
				const state = await readSource(
					context,
					source,
					statusWrittenMs.get(text) ?? 0,
				);
				const actions = decide(state, Date.now());
				const result = await applySource(means, state, actions);
				if (actions.some(({ type }) => type === "writeStatus"))
					statusWrittenMs.set(text, Date.now());
				return result;
			},
			tellRefusal: ({ namespace, name }, refusal) =>
				tellRefusal(
					context,
					{ ...aboutSource, type: "Ready" },
					informers.sources.get(namespace, name),
					refusal,
				),
		},
		// Each of hundreds of new Sources needs four requests in turn, and its Pipelines wait for it.
		{
			log,
			workers: 16,
			around: whilePermitted(
				context,
				informers.sources,
				notReady({ phase: "Error" }),
			),
		},
	);
	wakeByPermission(context.permissions, informers.sources, loop);
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
	for (const secrets of [informers.secrets, informers.unlabelledSecrets])
		loop.watch(secrets, (secret) =>
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
			const { shard = -1 } = source.status ?? {};
			if (shard === changed || shardBacklogs.fills(shard))
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
