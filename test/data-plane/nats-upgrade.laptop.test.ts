import { readFile } from "node:fs/promises";
import { jetstreamManager } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import type { NatsConnection } from "@nats-io/transport-node";
import { pino } from "pino";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { openKeyBucket } from "../../ingest/archive/write/idempotency-settlement.ts";
import { openOrders } from "../../ingest/notify/deliverer.ts";
import { bucket } from "../../packages/contracts/nats.ts";
import { connectNats } from "../../packages/service/nats/connection.ts";
import { Settings } from "../../packages/service/settings.ts";
import { haveMade, streamOf } from "../../packages/streams/made-streams.ts";
import { makeStreams } from "../../packages/streams/stream-maker.ts";
import {
	connectAdmin,
	createShardStream,
	readFrames,
	startReceiver,
	type TestReceiver,
	TestRoutes,
	untilReady,
} from "../support/fixtures/data-plane/receiver.ts";
import { makeEach } from "../support/fixtures/nats/accounts.ts";
import {
	startEarlierNats,
	type UpgradedNats,
} from "../support/fixtures/nats/one-account.ts";

const patient = { timeout: 60_000, interval: 20 };
const sharedAccount = /all in one account|no account tidemill-receive/;

let nats: UpgradedNats;
let admin: NatsConnection;
let archive: NatsConnection;
let stream: string;
let routes: TestRoutes;
let receiver: TestReceiver;
const warnings: string[] = [];
const stop = new AbortController();

beforeAll(async () => {
	nats = await startEarlierNats();
	admin = await connectAdmin(nats);
	stream = await createShardStream(admin);
	// As an earlier version made it: its stream publishes no changes.
	await new Kvm(admin).create(bucket.routes, { history: 1 });
	routes = new TestRoutes(admin);
	await routes.markSynced();
	const log = pino({ level: "warn" }, { write: (line) => warnings.push(line) });
	const settings = new Settings({ NATS_URL: nats.urlFor("archive") });
	archive = await connectNats(settings, "archive", log);
	await openKeyBucket(archive, { maxKeys: 1_000, replicas: 1 });
	void makeStreams({ connection: archive, replicas: 1, log }, stop.signal);
	receiver = await startReceiver(nats);
	await untilReady(receiver);
});

afterAll(async () => {
	stop.abort();
	await receiver.stop();
	for (const connection of [archive, admin]) await connection.close();
	await nats.stop();
});

test("with the users of an earlier version receive and archive work, and each says that accounts are missing", async () => {
	const { path } = await routes.add();
	await vi.waitFor(async () => expect(await send(path, -3)).toBe(200), patient);
	await vi.waitFor(
		() => expect(warnings.join()).toMatch(sharedAccount),
		patient,
	);
	const said = await readFile(receiver.logFile, "utf8");
	expect(said).toContain("NATS has no account tidemill-receive yet");
	const metrics = await (await fetch(`${receiver.healthUrl}/metrics`)).text();
	expect(metrics).toContain('tidemill_nats_account_missing{role="receive"} 1');
});

test("the step to accounts and back, under load, loses no acknowledged event, and routes go on changing", async () => {
	const { path } = await routes.add();
	await vi.waitFor(async () => expect(await send(path, -1)).toBe(200), patient);
	const acknowledged: number[] = [];
	const ending = new AbortController();
	const senders = Array.from({ length: 4 }, async (_, sender) => {
		for (let n = sender; !ending.signal.aborted; n += 4)
			if ((await send(path, n)) === 200) acknowledged.push(n);
	});
	onTestFinished(() => ending.abort());
	for (const version of ["this", "earlier"] as const) {
		await nats.reload(version);
		// Each kind of account takes events, and tells receive of a new route at once.
		const taken = acknowledged.length;
		await vi.waitFor(
			() => expect(acknowledged.length).toBeGreaterThan(taken + 50),
			patient,
		);
		const { path: added } = await routes.add();
		await vi.waitFor(
			async () => expect(await send(added, -2)).toBe(200),
			patient,
		);
	}
	ending.abort();
	await Promise.all(senders);
	const stored = (await readFrames(admin, stream))
		.flatMap(({ events }) => events)
		.map(({ body }) => JSON.parse(Buffer.from(body).toString()).n as number);
	const times = Map.groupBy(stored, (n) => n);
	expect(acknowledged.filter((n) => times.get(n)?.length !== 1)).toEqual([]);
});

test("a receiver that starts while archive is away serves its routes, in an account of its own", async () => {
	await nats.reload("this");
	const { streams } = await jetstreamManager(admin);
	await vi.waitFor(async () => {
		const { config } = await streams.info(`KV_${bucket.routes}`);
		expect(config.republish).toBeDefined();
	}, patient);
	await makeEach(archive);
	stop.abort();
	await archive.close();
	const { path } = await routes.add();
	const another = await startReceiver(nats);
	try {
		await untilReady(another);
		const answer = await post(another, path, 1);
		expect(answer).toBe(200);
		const { path: later } = await routes.add();
		await vi.waitFor(
			async () => expect(await post(another, later, 1)).toBe(200),
			{ ...patient, timeout: 3_000 },
		);
		expect(await readFile(another.logFile, "utf8")).not.toMatch(sharedAccount);
	} finally {
		await another.stop();
	}
});

test("operator, api and notify that start while archive is away find the buckets and the orders that it has made", async () => {
	const log = pino({ level: "silent" });
	for (const [role, names] of [
		["operator", [bucket.routes, bucket.sourceKeys]],
		["api", [bucket.requests]],
		["notify", [bucket.deliveries]],
	] as const) {
		const settings = new Settings({ NATS_URL: nats.urlFor(role) });
		const connection = await connectNats(settings, role, log);
		onTestFinished(() => connection.close());
		for (const name of names) await haveMade(connection, streamOf(name), 1);
		if (role === "notify")
			expect(await openOrders(connection)).toHaveProperty("fetch");
	}
});

function send(path: string, n: number): Promise<number> {
	return post(receiver, path, n);
}

async function post(
	{ url }: TestReceiver,
	path: string,
	n: number,
): Promise<number> {
	const answer = await fetch(url + path, {
		method: "POST",
		headers: { "content-type": "application/json" },
		body: JSON.stringify({ n }),
	});
	await answer.arrayBuffer();
	return answer.status;
}
