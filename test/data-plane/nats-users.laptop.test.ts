import { rm } from "node:fs/promises";
import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import { connect, headers, type NatsConnection } from "@nats-io/transport-node";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { NatsRateCounter } from "../../api/caller/rate-counter.ts";
import { readCountsFrom } from "../../api/events/days.ts";
import { NatsIdempotencyStore } from "../../api/http/idempotency-store.ts";
import { askArchiveForLog } from "../../api/runs/logs.ts";
import { whileAnnounced } from "../../ingest/archive/announcement.ts";
import { openKeyBucket } from "../../ingest/archive/write/idempotency-settlement.ts";
import { NatsProgress } from "../../ingest/archive/write/nats-progress.ts";
import { answerCounts } from "../../ingest/lake/request/counts.ts";
import { Responder } from "../../ingest/lake/request/responder.ts";
import { openOrders } from "../../ingest/notify/deliverer.ts";
import { DeliveryReports } from "../../ingest/notify/reports.ts";
import { LivingArchives } from "../../ingest/receive/commit/living-archives.ts";
import { IdempotencyBucket } from "../../ingest/wire/idempotency-bucket.ts";
import { claimed } from "../../ingest/wire/idempotency-entry.ts";
import { ensurePki } from "../../local/servers/pki.ts";
import {
	type NatsRole,
	natsPermissions,
	natsRoles,
} from "../../operator/install/nats-users.ts";
import { NotificationOutbox } from "../../operator/notification/outbox.ts";
import { addedKey, furtherKey } from "../../packages/contracts/ledger.ts";
import type { LogAnswer } from "../../packages/contracts/manifest.ts";
import {
	bucket,
	countsSubject,
	deletionSubject,
	exportSubject,
	framesSubject,
	logSubject,
	manifestSubject,
	notifications,
	rates,
	resultSubject,
	serverStateSubject,
	streamName,
	tailSubject,
	uploadSubject,
} from "../../packages/contracts/nats.ts";
import {
	type DeliveryReport,
	type NotificationOrder,
	webhookDigest,
} from "../../packages/contracts/notification.ts";
import type { UtcDate } from "../../packages/contracts/utc-date.ts";
import { createLog } from "../../packages/service/log.ts";
import { BucketWatch } from "../../packages/service/nats/bucket-watch.ts";
import { connectNats } from "../../packages/service/nats/connection.ts";
import { Settings } from "../../packages/service/settings.ts";
import { openWatched } from "../../packages/streams/changes.ts";
import {
	haveMade,
	republished,
	streamOf,
} from "../../packages/streams/made-streams.ts";
import { pipelineOf } from "../support/examples/resource-examples.ts";
import { connectAdmin } from "../support/fixtures/data-plane/receiver.ts";
import { makeEach } from "../support/fixtures/nats/accounts.ts";
import { startNats, type TestNats } from "../support/servers/servers.ts";
import { temporaryDirectory } from "../support/servers/test-server.ts";

const frames = streamName(0, "0123456789abcdef");
const refused = /Permissions Violation/i;
const patient = { timeout: 120_000 };
const untilSeen = { ...patient, interval: 20 };
const log = createLog("test");

let server: TestNats;
const as = {} as Record<NatsRole, NatsConnection>;

beforeAll(async () => {
	server = await startNats();
	for (const role of natsRoles) {
		const url = new URL(server.urlFor(role));
		as[role] = await connect({
			servers: url.host,
			user: url.username,
			pass: url.password,
			inboxPrefix: `_INBOX_${role}`,
			...patient,
		});
	}
	await makeEach(as.archive);
	for (const name of [bucket.ledger, bucket.archives])
		await new Kvm(as.archive).create(name, {
			history: 1,
			...republished(name),
		});
	await new Kvm(as.archive).create(bucket.objectsDone);
	const streams = (await jetstreamManager(as.archive)).streams;
	await streams.add({ name: frames, subjects: [framesSubject(0)] });
});

afterAll(async () => {
	for (const connection of Object.values(as)) await connection.close();
	await server.stop();
});

test("operator writes routes and source keys; receive reads routes", async () => {
	const routes = await new Kvm(as.operator).open(bucket.routes);
	await routes.put("source.x", "a route");
	const owners = await new Kvm(as.operator).open(bucket.sourceKeys);
	await owners.create("x", "default");

	const seen = await (await openWatched(as.receive, bucket.routes)).watch();
	const read: string[] = [];
	for await (const entry of seen) {
		read.push(entry.string());
		if (read.length === 1) await routes.put("source.x", "a changed route");
		else break;
	}
	expect(read).toEqual(["a route", "a changed route"]);
});

