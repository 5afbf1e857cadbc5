// In make test: ingest/archive/stopped-shards.test.ts
import { jetstreamManager } from "@nats-io/jetstream";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { encodeFrameHead } from "../../ingest/wire/frame.ts";
import { LedgerView } from "../../operator/reconcile/ledgers.ts";
import { startArchiveProcess } from "../support/faults/archive-process.ts";
import {
	ArchiveFixture,
	eventually,
	newEvent,
} from "../support/fixtures/data-plane/archive-fixture.ts";
import { log } from "../support/fixtures/data-plane/running-archive.ts";
import {
	type Servers,
	startServers,
} from "../support/servers/archive-servers.ts";
import { connectAs } from "../support/servers/servers.ts";

let servers: Servers;
beforeAll(async () => {
	servers = await startServers();
});
afterAll(() => servers?.stop());

/** What the operator knows of the archive's shard. */
async function operatorView({ shard }: ArchiveFixture) {
	const nats = await connectAs(servers.nats, "operator");
	const view = new LedgerView(nats, log);
	const watching = new AbortController();
	const ended = view.run(watching.signal);
	onTestFinished(async () => {
		watching.abort();
		await ended;
		await nats.close();
	});
	return () => view.shard(shard)?.stopped;
}

test("the operator learns of a shard in alarm by its code, and that an archive works on it again", async () => {
	const archive = await ArchiveFixture.open(servers);
	const stopped = await operatorView(archive);
	const frame = encodeFrameHead(archive.process, 1, [], 0);
	frame[3] = 9;
	await archive.publishBytes(frame, "x");
	const { child, ended } = await startArchiveProcess(archive);
	await eventually(() =>
		expect(stopped()).toEqual({ alarm: "FrameUnreadable" }),
	);
	child.kill("SIGKILL");
	await ended;
	const { streams } = await jetstreamManager(archive.connection);
	await streams.purge(archive.stream, { seq: 2 });
	await archive.publish([newEvent("2")], { number: 2 });
	await startArchiveProcess(archive);
	await eventually(async () => {
		expect(await archive.bodies()).toEqual(["2"]);
		expect(stopped()).toBeUndefined();
	});
});
