// In make test: test/data-plane/nats-users.laptop.test.ts
import { type JetStreamManager, jetstreamManager } from "@nats-io/jetstream";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { NatsRateCounter } from "../../api/caller/rate-counter.ts";
import { NatsIdempotencyStore } from "../../api/http/idempotency-store.ts";
import { openOrders } from "../../ingest/notify/deliverer.ts";
import { DeliveryReports } from "../../ingest/notify/reports.ts";
import { type NatsUser, natsRoles } from "../../operator/install/nats-users.ts";
import { randomPassword } from "../../operator/install/secret-changes.ts";
import { NotificationOutbox } from "../../operator/notification/outbox.ts";
import { natsClaim } from "../../operator/source/routes/route-buckets.ts";
import { bucket, notifications, rates } from "../../packages/contracts/nats.ts";
import type { NotificationOrder } from "../../packages/contracts/notification.ts";
import { createLog } from "../../packages/service/log.ts";
import {
	haveMade,
	madeNames,
	streamOf,
} from "../../packages/streams/made-streams.ts";
import { pipelineOf } from "../support/examples/resource-examples.ts";
import {
	type ReloadedNats,
	startReloadedNats,
} from "../support/servers/reloaded-nats.ts";

/* In the chart's NATS a lost stream is back as soon as its role needs it, without archive: the reloader beside NATS makes it. */

let server: ReloadedNats;
let manager: JetStreamManager;
const as = {} as Record<NatsUser, NatsConnection>;

beforeAll(async () => {
	const users = ["admin", ...natsRoles] as const;
	const passwords = Object.fromEntries(
		users.map((user) => [user, randomPassword()]),
	);
	server = await startReloadedNats(passwords);
	for (const user of users)
		as[user] = await connect({
			...{ servers: server.address, user, pass: passwords[user]! },
			...{ inboxPrefix: `_INBOX_${user}`, timeout: 60_000 },
		});
	manager = await jetstreamManager(as.admin);
});

afterAll(async () => {
	for (const connection of Object.values(as)) await connection.close();
	await server?.stop();
});

const api = { connection: () => as.api, replicas: 1 };
const order = {
	...{ account: "shop", kind: "Pipeline", name: "orders" },
	...{ secret: "alerts", sealed: "sealed" },
	notification: { id: "msg_1", type: "RunFailed", message: "It failed." },
} as NotificationOrder;

/** By the stream or consumer: what its role does that needs it. */
const needs: Record<string, () => Promise<unknown>> = {
	[streamOf(bucket.routes)]: () =>
		haveMade(as.operator, streamOf(bucket.routes), 1),
	[streamOf(bucket.sourceKeys)]: () => natsClaim(as.operator, 1),
	[streamOf(bucket.deliveries)]: () =>
		new DeliveryReports(as.notify, 1).write(order, {
			...{ version: 1, id: "msg_1", state: "Delivered", attempts: 1 },
			...{ time: "2026-03-01T12:00:00.000Z", webhook: "w" },
		}),
	[streamOf(bucket.requests)]: () =>
		new NatsIdempotencyStore(api).getOrCreate(
			{ account: "shop", digest: "0" },
			{ bodyHash: "0" },
		),
	[rates.stream]: () =>
		new NatsRateCounter({ ...api, timeoutMs: 60_000 }).add(1, "somebody", 2),
	[notifications.stream]: () =>
		new NotificationOutbox(as.operator, {
			replicas: 1,
			log: createLog("test"),
		}).handOver(
			pipelineOf(),
			[
				{
					...{ id: "msg_1", type: "RunFailed", message: "It failed." },
					time: "2026-03-01T12:00:00.000Z",
				},
			],
			[{ secret: "alerts", sealed: "sealed" }],
		),
	[notifications.consumer]: () => openOrders(as.notify),
};

/** The settings of all streams and the consumer, by name. */
async function settings(): Promise<Map<string, object>> {
	const streams = await Array.fromAsync(manager.streams.list());
	const found = new Map<string, object>(
		streams.map(({ config }) => [config.name, config]),
	);
	const { stream, consumer } = notifications;
	if (found.has(stream))
		for await (const { name, config } of manager.consumers.list(stream))
			if (name === consumer) found.set(name, config);
	return found;
}

test("without archive, each role has the streams that it needs, and has a lost one back as it was", async () => {
	// The reloader comes a moment after NATS, and each role asks again.
	for (const name of madeNames)
		await vi.waitFor(() => needs[name]!(), { timeout: 60_000, interval: 100 });
	const before = await settings();
	expect([...before.keys()].sort()).toEqual([...madeNames].sort());
	for (const name of madeNames) {
		// The consumer goes with its stream.
		if (name !== notifications.consumer) await manager.streams.delete(name);
		expect((await settings()).has(name)).toBe(false);
		await needs[name]!();
		expect((await settings()).get(name), name).toEqual(before.get(name));
	}
});