test("receive publishes frames, which archive reads and purges", async () => {
	const { stream } = await jetstream(as.receive).publish(
		framesSubject(0),
		"frame",
	);
	expect(stream).toBe(frames);
	const consumer = await jetstream(as.archive).consumers.get(frames);
	expect((await consumer.next({ expires: 60_000 }))?.string()).toBe("frame");
	const { streams } = await jetstreamManager(as.archive);
	expect((await streams.purge(frames, { seq: 2 })).purged).toBe(1);
});

test("receive and archive write senders' keys, and receive reads how far objects are done", async () => {
	await openKeyBucket(as.archive, { maxKeys: 1, replicas: 1 });
	const times = { nowMs: Date.now(), windowMs: 9e5, shard: 0 };
	const entry = claimed("event", "claim", times);
	const ofReceive = await IdempotencyBucket.open(as.receive, 120_000);
	const revision = await ofReceive.write("x", entry, 0);
	const ofArchive = await IdempotencyBucket.open(as.archive, 120_000);
	const kept = { entry, revision };
	// The client's own, for requests.
	await ofArchive.read("x");
	const subscriptions = subscriptionsOf(as.archive);
	expect(await ofArchive.readMany(["y", "z"])).toEqual(new Map());
	expect(await ofArchive.readMany(["x", "y"])).toEqual(new Map([["x", kept]]));
	expect(subscriptionsOf(as.archive)).toBe(subscriptions);
	expect(await ofArchive.write("x", entry, revision!)).toBeGreaterThan(0);
	expect(await ofReceive.read("x")).toMatchObject({ entry });
	expect(await ofReceive.count()).toEqual({ keys: 1, maxKeys: 1 });
	for (const key of ["shop.a", "shop.b", "shop-2.a"])
		await ofReceive.write(key, entry, 0);
	expect(await ofReceive.countOf("shop")).toBe(2);
	expect(await ofReceive.countOf("sho")).toBe(0);
	const done = await new Kvm(as.receive).open(bucket.objectsDone);
	expect(await done.get("x")).toBeNull();
});

test("the API asks archive for logs, waits while archive works on it, and asks for nothing else", async () => {
	let answer: LogAnswer = { ok: true, log: "loaded\n" };
	const asked: string[] = [];
	as.archive.subscribe(logSubject, {
		callback: (_error, question) => {
			asked.push(question.string());
			question.respond('{"working":true}');
			question.respond(JSON.stringify(answer));
		},
	});
	await as.archive.flush();
	const ask = askArchiveForLog(() => as.api);
	const question = { run: "u", account: "shop" };
	expect(await ask(question)).toBe("loaded\n");
	expect(JSON.parse(asked[0]!)).toEqual(question);
	const error = { code: "StoreUnavailable", message: "no", retryable: true };
	answer = { ok: false, error };
	await expect(ask(question)).rejects.toThrow("no");
	expect(
		natsPermissions.api.publish.allow.filter((subject) =>
			subject.startsWith("tidemill.archive."),
		),
	).toEqual([
		logSubject,
		countsSubject,
		tailSubject("*"),
		"tidemill.archive.*.events",
		exportSubject,
		uploadSubject,
	]);
});

test("operator asks archive for manifests, results and deletions, and reads its ledger", async () => {
	for (const subject of [
		manifestSubject(0),
		deletionSubject(0),
		resultSubject(0),
	]) {
		as.archive.subscribe(subject, {
			callback: (_error, question) => {
				question.respond("answer");
			},
		});
		await as.archive.flush();
		const answer = await as.operator.request(subject, "question", patient);
		expect(answer.string()).toBe("answer");
	}

	await (await new Kvm(as.archive).open(bucket.ledger)).put("x", "counts");
	const ledger = await new Kvm(as.operator).open(bucket.ledger);
	expect((await ledger.get("x"))?.string()).toBe("counts");
});

test.each(["receive", "archive"] as const)(
	"%s can ask the server whether it syncs every write",
	async (role) => {
		const answer = await as[role].request(
			serverStateSubject,
			'{"config":true}',
			patient,
		);
		expect(answer.json()).toMatchObject({
			data: { config: { sync_always: true } },
		});
	},
);

