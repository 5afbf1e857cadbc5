import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { jetstreamManager, type StreamAPI } from "@nats-io/jetstream";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { ensurePki, type Pki } from "../../local/servers/pki.ts";
import type { SealedWebhook } from "../../operator/notification/webhooks.ts";
import {
	notifications,
	publicKeysSubject,
} from "../../packages/contracts/nats.ts";
import { webhookPurpose } from "../../packages/contracts/notification.ts";
import { SealKey } from "../../packages/service/seal-key.ts";
import { connectAdmin } from "../support/fixtures/data-plane/receiver.ts";
import {
	failureOf,
	type NotificationScene,
	pipelineIn,
	sealKeyText,
	startNotificationScene,
	webhookOf,
} from "../support/fixtures/notifications/notification-scene.ts";
import {
	type Call,
	startWebhookReceiver,
} from "../support/fixtures/notifications/webhook-receiver.ts";
import { type RoleServer, startRole } from "../support/servers/role-server.ts";
import { connectAs } from "../support/servers/servers.ts";
import { temporaryDirectory } from "../support/servers/test-server.ts";

/* From the operator's word to the receiver's server, with NATS and processes of notify. */

const patient = { timeout: 120_000, interval: 20 };
const pipeline = pipelineIn("shop");
let scene: NotificationScene;
let notify: RoleServer;
let pki: Pki;

beforeAll(async () => {
	scene = await startNotificationScene();
	pki = await ensurePki(await temporaryDirectory("pki"));
	notify = await startNotify();
});
afterAll(async () => {
	await notify.stop();
	await scene.stop();
});

async function startNotify(): Promise<RoleServer> {
	const directory = await temporaryDirectory("notify");
	const sealKeyFile = join(directory, "seal-key");
	await writeFile(sealKeyFile, `${sealKeyText}\n`);
	return startRole("notify", {
		name: "notify",
		directory,
		env: {
			NATS_URL: scene.nats.urlFor("notify"),
			TIDEMILL_SEAL_KEY: sealKeyFile,
			NOTIFY_ALLOWED_NETWORKS: "127.0.0.0/8",
			NODE_EXTRA_CA_CERTS: pki.ca.certFile,
		},
	});
}

async function receiver(onCall?: (call: Call) => void) {
	const started = await startWebhookReceiver(onCall);
	onTestFinished(() => started.close());
	return started;
}

async function handOver(run: string, webhook: SealedWebhook): Promise<void> {
	const { left } = await scene.outbox.handOver(
		pipeline,
		[failureOf(run)],
		[webhook],
	);
	expect(left).toEqual([]);
}

function deliveryTo(webhook: SealedWebhook) {
	return scene.outbox
		.deliveriesOf(pipeline, { usable: [webhook] })
		.get(webhook.secret);
}

async function withStreams<T>(act: (streams: StreamAPI) => Promise<T>) {
	const admin = await connectAdmin(scene.nats);
	try {
		const { streams } = await jetstreamManager(admin, { checkAPI: false });
		return await act(streams);
	} finally {
		await admin.close();
	}
}

async function waitingOrders(): Promise<number> {
	const { state } = await withStreams((s) => s.info(notifications.stream));
	return state.messages;
}

async function purgeOrders(): Promise<void> {
	await withStreams((s) => s.purge(notifications.stream));
}

test("an order that is sealed with another key waits for that key, and the operator learns why", async () => {
	const sealed = new SealKey(Buffer.from("the key of another day, 32 bytes"));
	const webhook = {
		secret: "rotated",
		sealed: sealed.seal(Buffer.from("{}"), webhookPurpose("shop")),
	};
	await handOver("rotated", webhook);
	await vi.waitFor(
		() =>
			expect(deliveryTo(webhook)).toMatchObject({
				state: "Delivering",
				error: expect.stringContaining("seal key"),
			}),
		patient,
	);
	await purgeOrders();
});

