import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { PlanDocument } from "../../../packages/contracts/tracking-plan.ts";
import {
	metric,
	type ReceiveFixture,
	startReceiveFixture,
} from "../../support/fixtures/data-plane/receiver.ts";
import {
	type HttpAnswer,
	sendJSON,
	untilKnown,
} from "../../support/senders/http-client.ts";

let fixture: ReceiveFixture;

beforeAll(async () => {
	fixture = await startReceiveFixture({ max_bytes: 32 * 1024 * 1024 });
});

afterAll(() => fixture.stop());

/** Makes Sources of an account; their URLs, once receive knows them. */
async function sources(account: string, count: number): Promise<string[]> {
	const urls: string[] = [];
	for (let n = 0; n < count; n++) {
		const { path } = await fixture.routes.add({
			account,
			source: `s${n}`,
			maxBodyBytes: 8_000_000,
		});
		urls.push(fixture.receiver.url + path);
	}
	await untilKnown(urls.at(-1)!);
	return urls;
}

/** A plan that is valid, and whose code packs badly. */
function largePlan(account: string, plan: string): PlanDocument {
	const values = Array.from({ length: 20_000 }, () =>
		randomBytes(48).toString("base64"),
	);
	return {
		version: 1,
		account,
		plan,
		eventType: { constant: "order" },
		events: [{ type: "order", schema: { enum: values } }],
		onUnplannedEvent: "Allow",
		onViolation: "Allow",
		onUnplannedProperty: "Allow",
	};
}

/** Puts a plan. Returns whether receive found room for it, and the URL of a Source with it. */
async function sourceWith(document: PlanDocument) {
	const { receiver, routes } = fixture;
	const counts = () =>
		Promise.all(
			["compiled", "failed"].map((state) =>
				metric(receiver, `tidemill_receive_tracking_plans{state="${state}"}`),
			),
		);
	const [compiled = 0, failed = 0] = await counts();
	const plan = await routes.putPlan(document);
	const now = await vi.waitFor(async () => {
		const [nowCompiled = 0, nowFailed = 0] = await counts();
		expect(nowCompiled + nowFailed).toBe(compiled + failed + 1);
		return nowCompiled;
	}, soon);
	const { path } = await routes.add({ account: document.account, plan });
	return { hasRoom: now > compiled, url: receiver.url + path };
}

const soon = { timeout: 120_000, interval: 50 };

test("an account with more plans than it may have loses only its own, and another finds room for its plan", async () => {
	const made = [await sourceWith(largePlan("mallory", "p0"))];
	while (made.at(-1)!.hasRoom && made.length < 40)
		made.push(await sourceWith(largePlan("mallory", `p${made.length}`)));
	const victim = await sourceWith(largePlan("bank", "orders"));
	expect(victim.hasRoom).toBe(true);
	// On a busy machine, a plan's first event may have to be sent again.
	for (const { url } of [victim, made[0]!])
		await vi.waitFor(async () => {
			expect((await sendJSON(url, "1")).status).toBe(200);
		}, soon);
	expect(made.at(-1)!.hasRoom).toBe(false);
	expect(await sendJSON(made.at(-1)!.url, "1")).toMatchObject({
		status: 503,
		json: { error: { code: "TrackingPlanUnavailable" } },
	});
});

/** Sends all of a body but its last byte. Settles when it is sent or refused. */
async function holdBody(url: string, bytes: number): Promise<Socket> {
	const { hostname, port, pathname } = new URL(url);
	const socket = connect({ host: hostname, port: Number(port) });
	socket.on("error", () => {});
	const body = Buffer.alloc(bytes - 1, " ");
	const head = `POST ${pathname} HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: ${bytes}\r\n\r\n`;
	const sent = new Promise((resolve) =>
		socket.write(Buffer.concat([Buffer.from(head), body]), resolve),
	);
	await Promise.race([sent, once(socket, "data")]);
	return socket;
}

test("an account that holds a body on each of 28 Sources leaves another account room for its own", async () => {
	const [victim] = await sources("bank", 1);
	const attacked = await sources("mallory", 28);
	// The largest bodies, and then ever smaller ones into the room that is left.
	const sizes = [
		8e6, 8e6, 8e6, 8e6, 8e6, 8e6, 8e6, 5e6, 2.5e6, 1.2e6, 6e5, 3e5,
	];
	const held: Socket[] = [];
	for (const [n, url] of attacked.entries())
		held.push(await holdBody(url, sizes[n] ?? 1e5));
	const body = JSON.stringify("x".repeat(4_000_000));
	expect((await sendJSON(victim!, body)).status).toBe(200);
	for (const socket of held) socket.destroy();
});

test("an account that fills the stream while archive is away leaves another account room for its events", async () => {
	const [victim] = await sources("bank", 1);
	const [attacked] = await sources("mallory", 1);
	const body = JSON.stringify("x".repeat(1_000_000));
	// A busy NATS is asked again, as senders do.
	const send = async (url: string): Promise<HttpAnswer> => {
		const answer = await sendJSON(url, body);
		const isBusy = answer.json.error?.code === "StorageUnavailable";
		return isBusy ? send(url) : answer;
	};
	let last: HttpAnswer;
	do last = await send(attacked!);
	while (last.status === 200);
	expect(last).toMatchObject({
		status: 503,
		json: { error: { code: "BacklogFull" } },
	});
	expect((await send(victim!)).status).toBe(200);
});
