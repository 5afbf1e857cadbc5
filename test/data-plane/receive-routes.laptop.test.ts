import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
	connectAdmin,
	createShardStream,
	metric,
	reasonNotReady,
	startReceiver,
	type TestReceiver,
	TestRoutes,
	untilReady,
} from "../support/fixtures/data-plane/receiver.ts";
import { type HttpAnswer, sendJSON } from "../support/senders/http-client.ts";
import { startNats, type TestNats } from "../support/servers/servers.ts";

const wait = { timeout: 120_000, interval: 20 };
const unknown = `/hooks/${"0".repeat(32)}/${"0".repeat(32)}`;
let nats: TestNats;
let admin: Awaited<ReturnType<typeof connectAdmin>>;
let routes: TestRoutes;
let receiver: TestReceiver;

beforeEach(async () => {
	nats = await startNats();
	admin = await connectAdmin(nats);
	routes = new TestRoutes(admin);
	receiver = await startReceiver(nats);
});

afterEach(async () => {
	await receiver.stop();
	await admin.close();
	await nats.stop();
});

const post = (path: string): Promise<HttpAnswer> =>
	sendJSON(receiver.url + path, "{}");

function untilStatus(path: string, status: number) {
	return vi.waitFor(
		async () => expect((await post(path)).status).toBe(status),
		wait,
	);
}

function untilNotReady(reason: string) {
	return vi.waitFor(
		async () => expect(await reasonNotReady(receiver)).toContain(reason),
		wait,
	);
}

async function open(): Promise<void> {
	await createShardStream(admin);
	await routes.markSynced();
	await untilReady(receiver);
}

test("until the operator has synced the routes, an unknown URL is 503 and receive isn't ready", async () => {
	expect(await post(unknown)).toMatchObject({
		status: 503,
		headers: { "retry-after": expect.stringMatching(/^\d+$/) },
		json: { error: { code: "NotReady" } },
	});
	await untilNotReady("stream doesn't exist");

	await createShardStream(admin);
	const { path } = await routes.add();
	// A known URL is served at once.
	await untilStatus(path, 200);
	expect(await post(unknown)).toMatchObject({ status: 503 });
	await untilNotReady("synced");

	await routes.markSynced();
	await untilStatus(unknown, 404);
	await untilReady(receiver);
});

test("a change of a route takes effect", async () => {
	await open();
	const { path, route } = await routes.add();
	await untilStatus(path, 200);
	await routes.put({ ...route, suspended: true });
	await untilStatus(path, 403);
	await routes.put({ ...route, authorization: { type: "Unavailable" } });
	await untilStatus(path, 401);
	await routes.remove(route);
	await untilStatus(path, 404);
});

test("while NATS is away, events get 503 and URLs stay known", async () => {
	await open();
	const { path } = await routes.add();
	await untilStatus(path, 200);
	await nats.kill();

	expect(await post(path)).toMatchObject({
		status: 503,
		headers: { "retry-after": expect.stringMatching(/^\d+$/) },
		json: { error: { code: "StorageUnavailable" } },
	});
	expect((await post(unknown)).status).toBe(404);
	await untilNotReady("NATS");

	await nats.start();
	await untilStatus(path, 200);
	await untilReady(receiver);
	const { path: later } = await routes.add();
	await untilStatus(later, 200);
});

test("the age of the routes stays low with NATS and grows without it", async () => {
	await open();
	const age = () => metric(receiver, "tidemill_receive_routes_age_seconds");
	// The first look may come a millisecond after the routes were confirmed, and none is younger than that.
	const untilYounger = async () => {
		let before = 0;
		await vi.waitFor(async () => {
			const now = await age();
			const isYounger = now < before;
			before = now;
			expect(isYounger).toBe(true);
		}, wait);
	};
	await untilYounger();
	await nats.kill();
	await vi.waitFor(async () => expect(await age()).toBeGreaterThan(8), wait);
	await nats.start();
	await untilYounger();
});

test("an emptied bucket makes no URL unknown before the operator has filled it again", async () => {
	await open();
	const { path: lost } = await routes.add();
	const { path: kept, route } = await routes.add();
	await untilStatus(lost, 200);
	await routes.destroy();
	await routes.put(route);
	await routes.add();
	for (const path of [lost, kept]) await untilStatus(path, 200);

	const { path: added } = await routes.add();
	await routes.markSynced();
	await untilStatus(added, 200);
	await untilStatus(lost, 404);
	expect((await post(kept)).status).toBe(200);
});

test("the URL of a closed source key is unknown while the operator's route is there, and the others are served", async () => {
	await open();
	const { path: closed, route } = await routes.add();
	const { path: other } = await routes.add();
	await untilStatus(closed, 200);
	await receiver.stop();
	const env = { TIDEMILL_CLOSED_SOURCES: route.sourceKey };
	receiver = await startReceiver(nats, { env });
	await untilReady(receiver);
	await untilStatus(other, 200);
	expect((await post(closed)).status).toBe(404);
});