test("an archive announces which frames it reads from before it works until it has stopped; receive learns of it at once", async () => {
	const archives = new LivingArchives();
	const watching = new AbortController();
	const watched = new BucketWatch(
		() => openWatched(as.receive, bucket.archives),
		archives,
		log,
	).run(watching.signal);
	onTestFinished(async () => {
		watching.abort();
		await watched;
	});
	const reads = () => [archives.read(0, 3), archives.read(4, 3)];
	const archive = { connection: as.archive, replicas: 1, shards: [0, 4], log };
	const { streams } = await jetstreamManager(as.archive, { checkAPI: false });
	const working = Promise.withResolvers<void>();
	const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
	const announced = whileAnnounced(
		archive,
		new AbortController().signal,
		async () => {
			const { state } = await streams.info(`KV_${bucket.archives}`);
			expect(state.messages).toBe(1);
			working.resolve();
			await stopped;
		},
	);
	await Promise.race([working.promise, announced]);
	await vi.waitFor(() => expect(reads()).toEqual([true, true]), untilSeen);
	const archivesBucket = await new Kvm(as.archive).open(bucket.archives);
	const old = { frameVersion: 2, shards: [4] };
	await archivesBucket.put("old", JSON.stringify(old));
	await vi.waitFor(() => expect(reads()).toEqual([true, false]), untilSeen);
	stop();
	await announced;
	await vi.waitFor(() => expect(reads()).toEqual([false, false]), untilSeen);
});

test("api writes idempotency keys and rate limits", async () => {
	await haveMade(as.api, streamOf(bucket.requests), 1);
	const requests = await new Kvm(as.api).open(bucket.requests);
	await requests.put("x", "a request");
	expect((await requests.get("x"))?.string()).toBe("a request");
	await haveMade(as.api, rates.stream, 1);
	const increment = headers();
	increment.set("Nats-Incr", "+1");
	const answer = await as.api.request(rates.subject(1, "x"), "", {
		headers: increment,
		...patient,
	});
	expect(answer.json()).toMatchObject({ val: "1" });
});

test("a stream of another role's that is lost is back as soon as the role needs it, made by archive", async () => {
	const admin = await connectAdmin(server);
	onTestFinished(() => admin.close());
	const { streams } = await jetstreamManager(admin);
	for (const stream of [rates.stream, streamOf(bucket.requests)])
		await streams.delete(stream);
	const options = { connection: () => as.api, replicas: 1 };
	const counter = new NatsRateCounter({ ...options, timeoutMs: 60_000 });
	expect(await counter.add(1, "somebody", 2)).toBe(2);
	const store = new NatsIdempotencyStore(options);
	const request = { account: "shop", digest: "0" };
	const record = { bodyHash: "0" };
	await store.getOrCreate(request, record);
	const made = await streams.info(streamOf(bucket.requests));
	expect(made.state.messages).toBe(1);
});

test("operator hands notifications over, which notify takes and reports on", async () => {
	const outbox = new NotificationOutbox(as.operator, { replicas: 1, log });
	const pipeline = pipelineOf();
	const webhook = { secret: "alerts", sealed: "sealed" };
	const notification = {
		id: "msg_1",
		type: "RunFailed",
		time: new Date().toISOString(),
		message: "It failed.",
	} as const;
	const { left } = await outbox.handOver(pipeline, [notification], [webhook]);
	expect(left).toEqual([]);
	const orders = await openOrders(as.notify);
	const message = (await orders.next({ expires: 60_000 }))!;
	const order = message.json<NotificationOrder>();
	expect(order).toMatchObject({ account: "shop", notification });
	message.working();
	expect(await message.ackAck()).toBe(true);

	const delivery: DeliveryReport = {
		version: 1,
		id: "msg_1",
		state: "Delivered",
		attempts: 1,
		time: notification.time,
		webhook: webhookDigest(webhook),
	};
	await new DeliveryReports(as.notify, 1).write(order, delivery);
	const watching = new AbortController();
	const watched = outbox.run(watching.signal);
	onTestFinished(async () => {
		watching.abort();
		await watched;
	});
	await vi.waitFor(
		() =>
			expect(outbox.deliveriesOf(pipeline, { usable: [webhook] })).toEqual(
				new Map([["alerts", delivery]]),
			),
		untilSeen,
	);
	const other = { ...webhook, sealed: "another webhook" };
	expect(outbox.deliveriesOf(pipeline, { usable: [other] })).toEqual(new Map());
});

