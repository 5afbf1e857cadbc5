import type { NatsConnection } from "@nats-io/transport-node";
import pino from "pino";
import { openShardStream } from "../../../ingest/archive/read/shard-stream.ts";
import { processEnvironment } from "../../../operator/install/process-environment.ts";
import { connectNats } from "../../../packages/service/nats/connection.ts";
import { makeRoomForInput } from "../../../packages/service/nats/input-room.ts";
import { Settings } from "../../../packages/service/settings.ts";
import { archiveEnv } from "../../../test/support/servers/archive-servers.ts";
import {
	startNats,
	startS3,
	type TestNats,
	type TestS3,
} from "../../../test/support/servers/servers.ts";
import {
	startTidemill,
	type TidemillProcess,
} from "../../../test/support/servers/tidemill-process.ts";

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

/** Starts archive with its container's environment plus `env`. Resolves once it archives its shard. */
export async function startArchive(
	nats: TestNats,
	s3: TestS3,
	env: Record<string, string> = {},
): Promise<TidemillProcess> {
	const archive = startTidemill(["archive"], {
		...archiveEnv({ nats, s3 }),
		...processEnvironment.archive,
		...env,
	});
	await new Promise<void>((resolve, reject) => {
		archive.onLine = (line) => {
			if (JSON.parse(line).msg === "archiving the shard") resolve();
		};
		void archive.ended.then(({ stderr }) => reject(new Error(stderr)));
	});
	return archive;
}
