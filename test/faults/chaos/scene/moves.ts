import { randomUUID } from "node:crypto";
import type { NatsConnection } from "@nats-io/transport-node";
import { pino } from "pino";
import { annotation } from "../../../../crds/labels.ts";
import { readOwners } from "../../../../operator/move.ts";
import { RestoreGuard } from "../../../../operator/source/routes/restore-guard.ts";
import { RouteBuckets } from "../../../../operator/source/routes/route-buckets.ts";
import type { Route } from "../../../../packages/contracts/route.ts";
import {
	type PlanDocument,
	planKey,
	type RoutePlan,
} from "../../../../packages/contracts/tracking-plan.ts";
import type { KubeClient } from "../../../../packages/kube/client/client.ts";
import { planVersion } from "../../../../packages/tracking-plan/version.ts";
import { eventually } from "./violation.ts";

/** What the operator writes for receivers and archives, by its own code. */
export class Moves {
	readonly #nats: NatsConnection;
	readonly #shards: number;
	/** What Kubernetes has, whatever becomes of NATS: plans by their keys, and the shards that each Source has been in. */
	readonly #documents = new Map<string, string>();
	readonly #shardsOf = new Map<string, number[]>();
	#operator: Operator;

	constructor(nats: NatsConnection, shards: number) {
		this.#nats = nats;
		this.#shards = shards;
		this.#operator = new Operator(nats);
	}

	/** Kubernetes and the operator begin anew. What is published from now on is what has been restored. */
	emptyEtcd(): void {
		this.#operator.close();
		this.#operator = new Operator(this.#nats);
	}

	/** A person says that all resources are restored. */
	sayComplete(): void {
		this.#operator.kubernetes.annotations[annotation.restore] = "complete";
	}

	/** Whether the operator says that it waits for that, where `tidemill restore` and its alert find it. */
	get isRestoreAwaited(): boolean {
		const { guard, kubernetes } = this.#operator;
		return (
			guard.isAwaited &&
			kubernetes.annotations[annotation.restore] === "awaited"
		);
	}

	/** Receivers have these routes and no others. */
	publish(routes: Route[]): Promise<void> {
		return eventually("progress", () =>
			this.#operator.table
				.publish(
					() => routes,
					(key) => this.#documents.get(key),
					({ sourceKey }) => this.#shardsOf.get(sourceKey) ?? [],
					(found) => this.#operator.guard.markOf(found),
				)
				.then(() => undefined),
		);
	}

	/** There is this plan. Returns the version for routes to name. */
	know(document: PlanDocument): RoutePlan {
		const plan = { name: document.plan, version: planVersion(document) };
		const key = planKey(document.account, plan);
		this.#documents.set(key, JSON.stringify(document));
		return plan;
	}

	/** The administrator's command writes the set of shards, then the operator the route. Returns the routes as they are then. */
	async toNextShard(routes: Route[], index: number): Promise<Route[]> {
		const route = routes[index]!;
		const shard = (route.shard + 1) % this.#shards;
		this.#shardsOf.set(route.sourceKey, [...this.shardsOf(route), shard]);
		await eventually("progress", async () => {
			// NATS may have lost the bucket.
			await this.publish(routes);
			const owners = await readOwners(this.#nats);
			await owners.addShards(route.sourceKey, [route.shard, shard]);
			return undefined;
		});
		const moved = routes.with(index, { ...route, shard });
		await this.publish(moved);
		return moved;
	}

	/** All that the Source has been in. */
	shardsOf({ sourceKey, shard }: Route): readonly number[] {
		const known = [shard, ...(this.#shardsOf.get(sourceKey) ?? [])];
		return [
			...new Set([...known, ...this.#operator.table.shardsOf(sourceKey)]),
		];
	}

	close(): void {
		this.#operator.close();
	}
}

class Operator {
	readonly kubernetes = new KubernetesDouble();
	readonly guard: RestoreGuard;
	readonly table: RouteBuckets;
	readonly #closing = new AbortController();

	constructor(nats: NatsConnection) {
		const log = pino({ level: "silent" });
		const { client, lease } = this.kubernetes;
		this.guard = new RestoreGuard(client, lease, log);
		this.table = new RouteBuckets(nats, { replicas: 1, log });
		void this.table.run(this.#closing.signal);
	}

	close(): void {
		this.#closing.abort();
	}
}

/** The two objects by which the operator knows its cluster: the namespace kube-system and the operator's Lease. */
class KubernetesDouble {
	readonly lease = { namespace: "tidemill", name: "operator" };
	readonly annotations: Record<string, string | null> = {};
	readonly #uid = randomUUID();
	readonly client = {
		get: async ({ plural }: { plural: string }) =>
			plural === "namespaces"
				? { metadata: { name: "kube-system", uid: this.#uid } }
				: { metadata: { ...this.lease, annotations: this.annotations } },
		patch: async (
			_kind: unknown,
			_name: string,
			_namespace: string,
			{ metadata }: { metadata: { annotations: object } },
		) => void Object.assign(this.annotations, metadata.annotations),
	} as unknown as KubeClient;
}