test("the API reads what archive counted of a Source whose key it knows, and of no other", async () => {
	const [key, other] = ["5".repeat(32), "6".repeat(32)];
	const ledgers = await new Kvm(as.archive).open(bucket.ledger);
	const ledger = (sourceKey: string, date: UtcDate, count: number) => ({
		version: 1,
		account: "shop",
		sourceKey,
		firstEventDate: date,
		lastEventTime: `${date}T12:00:00.000Z`,
		archivedThrough: `${date}T12:01:00.000Z`,
		archived: { [date]: count },
	});
	const put = (name: string, value: object) =>
		ledgers.put(name, JSON.stringify(value));
	await put(key, ledger(key, "2026-03-01", 1));
	await put(furtherKey(key, 7), ledger(key, "2026-03-02", 2));
	await put(other, ledger(other, "2026-03-01", 4));
	const released = {
		version: 1,
		account: "shop",
		sourceKey: key,
		released: { "2026-03-01": { events: 3, imported: 0, releases: 1 } },
	};
	await put(addedKey(key), released);
	const responder = new Responder(
		{ connection: as.archive, shard: 0, log },
		{
			counts: answerCounts({
				progress: () => NatsProgress.open(as.archive, 1),
			}),
		},
	);
	onTestFinished(() => responder.close());
	await as.archive.flush();
	const ask = readCountsFrom(() => as.api);
	const read = (sourceKey: string, shards: number[], account = "shop") =>
		ask({ account, sourceKey, shards });
	const counts = await read(key, [0, 7]);
	expect(counts.ledger?.archived).toEqual({ "2026-03-01": 1, "2026-03-02": 2 });
	expect(counts.released).toEqual(released);
	expect(await read("7".repeat(32), [0])).toEqual({});
	expect(await read(key, [0, 7], "bakery")).toEqual({});
	for (const name of [">", "*"])
		await expect(read(name, [0])).rejects.toThrow();
	await put(key, {
		version: 1,
		account: "shop",
		sourceKey: key,
		deletedTime: "2026-03-03T00:00:00Z",
	});
	expect((await read(key, [0, 7])).ledger).toBeUndefined();
	// By keys alone: a list would name all Sources, and so would the entry of a wildcard.
	for (const request of ["STREAM.INFO", "DIRECT.GET", "STREAM.MSG.GET"])
		for (const key of ["", `.$KV.${bucket.ledger}.>`])
			await expect(
				as.api.request(
					`$JS.API.${request}.KV_${bucket.ledger}${key}`,
					"",
					patient,
				),
			).rejects.toThrow(refused);
});

const forbidden: [string, () => Promise<unknown>][] = [
	["receive writes a route", () => put("receive", bucket.routes)],
	["archive writes a route", () => put("archive", bucket.routes)],
	["receive announces an archive", () => put("receive", bucket.archives)],
	["operator announces an archive", () => put("operator", bucket.archives)],
	["receive writes objects-done", () => put("receive", bucket.objectsDone)],
	["operator reads senders' keys", () => get("operator", bucket.idempotency)],
	["archive takes a source key", () => put("archive", bucket.sourceKeys)],
	["operator writes the ledger", () => put("operator", bucket.ledger)],
	["api writes the ledger", () => put("api", bucket.ledger)],
	["api reads routes", () => get("api", bucket.routes)],
	[
		"api purges frames",
		async () => (await jetstreamManager(as.api)).streams.purge(frames),
	],
	...(["receive", "archive", "api", "notify"] as const).map(
		(role): [string, () => Promise<unknown>] => [
			`${role} hands a notification over`,
			() =>
				jetstream(as[role]).publish(notifications.subject("shop"), "forged"),
		],
	),
	...(["receive", "api", "operator"] as const).map(
		(role): [string, () => Promise<unknown>] => [
			`${role} takes notifications`,
			() => openOrders(as[role]),
		],
	),
	["operator writes a delivery", () => put("operator", bucket.deliveries)],
	["archive writes a delivery", () => put("archive", bucket.deliveries)],
	["notify reads routes", () => get("notify", bucket.routes)],
	["notify reads source keys", () => get("notify", bucket.sourceKeys)],
	["archive writes a request", () => put("archive", bucket.requests)],
	["receive reads source keys", () => get("receive", bucket.sourceKeys)],
	[
		"operator publishes a frame",
		() => jetstream(as.operator).publish(framesSubject(0), "forged"),
	],
	[
		"receive purges frames",
		async () => (await jetstreamManager(as.receive)).streams.purge(frames),
	],
	[
		"archive deletes another stream than a shard's",
		async () =>
			(await jetstreamManager(as.archive)).streams.delete(
				`KV_${bucket.routes}`,
			),
	],
	[
		"receive deletes a shard's stream",
		async () => (await jetstreamManager(as.receive)).streams.delete(frames),
	],
	[
		"receive deletes a source's events",
		() => as.receive.request(deletionSubject(0), "question", patient),
	],
	[
		"api deletes a source's events",
		() => as.api.request(deletionSubject(0), "question", patient),
	],
	[
		"receive asks for a manifest",
		() => as.receive.request(manifestSubject(0), "question", patient),
	],
];

