import { jetstreamManager } from "@nats-io/jetstream";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { WebhookDeliverer } from "../../../ingest/notify/deliverer.ts";
import { DeliveryReports } from "../../../ingest/notify/reports.ts";
import { bucket, notifications } from "../../../packages/contracts/nats.ts";
import { webhookDigest } from "../../../packages/contracts/notification.ts";
import { networkList } from "../../../packages/service/address.ts";
import { connectAdmin } from "../../support/fixtures/data-plane/receiver.ts";
import {
	failureOf,
	log,
	type NotificationScene,
	pipelineIn,
	sealKey,
	startNotificationScene,
	webhookOf,
} from "../../support/fixtures/notifications/notification-scene.ts";
import { startWebhookReceiver } from "../../support/fixtures/notifications/webhook-receiver.ts";

const patient = { timeout: 60_000, interval: 20 };
const [attacker, neighbour] = [pipelineIn("attacker"), pipelineIn("shop")];
let scene: NotificationScene;

beforeAll(async () => {
	scene = await startNotificationScene();
});
afterAll(() => scene.stop());

async function whileDelivering(
	networks: string[],
	work: () => Promise<void>,
): Promise<void> {
	const nats = await scene.connectAs("notify");
	const deliverer = new WebhookDeliverer({
		nats,
		reports: new DeliveryReports(nats, 1),
		sealKey,
		call: { allowedNetworks: networkList(networks), timeoutMs: 10_000 },
		limits: { overall: 8, perAccount: 4 },
		onAttempt: () => undefined,
		log,
	});
	const stopping = new AbortController();
	const ended = deliverer.run(stopping.signal);
	try {
		await work();
	} finally {
		stopping.abort();
		await ended;
	}
}

test("a flood of one account, whose receiver hangs, takes its own room alone, and keeps no other account waiting", async () => {
	const hanging = await startWebhookReceiver(() => undefined);
	const { url, calls, close } = await startWebhookReceiver();
	const many = Array.from({ length: 60 }, (_, i) => failureOf(`flood-${i}`));
	const { left } = await scene.outbox.handOver(attacker, many, [
		webhookOf(attacker, hanging.url),
	]);
	expect(left).toEqual(many.slice(50));
	const { left: leftOfNeighbour } = await scene.outbox.handOver(
		neighbour,
		[failureOf("mine")],
		[webhookOf(neighbour, url)],
	);
	expect(leftOfNeighbour).toEqual([]);
	await whileDelivering(["127.0.0.0/8"], async () => {
		await vi.waitFor(() => expect(calls).toHaveLength(1), patient);
		expect(hanging.calls.length).toBeLessThanOrEqual(4);
		await hanging.close();
	});
	await close();
});

test("an account's webhook reaches nothing internal, and its error shows nothing of it", async () => {
	const internal = await startWebhookReceiver();
	const curious = pipelineIn("curious");
	const webhook = webhookOf(curious, internal.url.replace("http:", "https:"));
	await scene.outbox.handOver(curious, [failureOf("probe")], [webhook]);
	await whileDelivering([], async () => {
		await vi.waitFor(() => {
			const found = scene.outbox.deliveriesOf(curious, { usable: [webhook] });
			expect(found.get("alerts")?.error).toMatch(/not public/);
			expect(found.get("alerts")?.error).not.toContain("127.0.0.1");
		}, patient);
	});
	expect(internal.calls).toEqual([]);
	await internal.close();
});

test("an account with ever new Pipelines leaves others room for their reports", async () => {
	const nats = await scene.connectAs("notify");
	// Those of the tests before count, too.
	const manager = await jetstreamManager(nats, { checkAPI: false });
	const stream = `KV_${bucket.deliveries}`;
	const { state } = await manager.streams.info(stream);
	const reports = new DeliveryReports(nats, 1, state.messages + 20);
	const webhook = webhookOf(neighbour, "https://hooks.example.com");
	const write = (account: string, name: string, id = "1") =>
		reports.write(
			{ account, kind: "Pipeline", name, secret: "alerts" },
			{
				version: 1,
				id,
				state: "Delivered",
				attempts: 1,
				time: new Date().toISOString(),
				webhook: webhookDigest(webhook),
			},
		);
	const flood = async (account: string) => {
		let reported = 0;
		for (let i = 0; i < 100; i++)
			if ((await write(account, `p${i}`)) === "reported") reported++;
		return reported;
	};
	for (let i = 0; i < 3; i++) await write("bank", `p${i}`);
	expect(await flood("mallory")).toBe(9);
	// A report in the place of an earlier one takes no more room.
	expect(await write("shop", neighbour.metadata.name, "1")).toBe("reported");
	expect(await write("shop", neighbour.metadata.name, "2")).toBe("reported");
	for (const other of ["mallory1", "mallory2", "mallory3"]) await flood(other);
	// More accounts have left no room for an account with several, but what it has stays its own.
	expect(await write("bank", "p3")).toBe("full");
	for (let i = 0; i < 3; i++)
		expect(await write("bank", `p${i}`, "2")).toBe("reported");
	await vi.waitFor(() => {
		const found = scene.outbox.deliveriesOf(neighbour, { usable: [webhook] });
		expect(found.get("alerts")?.id).toBe("2");
	}, patient);
});

test("NATS holds nobody's URL or signing secret in clear", async () => {
	const secret = "https://hooks.example.com/T0/very-secret";
	const webhook = webhookOf(neighbour, secret);
	await scene.outbox.handOver(neighbour, [failureOf("sealed")], [webhook]);
	const admin = await connectAdmin(scene.nats);
	const { streams } = await jetstreamManager(admin, { checkAPI: false });
	const subject = notifications.subject("shop");
	const message = await streams.getMessage(notifications.stream, {
		last_by_subj: subject,
	});
	await admin.close();
	const text = message!.string();
	expect(text).toContain("msg_sealed_failed");
	expect(text).not.toMatch(/hooks\.example|very-secret|BQUFBQUF/);
});
