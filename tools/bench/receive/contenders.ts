import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { jetstreamManager } from "@nats-io/jetstream";
import { rolldown } from "rolldown";
import { freePort } from "../../../local/machine/ports.ts";
import { answersOk } from "../../../local/machine/program.ts";
import { processEnvironment } from "../../../operator/install/process-environment.ts";
import {
	connectAdmin,
	startReceiveFixture,
	untilReady,
} from "../../../test/support/fixtures/data-plane/receiver.ts";
import { startNats } from "../../../test/support/servers/servers.ts";
import {
	startServer,
	temporaryDirectory,
} from "../../../test/support/servers/test-server.ts";

/** A server to put under load. */
export interface Contender {
	host: string;
	port: number;
	/** Paths of the webhook URLs, one per source. */
	paths: string[];
}

export interface Contenders {
	/** Receive, which syncs every write. */
	receive: Contender;
	/** Their process ids. */
	pids: { receive: number; nats: number };
	/** Deletes what was stored, as archive does, so that a round doesn't pay for earlier ones. */
	emptyStreams(): Promise<void>;
	/** Parses the body, gives the same answer and stores nothing. */
	plain: Contender;
	/** The same without parsing, as quick as fastify can be. */
	tuned: Contender;
	/** Publishes each event by itself, to a NATS of its own: hundreds of thousands of messages make one slower for receive. */
	publishPerEvent: Contender;
	stop(): Promise<void>;
}

/** All have receive's options of V8 and of the allocator, and a compile cache. @param sources number of webhook URLs that receive has. */
export async function startContenders(sources: number): Promise<Contenders> {
	const compileCache = await temporaryDirectory("compile-cache");
	const { nats, admin, stream, receiver, routes, stop } =
		await startReceiveFixture(
			{ max_bytes: 8 * 1024 ** 3 },
			{ NODE_COMPILE_CACHE: compileCache },
		);
	// Like every process but a machine's first, each takes its code from the compile cache.
	await receiver.kill("SIGTERM");
	await receiver.start();
	await untilReady(receiver);
	const { streams } = await jetstreamManager(admin);
	const others = await startNats();
	const othersAdmin = await connectAdmin(others);
	const othersStreams = (await jetstreamManager(othersAdmin)).streams;
	const paths: string[] = [];
	for (let i = 0; i < sources; i++)
		paths.push((await routes.add({ maxBodyBytes: 4 * 1024 ** 2 })).path);
	const { hostname, port } = new URL(receiver.url);
	const env = { NATS_URL: others.url, NODE_COMPILE_CACHE: compileCache };
	const [plain, tuned, publishPerEvent] = await Promise.all([
		startBaseline("plain-fastify", env),
		startBaseline("tuned-fastify", env),
		startBaseline("publish-per-event", env),
	]);
	return {
		receive: { host: hostname, port: Number(port), paths },
		pids: { receive: receiver.pid, nats: nats.pid },
		emptyStreams: async () => {
			await streams.purge(stream);
			await othersStreams.purge(eventStream);
		},
		plain: plain.contender,
		tuned: tuned.contender,
		publishPerEvent: publishPerEvent.contender,
		stop: async () => {
			await Promise.all([plain.stop(), tuned.stop(), publishPerEvent.stop()]);
			await othersAdmin.close();
			await Promise.all([others.stop(), stop()]);
			await rm(compileCache, { recursive: true });
		},
	};
}

/** The stream of publish-per-event.ts. */
const eventStream = "bench";

/** Starts a server of this folder on a free port, bundled as Tidemill is and with what receive is started with. */
export async function startBaseline(
	name: string,
	env: Record<string, string> = {},
): Promise<{ contender: Contender; stop(): Promise<void> }> {
	const port = await freePort();
	const directory = await temporaryDirectory(name);
	const program = join(directory, `${name}.mjs`);
	const build = await rolldown({
		platform: "node",
		input: new URL(`${name}.ts`, import.meta.url).pathname,
	});
	await build.write({ file: program, codeSplitting: false });
	const server = await startServer(
		{
			name,
			command: process.execPath,
			args: [program, String(port)],
			env: { ...processEnvironment.receive, ...env },
			isReady: () => answersOk(`http://127.0.0.1:${port}/ready`),
			stopTimeoutMs: 1_000,
		},
		directory,
	);
	await server.kill("SIGTERM");
	await server.start();
	const key = () => randomBytes(16).toString("hex");
	return {
		contender: { host: "127.0.0.1", port, paths: [`/hooks/${key()}/${key()}`] },
		stop: () => server.stop(),
	};
}