test.each(forbidden)("%s: refused", async (_case, action) => {
	await expect(action()).rejects.toThrow(refused);
});

test.each(["receive", "operator", "api", "notify"] as const)(
	"%s: neither a stream's settings nor an answer leads to a foreign subject",
	async (role) => {
		const admin = await connectAdmin(server);
		onTestFinished(() => admin.close());
		const victim = `$KV.${bucket.deliveries}.victim`;
		const { streams } = await jetstreamManager(admin);
		const before = await Array.fromAsync(streams.list());
		const republish = { src: ">", dest: `$KV.${bucket.deliveries}.>` };
		for (const verb of ["CREATE", "UPDATE"])
			for (const { config } of before)
				as[role].publish(
					`$JS.API.STREAM.${verb}.${config.name}`,
					JSON.stringify({ ...config, republish }),
				);
		const heard: string[] = [];
		admin.subscribe(">", {
			callback: (_, { subject }) => void heard.push(subject),
		});
		await admin.flush();
		const reply = role === "notify" ? framesSubject(0) : victim;
		as[role].publish("$JS.API.INFO", "", { reply });
		// After the others, on the same connection.
		await as[role].request("$JS.API.INFO", "", patient);
		const after = await Array.fromAsync(streams.list());
		expect(after.map(({ config }) => config)).toEqual(
			before.map(({ config }) => config),
		);
		expect(heard.filter((subject) => subject === "$JS.API.INFO")).toHaveLength(
			2,
		);
		expect(heard).not.toContain(reply);
	},
);

test("no role can listen to another's answers", async () => {
	const listening = as.receive.subscribe("_INBOX_operator.>");
	expect(String(await listening.closed)).toMatch(refused);
});

async function put(role: NatsRole, name: string): Promise<unknown> {
	return jetstream(as[role]).publish(`$KV.${name}.x`, "forged");
}

async function get(role: NatsRole, name: string): Promise<unknown> {
	const subject = `$JS.API.DIRECT.GET.KV_${name}.$KV.${name}.x`;
	return as[role].request(subject, "", patient);
}

test("with NATS_CA_FILE and a client's certificate a role reaches a server that asks for both", async () => {
	const directory = await temporaryDirectory("nats-tls");
	onTestFinished(() => rm(directory, { recursive: true }));
	const { apiserver, operator, ca } = await ensurePki(directory);
	const encrypted = await startNats((config) => {
		config.tls = {
			cert_file: apiserver.certFile,
			key_file: apiserver.keyFile,
			ca_file: ca.certFile,
			verify: true,
		};
		// For the probe of the test's server.
		config.allow_non_tls = true;
	});
	onTestFinished(() => encrypted.stop());
	const connection = await connectNats(
		new Settings({
			NATS_URL: encrypted.urlFor("receive").replace("nats://", "tls://"),
			NATS_CA_FILE: ca.certFile,
			NATS_CERT_FILE: operator.certFile,
			NATS_KEY_FILE: operator.keyFile,
		}),
		"receive",
		createLog("test"),
	);
	expect(connection.info?.tls_available).toBe(true);
	await connection.close();
});

/** Open subscriptions, which only the client's own class shows. */
function subscriptionsOf(connection: NatsConnection): number {
	const { protocol } = connection as unknown as {
		protocol: { subscriptions: { size(): number } };
	};
	return protocol.subscriptions.size();
}
