import { jetstreamManager } from "@nats-io/jetstream";
import { stringify } from "uuid";
import { afterEach, expect, test, vi } from "vitest";
import type { Frame } from "../../ingest/wire/frame.ts";
import { serverStateSubject } from "../../packages/contracts/nats.ts";
import { MovedClock } from "../support/faults/receive-clock.ts";
import {
	connectAdmin,
	createShardStream,
	metric,
	type ReceiveFixture,
	readFrames,
	reasonNotReady,
	startReceiveFixture,
	startReceiver,
	TestRoutes,
	untilReady,
} from "../support/fixtures/data-plane/receiver.ts";
import {
	type HttpAnswer,
	sendJSON,
	untilKnown,
} from "../support/senders/http-client.ts";
import { startNats } from "../support/servers/servers.ts";

const wait = { timeout: 120_000, interval: 20 };
let stops: (() => Promise<void>)[] = [];

afterEach(async () => {
	for (const stop of stops.reverse()) await stop();
	stops = [];
});

async function start(
	...options: Parameters<typeof startReceiveFixture>
): Promise<ReceiveFixture & { url: string }> {
	const fixture = await startReceiveFixture(...options);
	stops.push(fixture.stop);
	const { path } = await fixture.routes.add();
	const url = fixture.receiver.url + path;
	await untilKnown(url);
	return { ...fixture, url };
}

function ids(frames: Frame[]): string[] {
	return frames.flatMap(({ events }) => events.map(({ id }) => stringify(id)));
}

test("an event is answered 200 only when a server that syncs every write has acknowledged it, and 503 when none does in time", async () => {
	const { nats, admin, url, stream } = await start();
	// As the server itself reports it: without sync_interval: always, an acknowledgement promises nothing.
	const state = await admin.request(serverStateSubject, "", {
		timeout: 120_000,
	});
	expect(state.json()).toMatchObject({
		data: { config: { sync_always: true } },
	});

	// It hangs, with its connections open.
	process.kill(nats.pid, "SIGSTOP");
	const answers = await Promise.all(
		Array.from({ length: 20 }, (_, n) => sendJSON(url, `${n}`)),
	);
	for (const answer of answers)
		expect(answer).toMatchObject({
			status: 503,
			headers: { "retry-after": expect.stringMatching(/^\d+$/) },
			json: { error: { code: "StorageUnavailable" } },
		});
	// Other requests are answered as usual.
	expect((await sendJSON(url, "no JSON")).status).toBe(400);

	process.kill(nats.pid, "SIGCONT");
	const answer = await vi.waitFor(async () => {
		const answer = await sendJSON(url, '"after"');
		expect(answer.status).toBe(200);
		return answer;
	}, wait);
	expect(ids(await readFrames(admin, stream))).toContain(answer.json.event_id);
});

test("no event gets the date of a clock that jumps, and events are stored again when it is right", async () => {
	const clock = await MovedClock.make();
	const env = { ...clock.env, TEST_CLOCK_ALONE: "yes" };
	const { admin, url, stream } = await start({}, env);
	const beganMs = Date.now();
	expect((await sendJSON(url, "1")).status).toBe(200);
	for (const days of [-1, 1]) {
		await clock.moveBy(days);
		expect((await sendJSON(url, "2")).status).toBe(503);
		await clock.moveBy(0);
		await vi.waitFor(
			async () => expect((await sendJSON(url, "3")).status).toBe(200),
			wait,
		);
	}
	const events = (await readFrames(admin, stream)).flatMap(
		({ events }) => events,
	);
	for (const { receivedAtMs } of events) {
		expect(receivedAtMs).toBeGreaterThanOrEqual(beganMs);
		expect(receivedAtMs).toBeLessThanOrEqual(Date.now());
	}
	expect(events).toHaveLength(3);
});

test("events that arrive together are committed together, in frames that are numbered from 1", async () => {
	const { admin, url, stream } = await start();
	const told: string[] = [];
	const senders = Array.from({ length: 50 }, async () => {
		for (let n = 0; n < 20; n++) {
			const { status, json } = await sendJSON(url, `${n}`);
			expect(status).toBe(200);
			told.push(json.event_id);
		}
	});
	await Promise.all(senders);
	const frames = await readFrames(admin, stream);
	expect(ids(frames).toSorted()).toEqual(told.toSorted());
	expect(frames.length).toBeLessThan(500);
	expect(frames.map(({ number }) => number)).toEqual(
		frames.map((_, index) => index + 1),
	);
	expect(new Set(frames.map(({ process }) => process)).size).toBe(1);
});

