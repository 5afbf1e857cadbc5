import { rm } from "node:fs/promises";
import { jetstreamManager } from "@nats-io/jetstream";
import {
	startReceiver,
	TestRoutes,
	untilReady,
} from "../../test/support/fixtures/data-plane/receiver.ts";
import { temporaryDirectory } from "../../test/support/servers/test-server.ts";
import { startArchive } from "../archive/archive-process.ts";
import { withDataPlane } from "../archive/data-plane.ts";
import {
	type Bench,
	compared,
	figure,
	type Measurement,
	type Say,
} from "../measure/measurement.ts";
import { type Contender, startBaseline } from "./contenders.ts";
import { alternate, each, load, withCpu } from "./leg.ts";

const loops = [
	{ connections: 128, goal: 0.75 },
	{ connections: 512, goal: 0.85 },
];
/** As `make up` has it. What isn't a full cut waits for this long, and the next leg for it. */
const maxAge = { ARCHIVE_MAX_AGE_MS: "2000" };

interface Path {
	receive: Contender;
	tuned: Contender;
	pids: Record<"receive" | "nats" | "archive" | "gateway", number>;
	/** How many frames aren't archived yet. */
	backlog(): Promise<number>;
}

/** Everything that an event passes on two cores: receive, NATS, archive and the S3 gateway. */
export const bench: Bench = {
	about:
		"events/s over HTTP while archive writes them to S3 on the same cores; baseline: tuned fastify, nothing stored",
	run: (say) =>
		withDataPlane(
			8 * 1024 ** 3,
			async ({ nats, s3, connection, stream }): Promise<Measurement[]> => {
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
					const whole: Path = {
						receive: { host: hostname, port: Number(port), paths: [path] },
						tuned: tuned.contender,
						pids: {
							receive: receiver.pid,
							nats: nats.pid,
							archive: archive.child.pid!,
							gateway: s3.pid,
						},
						backlog: async () => (await streams.info(stream)).state.messages,
					};
					return await closedLoops(whole, say);
				} finally {
					await tuned.stop();
					await receiver.stop();
					archive.child.kill();
					await archive.ended;
					await rm(compileCache, { recursive: true });
				}
			},
		),
};

/** Archive works through what is left after each leg, so that the next one begins with an empty stream. */
async function untilArchived({ backlog }: Path): Promise<void> {
	while ((await backlog()) > 0)
		await new Promise((resolve) => setTimeout(resolve, 200));
}

async function closedLoops(path: Path, say: Say): Promise<Measurement[]> {
	const measurements: Measurement[] = [];
	for (const { connections, goal } of loops) {
		const legs = await alternate(
			`${connections} connections`,
			{
				tuned: () => load(path.tuned, { connections }),
				receive: () =>
					withCpu(path.pids, () => load(path.receive, { connections })),
			},
			{ say, after: () => untilArchived(path) },
		);
		measurements.push(
			compared(
				`throughput at ${connections} connections`,
				"events/s",
				each(legs.receive, "requestsPerSecond"),
				each(legs.tuned, "requestsPerSecond"),
				{ ratioAtLeast: goal },
			),
			...(Object.keys(path.pids) as (keyof Path["pids"])[]).map((name) =>
				figure(
					`CPU of ${name} at ${connections} connections`,
					legs.receive.map(({ cpuUs }) => cpuUs[name]),
					"µs/event",
				),
			),
		);
	}
	return measurements;
}
