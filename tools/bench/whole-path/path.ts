import { rm } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { jetstreamManager } from "@nats-io/jetstream";
import {
	startReceiver,
	TestRoutes,
	untilReady,
} from "../../../test/support/fixtures/data-plane/receiver.ts";
import { temporaryDirectory } from "../../../test/support/servers/test-server.ts";
import { startArchive, withDataPlane } from "../archive/data-plane.ts";
import { type Contender, startBaseline } from "../receive/contenders.ts";

/** All that an event passes on its way to S3, and the baseline. */
export interface Path {
	receive: Contender;
	tuned: Contender;
	pids: Record<"receive" | "nats" | "archive" | "gateway", number>;
	/** How old the oldest event is that isn't in S3; 0 when all are. */
	behindMs(): Promise<number>;
}

/** As `make up` has it. What isn't a full cut waits for this long. */
const maxAge = { ARCHIVE_MAX_AGE_MS: "2000" };

/** Runs receive, NATS, archive, the S3 gateway and the tuned fastify while `use` runs. */
export function withPath<T>(use: (path: Path) => Promise<T>): Promise<T> {
	return withDataPlane(
		8 * 1024 ** 3,
		async ({ nats, s3, connection, stream }) => {
			const compileCache = await temporaryDirectory("compile-cache");
			const env = { NODE_COMPILE_CACHE: compileCache };
			const archive = await startArchive(nats, s3, { ...env, ...maxAge });
			const routes = new TestRoutes(connection);
			await routes.markSynced();
			const receiver = await startReceiver(nats, { env });
			await untilReady(receiver);
			const { path } = await routes.add();
			const { hostname, port } = new URL(receiver.url);
			const tuned = await startBaseline("tuned-fastify", env);
			const { streams } = await jetstreamManager(connection);
			try {
				return await use({
					receive: { host: hostname, port: Number(port), paths: [path] },
					tuned: tuned.contender,
					pids: {
						receive: receiver.pid,
						nats: nats.pid,
						archive: archive.child.pid!,
						gateway: s3.pid,
					},
					behindMs: async () => {
						const { messages, first_ts } = (await streams.info(stream)).state;
						return messages === 0 ? 0 : Date.now() - Date.parse(first_ts);
					},
				});
			} finally {
				await tuned.stop();
				await receiver.stop();
				archive.child.kill();
				await archive.ended;
				await rm(compileCache, { recursive: true });
			}
		},
	);
}

/** Archive works through what is left after a leg, so that the next one begins with an empty stream. */
export async function untilArchived({ behindMs }: Path): Promise<void> {
	while ((await behindMs()) > 0) await delay(200);
}
