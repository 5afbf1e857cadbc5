import type { Tracing } from "../../packages/service/tracing.ts";
import type { Limits } from "./admission/limits.ts";
import type { AmazonSns } from "./body/amazon-sns.ts";
import type { Claims } from "./commit/claims.ts";
import type { ShardWriter } from "./commit/shard-writer.ts";
import type { ReceiveMetrics } from "./metrics.ts";
import type { TrackingPlans } from "./plan/tracking-plans.ts";
import type { RefusedRequests } from "./request/refused-requests.ts";
import type { RouteTable } from "./request/route-table.ts";

/** What all webhook requests of this receiver share. */
export interface Receiver {
	routes: RouteTable;
	/** By shard number. */
	shards: readonly Pick<ShardWriter, "add" | "hasRoomFor">[];
	limits: Limits;
	metrics: ReceiveMetrics;
	plans: Pick<TrackingPlans, "judge">;
	/** Undefined unless traces are on. */
	tracing?: Tracing | undefined;
	/** Undefined until NATS is reached. */
	claims?: Pick<Claims, "claim" | "settle">;
	/** Undefined until NATS is reached. */
	sns?: Pick<AmazonSns, "keyOf" | "confirm">;
	/** Undefined until NATS is reached. */
	refused?: Pick<RefusedRequests, "record">;
}
