import { jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { bucket } from "../../../packages/contracts/nats.ts";
import {
	type SourceShards,
	shardsKey,
	unitedShards,
} from "../../../packages/contracts/route.ts";
import { isStreamNotFound } from "../../../packages/service/nats/connection.ts";

/**
 * The shards that may hold a source's events, `asked` first. The stream's leader answers: a server that lags may know the set
 * of before a move, as KV's direct reads do.
 */
export async function readSourceShards(
	connection: NatsConnection,
	sourceKey: string,
	asked: number,
): Promise<number[]> {
	const { streams } = await jetstreamManager(connection, { checkAPI: false });
	const query = {
		last_by_subj: `$KV.${bucket.sourceKeys}.${shardsKey(sourceKey)}`,
	};
	try {
		const found = await streams.getMessage(`KV_${bucket.sourceKeys}`, query);
		const known = found?.data.length ? found.json<SourceShards>().shards : [];
		return unitedShards([asked], known);
	} catch (error) {
		// The operator hasn't made the bucket yet.
		if (isStreamNotFound(error)) return [asked];
		throw error;
	}
}
