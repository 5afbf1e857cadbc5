import type { NatsConnection } from "@nats-io/transport-node";
import { pino } from "pino";
import { readOwners } from "../../../../operator/move.ts";
import { RouteBuckets } from "../../../../operator/source/routes/route-buckets.ts";
import type { Route } from "../../../../packages/contracts/route.ts";
import { eventually } from "./violation.ts";

/** What the operator writes for receivers and archives, by its own code. */
export class Moves {
	readonly #nats: NatsConnection;
	readonly #shards: number;
	readonly #table: RouteBuckets;
	readonly #closing = new AbortController();

	constructor(nats: NatsConnection, shards: number) {
		this.#nats = nats;
		this.#shards = shards;
		const log = pino({ level: "silent" });
		this.#table = new RouteBuckets(nats, { replicas: 1, log });
		void this.#table.run(this.#closing.signal);
	}

	/** Receivers have these routes and no others. */
	publish(routes: Route[]): Promise<void> {
		return eventually("progress", () =>
			this.#table.publish(() => routes).then(() => undefined),
		);
	}

	/** The administrator's command writes the set of shards, then the operator the route. Returns the routes as they are then. */
	async toNextShard(routes: Route[], index: number): Promise<Route[]> {
		const route = routes[index]!;
		const shard = (route.shard + 1) % this.#shards;
		await eventually("progress", async () => {
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
		const known = this.#table.shardsOf(sourceKey);
		return known.length > 0 ? known : [shard];
	}

	close(): void {
		this.#closing.abort();
	}
}
