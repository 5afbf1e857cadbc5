import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { jetstreamManager } from "@nats-io/jetstream";
import { freePort } from "../local/ports.ts";
import { answersOk } from "../local/probe.ts";
import {
	startReceiveFixture,
	untilReady,
} from "../test/support/fixtures/receiver.ts";
import {
	startServer,
	temporaryDirectory,
} from "../test/support/servers/test-server.ts";

/** A server under load. */
export interface Contender {
	host: string;
	port: number;
	/** URLs' paths, as many as there are sources. */
	paths: string[];
}

export interface Contenders {
	/** Every write synced. */
	receive: Contender;
	/** Process id of receive. */
	receivePid: number;
	/** Deletes what receive stored, as archive would: a round that begins with it doesn't pay for those before. */
	emptyStream(): Promise<void>;
	/** Answers the same, and stores nothing. */
	fastify: Contender;
	/** Publishes each event by itself to the same NATS. */
	publishPerEvent: Contender;
	stop(): Promise<void>;
}

/** @param sources how many URLs receive has. */
export async function startContenders(sources: number): Promise<Contenders> {
	const compileCache = await temporaryDirectory("compile-cache");
	const { nats, admin, stream, receiver, routes, stop } =
		await startReceiveFixture(
			{ max_bytes: 8 * 1024 ** 3 },
			{ NODE_COMPILE_CACHE: compileCache },
		);
	// As every process but a machine's first: with its code from the cache.
	await receiver.kill("SIGTERM");
	await receiver.start();
	await untilReady(receiver);
	const { streams } = await jetstreamManager(admin);
	const paths: string[] = [];
	for (let i = 0; i < sources; i++)
		paths.push((await routes.add({ maxBodyBytes: 4 * 1024 ** 2 })).path);
	const { hostname, port } = new URL(receiver.url);
	const fastify = await startScript("plain-fastify");
	const publishPerEvent = await startScript("publish-per-event", {
		NATS_URL: nats.url,
	});
	return {
		receive: { host: hostname, port: Number(port), paths },
		receivePid: receiver.pid,
		emptyStream: async () => {
			await streams.purge(stream);
		},
		fastify: fastify.contender,
		publishPerEvent: publishPerEvent.contender,
		stop: async () => {
			await fastify.stop();
			await publishPerEvent.stop();
			await stop();
			await rm(compileCache, { recursive: true });
		},
	};
}

async function startScript(
	name: string,
	env: Record<string, string> = {},
): Promise<{ contender: Contender; stop(): Promise<void> }> {
	const port = await freePort();
	const server = await startServer(
		{
			name,
			command: process.execPath,
			args: [new URL(`${name}.ts`, import.meta.url).pathname, String(port)],
			env,
			isReady: () => answersOk(`http://127.0.0.1:${port}/ready`),
			stopTimeoutMs: 1_000,
		},
		await temporaryDirectory(name),
	);
	const key = () => randomBytes(16).toString("hex");
	return {
		contender: { host: "127.0.0.1", port, paths: [`/hooks/${key()}/${key()}`] },
		stop: () => server.stop(),
	};
}