test("a webhook is told what happened, signed, and the operator learns that it was", async () => {
	const { url, calls } = await receiver();
	const webhook = webhookOf(pipeline, url);
	await handOver("told", webhook);
	// The decision is repeated, since the operator was killed before it wrote the status.
	await handOver("told", webhook);
	await vi.waitFor(
		() => expect(deliveryTo(webhook)).toMatchObject({ state: "Delivered" }),
		patient,
	);
	await vi.waitFor(async () => expect(await waitingOrders()).toBe(0), patient);
	expect(calls.map(({ id, payload }) => ({ id, payload }))).toEqual([
		{
			id: "msg_told_failed",
			payload: {
				type: "run.failed",
				timestamp: expect.any(String),
				data: {
					namespace: "shop",
					kind: "Pipeline",
					name: "load-orders",
					run: "told",
					message: 'Run "told" failed.',
				},
			},
		},
	]);
	const metrics = await (await fetch(`${notify.healthUrl}/metrics`)).text();
	expect(metrics).toContain(
		'tidemill_notify_attempts_total{state="Delivered"} 1',
	);
});

test("a call that fails is repeated after a while with the same id, and the operator learns why it failed", async () => {
	const timesMs: number[] = [];
	const { url, calls } = await receiver((call) => {
		timesMs.push(Date.now());
		call.answer(calls.length === 1 ? 503 : 200);
	});
	const webhook = webhookOf(pipeline, url);
	await handOver("retried", webhook);
	await vi.waitFor(
		() =>
			expect(deliveryTo(webhook)).toMatchObject({
				state: "Delivering",
				attempts: 1,
				error: "The receiver answered with status 503.",
			}),
		patient,
	);
	await vi.waitFor(
		() =>
			expect(deliveryTo(webhook)).toMatchObject({
				state: "Delivered",
				attempts: 2,
			}),
		patient,
	);
	expect(calls.map(({ id }) => id)).toEqual([
		"msg_retried_failed",
		"msg_retried_failed",
	]);
	// A loaded machine is later, never earlier.
	expect(timesMs[1]! - timesMs[0]!).toBeGreaterThan(4_900);
});

test("a webhook that is gone isn't called again, and the operator learns of it", async () => {
	const { url, calls } = await receiver((call) => call.answer(410));
	const webhook = webhookOf(pipeline, url);
	await handOver("gone", webhook);
	await vi.waitFor(
		() => expect(deliveryTo(webhook)).toMatchObject({ state: "Failed" }),
		patient,
	);
	await vi.waitFor(async () => expect(await waitingOrders()).toBe(0), patient);
	expect(calls).toHaveLength(1);
});

test("notify is killed while it calls: another one calls again, with the same id", async () => {
	const { url, calls } = await receiver((call) => {
		// The first is never answered.
		if (calls.length > 1) call.answer(200);
	});
	const webhook = webhookOf(pipeline, url);
	await handOver("killed", webhook);
	await vi.waitFor(() => expect(calls).toHaveLength(1), patient);
	await notify.kill();
	notify = await startNotify();
	await vi.waitFor(
		() => expect(deliveryTo(webhook)).toMatchObject({ state: "Delivered" }),
		patient,
	);
	expect(calls.map(({ id }) => id)).toEqual([
		"msg_killed_failed",
		"msg_killed_failed",
	]);
});

test("notify fetches public keys for receive: by https, from an address that may be called, a short answer, and no redirect", async () => {
	const { cert, key } = pki.apiserver;
	const server = createServer({ cert, key }, ({ url, headers }, response) => {
		if (url === "/moved")
			response.writeHead(302, { location: `https://${headers.host}/` }).end();
		else response.end(url === "/long" ? "k".repeat(32_769) : "the key");
	});
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	onTestFinished(() => {
		server.close();
	});
	const { port } = server.address() as AddressInfo;
	const receive = await connectAs(scene.nats, "receive");
	onTestFinished(() => receive.close());
	const answerTo = async (url: string) =>
		(
			await receive.request(
				publicKeysSubject,
				JSON.stringify({ account: "shop", url }),
				{ timeout: 10_000 },
			)
		).json();
	const base = `https://127.0.0.1:${port}`;
	expect(await answerTo(`${base}/key`)).toEqual({ ok: true, text: "the key" });
	for (const [url, reason] of [
		[`${base}/moved`, "The answer has status 302."],
		[`${base}/long`, "The answer is longer than 32768 bytes."],
		["https://10.0.0.1/key", /has an address that is not public/],
		["https://169.254.169.254/key", /has an address that is not public/],
	] as const)
		expect(await answerTo(url)).toEqual({
			ok: false,
			reason: expect.stringMatching(reason),
		});
	expect(await answerTo(`http://127.0.0.1:${port}/key`)).toEqual({ ok: false });
});
