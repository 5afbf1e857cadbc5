import type { NatsConnection } from "@nats-io/transport-node";
import pino from "pino";
import { openShardStream } from "../../../ingest/archive/read/shard-stream.ts";
import { connectNats } from "../../../packages/service/nats/connection.ts";
import { makeRoomForInput } from "../../../packages/service/nats/input-room.ts";
import { Settings } from "../../../packages/service/settings.ts";
import {
	startNats,
	startS3,
	type TestNats,
	type TestS3,
} from "../../../test/support/servers/servers.ts";

export const log = pino({ level: "silent" });

/** The two servers that archive connects. */
export interface DataPlane {
	nats: TestNats;
	s3: TestS3;
	/** As the admin user. */
	connection: NatsConnection;
	/** Name of shard 0's empty stream. */
	stream: string;
}

/** Runs NATS, with shard 0's stream, and an S3 gateway while `use` runs. */
export async function withDataPlane<T>(
	maxBytes: number,
	use: (plane: DataPlane) => Promise<T>,
): Promise<T> {
	const [nats, s3] = await Promise.all([startNats(), startS3()]);
	const settings = new Settings({ NATS_URL: nats.url });
	const connection = await connectNats(settings, "bench", log);
	// As archive reads.
	makeRoomForInput(connection);
	try {
		const options = { maxBytes, replicas: 1 };
		const stream = await openShardStream(connection, 0, options, log);
		return await use({ nats, s3, connection, stream });
	} finally {
		await connection.close();
		await Promise.all([nats.stop(), s3.stop()]);
	}
}
