// In make test: test/data-plane/nats-users.laptop.test.ts
import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { pino } from "pino";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { openKeyBucket } from "../../ingest/archive/write/idempotency-settlement.ts";
import { openOrders } from "../../ingest/notify/deliverer.ts";
import { IdempotencyBucket } from "../../ingest/wire/idempotency-bucket.ts";
import { claimed } from "../../ingest/wire/idempotency-entry.ts";
import { type NatsRole, natsUsers } from "../../operator/install/nats-users.ts";
import {
	bucket,
	framesSubject,
	manifestSubject,
	notifications,
	rates,
} from "../../packages/contracts/nats.ts";
import { openWatched } from "../../packages/streams/changes.ts";
import { haveMade } from "../../packages/streams/made-streams.ts";
import { answerRoles } from "../../packages/streams/stream-maker.ts";
import { makeEach } from "../support/fixtures/nats/accounts.ts";
import {
	type ReloadedNats,
	startReloadedCluster,
} from "../support/servers/reloaded-nats.ts";
import { startTidemill } from "../support/servers/tidemill-process.ts";

/* Accounts where each stream's leader may be on another server than a role. */

const log = pino({ level: "silent" });
const patient = { timeout: 60_000, interval: 100 };
const passwords = Object.fromEntries(natsUsers.map((user) => [user, user]));
const servers: ReloadedNats[] = [];

beforeAll(async () => {
	servers.push(...(await startReloadedCluster(passwords)));
});
afterAll(async () => {
	for (const server of servers) await server.stop();
});

async function as(
	user: NatsRole | "admin",
	server: number,
): Promise<NatsConnection> {
	const connection = await connect({
		servers: servers[server]!.address.replace("nats://", ""),
		...{ user, pass: user, inboxPrefix: `_INBOX_${user}`, timeout: 60_000 },
	});
	onTestFinished(() => connection.close());
	return connection;
}

test("each role reaches the streams and the other roles from each server", async () => {
	const archive = await as("archive", 0);
	const options = { connection: archive, replicas: 3, log };
	await vi.waitFor(() => makeEach(archive, options.replicas), patient);
	answerRoles(options);
	const { streams } = await jetstreamManager(archive, { checkAPI: false });
	await streams.add({
		name: "tidemill-frames-0-0",
		subjects: [framesSubject(0)],
		num_replicas: 3,
	});
	await openKeyBucket(archive, { maxKeys: 10, replicas: 3 });
	archive.subscribe(manifestSubject(0), {
		callback: (_, question) => {
			question.respond("working");
			question.respond("answer");
		},
	});
	await archive.flush();
	for (const server of [0, 1, 2]) {
		const receive = await as("receive", server);
		const operator = await as("operator", (server + 1) % 3);
		const routes = await new Kvm(operator).open(bucket.routes);
		const watch = await (await openWatched(receive, bucket.routes)).watch();
		const seen: string[] = [];
		const watching = (async () => {
			for await (const { key } of watch) seen.push(key);
		})();
		await routes.put(`before.${server}`, "route");
		await vi.waitFor(() => expect(seen).toContain(`before.${server}`), patient);
		await routes.put(`after.${server}`, "route");
		await vi.waitFor(() => expect(seen).toContain(`after.${server}`), patient);
		watch.stop();
		await watching;
		const frame = jetstream(receive, { checkAPI: false });
		expect((await frame.publish(framesSubject(0), "frame")).stream).toBe(
			"tidemill-frames-0-0",
		);
		const keys = await IdempotencyBucket.open(receive, 60_000);
		const times = { nowMs: Date.now(), windowMs: 9e5, shard: 0 };
		const entry = claimed("event", "claim", times);
		expect(await keys.write(`shop.${server}`, entry, 0)).toBe(server + 1);
		expect(await keys.read(`shop.${server}`)).toMatchObject({ entry });

		const answers = await operator.requestMany(manifestSubject(0), "", {
			...{ strategy: "count", maxMessages: 2, maxWait: 60_000 },
		});
		const said = await Array.fromAsync(answers, (one) => one.string());
		expect(said).toEqual(["working", "answer"]);
		const order = notifications.subject(`shop-${server}`);
		await jetstream(operator, { checkAPI: false }).publish(order, "order");
		const notify = await as("notify", server);
		const orders = await openOrders(notify);
		const taken = await orders.next({ expires: 30_000 });
		expect(taken?.subject).toBe(order);
		expect(await taken?.ackAck()).toBe(true);
		await haveMade(await as("api", server), rates.stream, 3);
	}
});

test("`tidemill buffer replicas` gives each stream as many copies as archive's setting says, and others' none", async () => {
	const archive = await as("archive", 0);
	const admin = await as("admin", 0);
	const { streams } = await jetstreamManager(admin, { checkAPI: false });
	const copies = async () => {
		const all = await Array.fromAsync(streams.list());
		return Object.fromEntries(
			all.map(({ config }) => [config.name, config.num_replicas]),
		);
	};
	// As those that are there already.
	await vi.waitFor(() => makeEach(archive, 3), patient);
	await streams.add({ name: "others", subjects: ["others"], num_replicas: 1 });
	for (const name of Object.keys(await copies()))
		await streams.update(name, { num_replicas: 1 });
	const { host } = new URL(servers[0]!.address);
	const run = (STREAM_REPLICAS: string) =>
		startTidemill(["buffer", "replicas"], {
			NATS_URL: `nats://archive:archive@${host}`,
			...{ AWS_REGION: "r", S3_BUCKET: "events", AWS_ACCESS_KEY_ID: "a" },
			...{ AWS_SECRET_ACCESS_KEY: "b", STREAM_REPLICAS },
		}).ended;
	expect(await run("3")).toMatchObject({ exitCode: 0, stderr: "" });
	const { others, ...own } = await copies();
	expect(others).toBe(1);
	expect(new Set(Object.values(own))).toEqual(new Set([3]));
	expect((await run("3")).stdout).toBe("All streams have 3 copies.\n");
	// There are three servers.
	expect(await run("5")).toMatchObject({
		exitCode: 1,
		stderr: expect.stringContaining("still 3, since NATS says"),
	});
});