test("no acknowledged event is missing after NATS is killed twice under load", async () => {
	const { nats, admin, url, stream } = await start();
	const acknowledged: string[] = [];
	const refused = new Set<string>();
	let isOver = false;
	const senders = Array.from({ length: 30 }, async () => {
		while (!isOver) {
			const { status, json } = await sendJSON(url, `{"n":${Math.random()}}`);
			if (status === 200) acknowledged.push(json.event_id);
			else refused.add(`${status} ${json.error.code}`);
		}
	});
	const more = async () => {
		const before = acknowledged.length;
		await vi.waitFor(
			() => expect(acknowledged.length).toBeGreaterThan(before + 500),
			wait,
		);
	};
	for (let kill = 0; kill < 2; kill++) {
		await more();
		await nats.kill();
		await nats.start();
	}
	await more();
	isOver = true;
	await Promise.all(senders);

	const frames = await readFrames(admin, stream);
	const numbers = frames.map(({ number }) => number);
	expect(new Set(numbers).size).toBe(numbers.length);
	const inStream = ids(frames);
	expect(new Set(inStream).size).toBe(inStream.length);
	const missing = new Set(acknowledged).difference(new Set(inStream));
	expect([...missing]).toEqual([]);
	// Every other answer said: send it again.
	expect([...refused].filter((it) => it !== "503 StorageUnavailable")).toEqual(
		[],
	);
});

test("a full stream is 503, and the next stored frame names the refused frame numbers", async () => {
	const { admin, url, stream, receiver } = await start({ max_bytes: 200_000 });
	const body = JSON.stringify("x".repeat(120_000));
	const refusedFrames = () =>
		metric(receiver, 'tidemill_receive_frames_total{outcome="refused"}');
	let last: HttpAnswer;
	do last = await sendJSON(url, body);
	while (!((await refusedFrames()) > 0));
	expect(last).toMatchObject({
		status: 503,
		headers: { "retry-after": expect.stringMatching(/^\d+$/) },
		json: { error: { code: "StorageUnavailable" } },
	});
	const manager = await jetstreamManager(admin);
	const full = await readFrames(admin, stream);
	expect(await refusedFrames()).toBe(1);
	const readyz = async () =>
		(await fetch(`${receiver.healthUrl}/readyz`)).text();
	expect(await readyz()).toMatch(
		/^ok: shard 0: NATS did not take the latest frame \(maximum bytes exceeded\)/,
	);
	await manager.streams.purge(stream);
	await vi.waitFor(
		async () => expect((await sendJSON(url, body)).status).toBe(200),
		wait,
	);
	expect(await readyz()).toBe("ok\n");
	const [next] = await readFrames(admin, stream);
	expect(next).toMatchObject({
		number: full.length + 2,
		voided: [full.length + 1],
	});
});

test("a recreated stream gets frame numbers from 1 under a new process id", async () => {
	const { admin, url, stream, receiver } = await start();
	expect((await sendJSON(url, "1")).status).toBe(200);
	const [before] = await readFrames(admin, stream);
	const manager = await jetstreamManager(admin);
	await manager.streams.delete(stream);
	const next = await createShardStream(admin);
	await vi.waitFor(
		async () => expect((await sendJSON(url, "2")).status).toBe(200),
		wait,
	);
	await untilReady(receiver);
	const [after] = await readFrames(admin, next);
	expect(after).toMatchObject({ number: 1, voided: [] });
	expect(after?.process).not.toBe(before?.process);
});

test("receive stops writing to a stream whose new settings would lose events", async () => {
	const { admin, url, stream, receiver } = await start();
	const manager = await jetstreamManager(admin);
	await manager.streams.update(stream, { max_age: 3_600e9 });
	await vi.waitFor(
		async () =>
			expect(await reasonNotReady(receiver)).toContain("max_age must be 0"),
		wait,
	);
	expect((await sendJSON(url, "1")).status).toBe(503);
	await manager.streams.update(stream, { max_age: 0 });
	await untilReady(receiver);
	expect((await sendJSON(url, "1")).status).toBe(200);
});

test.each<[string, (config: ReturnType<typeof JSON.parse>) => void, string]>([
	[
		"syncs every two minutes",
		(config) => delete config.jetstream.sync_interval,
		"set jetstream.sync_interval to always",
	],
	[
		"doesn't say how it syncs",
		({ accounts: { "tidemill-receive": receive } }) => {
			receive.imports = receive.imports.filter(
				(one: { service?: { account: string } }) =>
					one.service?.account !== "system",
			);
		},
		"$SYS.REQ.SERVER.PING.JSZ",
	],
])("a server that %s gets no event", async (_, edit, reason) => {
	const nats = await startNats(edit);
	stops.push(nats.stop);
	const admin = await connectAdmin(nats);
	stops.push(() => admin.close());
	await createShardStream(admin);
	const routes = new TestRoutes(admin);
	const { path } = await routes.add();
	await routes.markSynced();
	const receiver = await startReceiver(nats);
	stops.push(receiver.stop);
	await vi.waitFor(
		async () => expect(await reasonNotReady(receiver)).toContain(reason),
		wait,
	);
	expect(await sendJSON(receiver.url + path, "1")).toMatchObject({
		status: 503,
	});
});
