// On a laptop nothing proves this: Helm is built for minutes.
import { jetstreamManager } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import { stringify } from "uuid";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { openShardStream } from "../../ingest/archive/read/shard-stream.ts";
import { reloadServers } from "../../operator/nats-reload.ts";
import { bucket } from "../../packages/contracts/nats.ts";
import { republished } from "../../packages/streams/made-streams.ts";
import {
	type NatsCluster,
	startNatsCluster,
} from "../support/chart/nats-cluster.ts";
import {
	readFrames,
	startReceiver,
	TestRoutes,
	untilReady,
} from "../support/fixtures/data-plane/receiver.ts";
import { log } from "../support/fixtures/data-plane/running-archive.ts";
import { startFlow } from "../support/senders/event-flow.ts";
import { untilKnown } from "../support/senders/http-client.ts";
import { md5 } from "../support/senders/persistent-sender.ts";

/* Three servers with the chart's configuration and setup's Secrets. */

const replicas = 3;
let cluster: NatsCluster;

beforeAll(async () => {
	cluster = await startNatsCluster();
});
afterAll(() => cluster?.stop());

async function connectAs(user: Parameters<NatsCluster["connectAs"]>[0]) {
	const connection = await cluster.connectAs(user);
	onTestFinished(() => connection.close());
	return connection;
}

test("the server that leads a stream is killed under load, and then the one that leads after it: two of three go on, and no acknowledged event is lost", async () => {
	const archive = await connectAs("archive");
	const settings = { maxBytes: 256 * 1024 ** 2, replicas };
	// Until the servers have elected who leads JetStream, it answers nothing.
	const stream = await vi.waitFor(
		() => openShardStream(archive, 0, settings, log),
		{ timeout: 60_000, interval: 100 },
	);
	const admin = await connectAs("admin");
	await new Kvm(admin).create(bucket.routes, {
		history: 1,
		replicas,
		...republished(bucket.routes),
	});
	const routes = new TestRoutes(admin);
	const { path } = await routes.add();
	await routes.markSynced();
	const { NATS_URL, NATS_CA_FILE } = cluster.environmentOf("receive");
	const receiver = await startReceiver(
		{ urlFor: () => NATS_URL },
		{ env: { NATS_CA_FILE } },
	);
	onTestFinished(() => receiver.stop());
	await untilReady(receiver);
	const webhookURL = receiver.url + path;
	await untilKnown(webhookURL);

	const { streams } = await jetstreamManager(admin, { checkAPI: false });
	const untilWhole = () =>
		vi.waitFor(
			async () => {
				const { cluster } = await streams.info(stream);
				expect(cluster?.replicas?.map(({ current }) => current)).toEqual([
					true,
					true,
				]);
				return cluster!.leader!;
			},
			{ timeout: 60_000, interval: 100 },
		);
	const flow = startFlow(
		{
			webhookURL,
			query: async <Row>() =>
				(await readFrames(admin, stream)).flatMap(({ events }) =>
					events.map(({ id, body }) => ({
						event_id: stringify(id),
						digest: md5(Buffer.from(body).toString()),
					})),
				) as Row[],
		},
		{ pauseMs: 5 },
	);
	onTestFinished(() => flow.stop());
	for (const which of ["first", "second"]) {
		await flow.untilMore(100);
		const leader = await untilWhole();
		const failedBefore = flow.sent.unknown.size;
		const killedMs = Date.now();
		await cluster.servers.get(leader)!.kill();
		await vi.waitFor(
			() => {
				const answered = [...flow.sent.acknowledged.values()];
				expect(answered.at(-1)!.sentAtMs).toBeGreaterThan(killedMs);
			},
			{ timeout: 60_000, interval: 10 },
		);
		const servedMs = Date.now() - killedMs;
		await flow.untilMore(100);
		console.log(
			`the ${which} leader killed: an event sent after that was acknowledged after ${servedMs} ms; ${flow.sent.unknown.size - failedBefore} requests failed`,
		);
		await cluster.servers.get(leader)!.start();
	}
	await untilWhole();
	await flow.stop();
	expect(await flow.brokenPromises()).toEqual([]);
});

test("the servers sync every write, and read a renewed certificate when the operator asks", async () => {
	const connection = await connectAs("receive");
	const configs = async () => {
		const answers: unknown[] = [];
		for await (const answer of await connection.requestMany(
			"$SYS.REQ.SERVER.PING.JSZ",
			undefined,
			{ strategy: "count", maxMessages: 3, maxWait: 10_000 },
		))
			answers.push(answer.json<{ data: { config: unknown } }>().data.config);
		return answers;
	};
	const inSync = Array(3).fill(
		expect.objectContaining({
			sync_always: true,
			max_storage: 12_884_901_888,
		}),
	);
	expect(await configs()).toEqual(inSync);

	const fingerprint = await cluster.renewCertificate();
	expect(await cluster.certificates()).not.toContain(fingerprint);
	const reloaded = await reloadServers(await connectAs("operator"));
	expect(reloaded.toSorted((a, b) => (a.server < b.server ? -1 : 1))).toEqual(
		[...cluster.servers.keys()].map((server) => ({ server, error: undefined })),
	);
	expect(await cluster.certificates()).toEqual(Array(3).fill(fingerprint));
	expect(connection.isClosed()).toBe(false);
	expect(await configs()).toEqual(inSync);
	await cluster.breakCertificate();
	for (const { error } of await reloadServers(await connectAs("operator")))
		expect(error).toMatch(/tls/i);
	expect(await cluster.certificates()).toEqual(Array(3).fill(fingerprint));
});
