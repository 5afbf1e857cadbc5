// In make test: operator/source/placement.test.ts
import { randomUUID } from "node:crypto";
import { expect, onTestFinished, test, vi } from "vitest";
import { askArchive } from "../../operator/reconcile/archive-question.ts";
import type {
	Manifest,
	ManifestAnswer,
} from "../../packages/contracts/manifest.ts";
import { manifestSubject } from "../../packages/contracts/nats.ts";
import type { Route } from "../../packages/contracts/route.ts";
import { createLog } from "../../packages/service/log.ts";
import { readArchivedRows } from "../support/examples/archived-rows.ts";
import { startArchiveProcess } from "../support/faults/archive-process.ts";
import {
	ArchiveFixture,
	eventually,
} from "../support/fixtures/data-plane/archive-fixture.ts";
import {
	connectAdmin,
	startReceiver,
	TestRoutes,
	untilReady,
} from "../support/fixtures/data-plane/receiver.ts";
import {
	brokenPromises,
	md5,
	newSent,
	type PlainRow,
	type Sent,
	sendPersistently,
} from "../support/senders/persistent-sender.ts";
import { startServers } from "../support/servers/archive-servers.ts";

/** A Source, and what became of the events that its senders send all the time. */
interface Sending {
	route: Route;
	/** On the receiver of the moment. */
	urls: string[];
	path: string;
	sent: Sent;
	ended: Promise<void>;
}

test("each event is once in its Source's objects and manifest, while receive and archive die and two shards become four", async () => {
	const servers = await startServers();
	onTestFinished(() => servers.stop());
	const archive = await ArchiveFixture.open(servers, 0);
	const admin = await connectAdmin(servers.nats);
	onTestFinished(() => admin.close());
	const routes = new TestRoutes(admin);
	await routes.markSynced();
	const archiveOf = (shards: string) =>
		startArchiveProcess(archive, { ARCHIVE_SHARDS: shards });
	const receiverOf = async (shards: number) => {
		const env = { TIDEMILL_SHARDS: String(shards) };
		const receiver = await startReceiver(servers.nats, { env });
		onTestFinished(() => receiver.kill());
		return receiver;
	};

	const all: Sending[] = [];
	let isOver = false;
	const begin = async (base: string, account: string, shard: number) => {
		const source = `source-${all.length}`;
		const { route, path } = await routes.add({ account, source, shard });
		const urls = [base + path];
		const sent = newSent();
		const ended = sendPersistently({
			urls,
			senders: 2,
			body: (n) => JSON.stringify({ source, n }),
			isDone: () => isOver,
			sent,
			pauseMs: 10,
		});
		all.push({ route, urls, path, sent, ended });
	};
	const untilMore = async (events: number) => {
		const before = all.map(({ sent }) => sent.acknowledged.size);
		await eventually(() => {
			for (const [index, { sent }] of all.entries())
				expect(sent.acknowledged.size).toBeGreaterThan(before[index]! + events);
		});
	};

	// Two shards in one process. Neighbours share a shard, and an account has Sources on both.
	const both = await archiveOf("0,1");
	const first = await receiverOf(2);
	await untilReady(first);
	await begin(first.url, "shop", 0);
	await begin(first.url, "shop", 1);
	await begin(first.url, "other", 0);
	await begin(first.url, "other", 1);
	await untilMore(20);
	await first.kill();
	await first.start();
	await untilMore(20);

	// Two more in a process of their own, then receive, as `shards: 4` brings them.
	await archiveOf("2,3");
	const second = await receiverOf(4);
	await untilReady(second);
	for (const { urls, path } of all) urls[0] = second.url + path;
	await first.stop();
	await begin(second.url, "shop", 2);
	await begin(second.url, "other", 3);
	await untilMore(20);
	both.child.kill("SIGKILL");
	await both.ended;
	await archiveOf("0,1");
	await untilMore(20);
	isOver = true;
	await Promise.all(all.map(({ ended }) => ended));

	let stored = 0;
	for (const { route, sent } of all) {
		const { shard, sourceKey, account } = route;
		const ask = async () => {
			const given = await askArchive<ManifestAnswer>(
				{ nats: admin, log: createLog("test") },
				{ subject: manifestSubject(shard), shard },
				{ run: randomUUID(), account, sourceKey, extent: "Whole" },
				"NoAnswer",
				new AbortController().signal,
			);
			if (!given.ok) throw new Error(given.error.message);
			return given;
		};
		// The archive that took over may still be starting: the operator asks again, too.
		const answer = await vi.waitFor(ask, { timeout: 60_000, interval: 500 });
		const manifest = (await (await fetch(answer.url)).json()) as Manifest;
		const rows: PlainRow[] = [];
		for (const { key, url } of manifest.dates.flatMap((day) => day.objects)) {
			expect(key).toContain(`/tidemill-frames-${shard}-`);
			const bytes = Buffer.from(await (await fetch(url)).arrayBuffer());
			for (const { event_id, body } of await readArchivedRows(bytes))
				rows.push({ event_id, digest: md5(body) });
		}
		expect(brokenPromises(rows, sent)).toEqual([]);
		stored += rows.length;
	}
	// The manifests leave nothing out.
	expect(await archive.rows()).toHaveLength(stored);
});
