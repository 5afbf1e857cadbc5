// In make test: operator/source/placement.test.ts
import { jetstreamManager } from "@nats-io/jetstream";
import { expect, onTestFinished, test } from "vitest";
import { openShardStream } from "../../ingest/archive/read/shard-stream.ts";
import { connectNats } from "../../packages/service/nats/connection.ts";
import { Settings } from "../../packages/service/settings.ts";
import { connectAdmin } from "../support/fixtures/data-plane/receiver.ts";
import { log } from "../support/fixtures/data-plane/running-archive.ts";
import { startNats } from "../support/servers/servers.ts";

const shards = 20;
const archivers = 4;
const stream = { maxBytes: 64 * 1024 ** 2, replicas: 1 };

test("archivers that miss a shard's stream at the same time make one, and NATS knows it after its next start", async () => {
	const nats = await startNats();
	onTestFinished(() => nats.stop());
	const settings = new Settings({ NATS_URL: nats.urlFor("archive") });
	const connections = await Promise.all(
		Array.from({ length: archivers }, () =>
			connectNats(settings, "archive", log),
		),
	);
	for (const each of connections) onTestFinished(() => each.close());
	const made = new Set<string>();
	for (let shard = 0; shard < shards; shard++) {
		const names = await Promise.all(
			connections.map((each) => openShardStream(each, shard, stream, log)),
		);
		expect(new Set(names).size).toBe(1);
		made.add(names[0]!);
	}

	await nats.kill();
	await nats.start();
	const admin = await connectAdmin(nats);
	onTestFinished(() => admin.close());
	const { streams } = await jetstreamManager(admin);
	const names = await Array.fromAsync(streams.names("tidemill.frames.*"));
	expect(new Set(names.flat())).toEqual(made);
});

test("a stream that is made after one was deleted has another name", async () => {
	const nats = await startNats();
	onTestFinished(() => nats.stop());
	const admin = await connectAdmin(nats);
	onTestFinished(() => admin.close());
	const first = await openShardStream(admin, 0, stream, log);
	expect(await openShardStream(admin, 0, stream, log)).toBe(first);
	const { streams } = await jetstreamManager(admin);
	await streams.delete(first);
	expect(await openShardStream(admin, 0, stream, log)).not.toBe(first);
});
