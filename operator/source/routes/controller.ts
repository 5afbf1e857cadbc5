import type { NatsConnection } from "@nats-io/transport-node";
import { ControllerLoop } from "../../../packages/kube/reconcile/controller.ts";
import { onReconnect } from "../../../packages/service/nats/connection.ts";
import { backoffMs } from "../../../packages/service/pause.ts";
import type { SealKeyRing } from "../../../packages/service/seal-key.ts";
import type { OperatorContext } from "../../reconcile/context.ts";
import type { LedgerView } from "../../reconcile/ledgers.ts";
import {
	type PlanVersions,
	sourcePlan,
} from "../../tracking-plan/plan-versions.ts";
import { desiredRoutes, keysOf, type RouteFacts } from "./decide.ts";
import type { RestoreGuard } from "./restore-guard.ts";
import type { RouteBuckets } from "./route-buckets.ts";

/** While a person restores the cluster's resources. */
const lookAgainMs = 5_000;
const publishBackoff = { baseMs: 1_000, maxMs: 20_000 };

/**
 * Keeps the routes bucket equal to what all Sources want, as a whole: comparing the whole finds stray routes, and a Source
 * that can't be reconciled does not hold up the synced marker. The loop doesn't run yet.
 */
export function createRouteController({
	informers: { sources, secrets },
	routes,
	ledgers,
	nats,
	sealKey,
	receiveURL,
	plans,
	shards,
	restore,
	log,
}: OperatorContext & {
	restore: Pick<RestoreGuard, "markOf" | "isOpen">;
	routes: RouteBuckets;
	ledgers: LedgerView;
	nats: NatsConnection;
	sealKey: SealKeyRing | undefined;
	receiveURL: string;
	plans: PlanVersions;
	/** How many shards there are. */
	shards: number;
}): ControllerLoop {
	let failures = 0;
	const loop = new ControllerLoop(
		{
			name: "routes",
			reconcile: async () => {
				const facts: RouteFacts = {
					secretOf: (namespace, name) => secrets.get(namespace, name),
					isUnknown: (namespace, names) =>
						secrets.isUnknown(namespace) ||
						names.some((name) => secrets.isUnread(namespace, name)),
					published: (sourceKey) => routes.published(sourceKey),
					shardsOf: (sourceKey) => routes.shardsOf(sourceKey),
					shards,
					sealKey,
					receiveURL,
					planOf: (source, sourceKey) =>
						sourcePlan(source, sourceKey, { plans, routes }),
				};
				const desiredNow = () =>
					desiredRoutes(sources.list(), facts).filter(
						({ sourceKey }) => !ledgers.isDeleted(sourceKey),
					);
				try {
					await routes.publish(
						desiredNow,
						(key) => plans.textOf(key),
						({ account, source, sourceKey }) => {
							const found = sources.get(account, source);
							// Most have one shard, and this is asked about each of thousands.
							const isKnown = routes.published(sourceKey) !== undefined;
							if (!found || (isKnown && !found.status?.shards)) return [];
							return keysOf(found, facts)?.shards ?? [];
						},
						async (found) => {
							// Receivers believe a bucket with a marker, so it says nothing of a part of the routes.
							if (found === undefined) {
								await secrets.synced;
								if (secrets.isStopped)
									throw new Error("stopped before all Secrets were read");
							}
							return restore.markOf(found);
						},
					);
				} catch (err) {
					log.warn({ err }, "routes can't be published; trying again");
					failures++;
					return { requeueAfterMs: backoffMs(failures, publishBackoff) };
				}
				failures = 0;
				return restore.isOpen ? { requeueAfterMs: lookAgainMs } : undefined;
			},
		},
		{ log, workers: 1 },
	);
	const whole = { namespace: "", name: "routes" };
	// Not on status changes, which come with every cut and concern no route. A deletion raises the generation.
	loop.watch(sources, () => []);
	sources.onChange((source, previous, deleted) => {
		if (deleted || source.metadata.generation !== previous?.metadata.generation)
			loop.enqueue(whole);
	});
	// A Source whose Secrets have yet to be read keeps its route, so nobody waits for others' Secrets.
	const { listed: synced } = secrets;
	loop.watch({ synced, onChange: (act) => secrets.onChange(act) }, () => [
		whole,
	]);
	ledgers.onChange((sourceKey) => {
		if (sourceKey && ledgers.isDeleted(sourceKey)) loop.enqueue(whole);
	});
	plans.onChange(() => loop.enqueue(whole));
	// What the former key has sealed is sealed again.
	sealKey?.onChange(() => loop.enqueue(whole));
	// Somebody changed the buckets, an administrator moves a Source, or a write of a former leader arrived late.
	routes.onDrift(() => loop.enqueue(whole));
	void onReconnect(nats, () => {
		// It often needs a moment after it is back, however long it was away.
		failures = 0;
		routes.forget();
		loop.enqueue(whole);
	});
	// The bucket and its marker must exist even without any Source.
	loop.enqueue(whole);
	return loop;
}
