// In make test: test/data-plane/nats-upgrade.laptop.test.ts
import { jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection, Subscription } from "@nats-io/transport-node";
import { pino } from "pino";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { NatsIdempotencyStore } from "../../api/http/idempotency-store.ts";
import type { NatsRole } from "../../operator/install/nats-users.ts";
import { RouteBuckets } from "../../operator/source/routes/route-buckets.ts";
import { bucket } from "../../packages/contracts/nats.ts";
import type { Route } from "../../packages/contracts/route.ts";
import { connectNats } from "../../packages/service/nats/connection.ts";
import { Settings } from "../../packages/service/settings.ts";
import {
	haveMade,
	NoArchive,
	noArchiveNotice,
	streamOf,
} from "../../packages/streams/made-streams.ts";
import { answerRoles } from "../../packages/streams/stream-maker.ts";
import {
	connectAdmin,
	createShardStream,
	reasonNotReady,
	startReceiver,
	TestRoutes,
	untilReady,
} from "../support/fixtures/data-plane/receiver.ts";
import { sendJSON } from "../support/senders/http-client.ts";
import { startRole } from "../support/servers/role-server.ts";
import { startNats, type TestNats } from "../support/servers/servers.ts";

/* A NATS of one's own, without the chart's reloader beside it, that loses a bucket: while no archive runs, and while one of several does. */

const wait = { timeout: 60_000, interval: 20 };
const log = pino({ level: "silent" });

let nats: TestNats;
let admin: NatsConnection;
let archive: NatsConnection;
let answering: Subscription;

beforeAll(async () => {
	nats = await startNats();
	// What others have in place of archive.
	await nats.stopMaker();
	admin = await connectAdmin(nats);
	archive = await connect("archive");
	await archiveComes();
});

afterAll(async () => {
	await archive.close();
	await admin.close();
	await nats.stop();
});

function connect(role: NatsRole): Promise<NatsConnection> {
	const settings = new Settings({ NATS_URL: nats.urlFor(role) });
	return connectNats(settings, role, log);
}

/** All of archive that makes streams. */
async function archiveComes(): Promise<void> {
	answering = answerRoles({ connection: archive, replicas: 1, log });
	await archive.flush();
}

async function archiveGoes(): Promise<void> {
	answering.unsubscribe();
	await archive.flush();
}

async function lose(name: string): Promise<void> {
	await (await jetstreamManager(admin)).streams.delete(streamOf(name));
}

test("receive serves the routes that it knows, one that starts says what is missing, and the bucket is back with archive", async () => {
	const operator = await connect("operator");
	const buckets = new RouteBuckets(operator, { replicas: 1, log });
	const stopping = new AbortController();
	const stopped = buckets.run(stopping.signal);
	onTestFinished(async () => {
		stopping.abort();
		await stopped;
		await operator.close();
	});
	const desired: Route[] = [];
	const publish = () => buckets.publish(() => desired);
	await publish();
	await createShardStream(admin);
	const { path, route } = await new TestRoutes(admin).add();
	desired.push(route);
	buckets.forget();
	await publish();
	const receiver = await startReceiver(nats);
	onTestFinished(() => receiver.stop());
	await untilReady(receiver);
	const post = async ({ url }: { url: string }) =>
		(await sendJSON(url + path, "{}")).status;
	expect(await post(receiver)).toBe(200);

	await archiveGoes();
	await lose(bucket.routes);
	buckets.forget();
	await expect(publish()).rejects.toThrow();
	// On the Source, and where people of the platform look.
	expect(buckets.lastError).toMatch(
		/no bucket of routes, and no archive runs.*TidemillArchiveDown/,
	);
	const startArchive = /no archive runs: start it \(docs\/runbooks\//;
	expect(noArchiveNotice(operator)).toMatch(startArchive);
	const another = await startReceiver(nats);
	onTestFinished(() => another.stop());
	await vi.waitFor(
		async () =>
			expect(await reasonNotReady(another)).toMatch(
				/^NATS has no bucket of routes: archive makes it/,
			),
		wait,
	);
	const ready = async () =>
		(await fetch(`${receiver.healthUrl}/readyz`)).text();
	await vi.waitFor(
		async () =>
			expect(await ready()).toMatch(/^ok: those in memory are served/),
		wait,
	);
	// It may be there, so its sender tries again.
	expect(await post(another)).toBe(503);
	expect(await post(receiver)).toBe(200);

	await archiveComes();
	await publish();
	expect(noArchiveNotice(operator)).toBeUndefined();
	await untilReady(another);
	await vi.waitFor(async () => expect(await ready()).toBe("ok\n"), wait);
	for (const one of [another, receiver]) expect(await post(one)).toBe(200);
	const sourceKey = "0123456789abcdef".repeat(2);
	desired.push({ ...route, sourceKey, source: "later" });
	await publish();
	const later = path.replace(route.sourceKey, sourceKey);
	for (const { url } of [another, receiver])
		await vi.waitFor(
			async () => expect((await sendJSON(url + later, "{}")).status).toBe(200),
			wait,
		);
});

test("the API refuses a key of a caller's, and keeps it again once archive has made the bucket", async () => {
	const api = await connect("api");
	onTestFinished(() => api.close());
	const store = new NatsIdempotencyStore({
		connection: () => api,
		replicas: 1,
	});
	const keep = (digest: string) =>
		store.getOrCreate({ account: "shop", digest }, { bodyHash: "0" });
	await keep("0");
	await archiveGoes();
	await lose(bucket.requests);
	await expect(keep("1")).rejects.toThrow();
	await expect(keep("1")).rejects.toThrow(NoArchive);
	expect(noArchiveNotice(api)).toContain(streamOf(bucket.requests));
	await archiveComes();
	await keep("1");
	expect(noArchiveNotice(api)).toBeUndefined();
	expect(await keep("1")).toEqual({ record: { bodyHash: "0" } });
});

test("what is there again isn't said to be missing, also by a role that nobody asks for it", async () => {
	const api = await connect("api");
	onTestFinished(() => api.close());
	const name = streamOf(bucket.requests);
	await haveMade(api, name, 1);
	await archiveGoes();
	await lose(bucket.requests);
	await expect(haveMade(api, name, 1)).rejects.toThrow(NoArchive);
	expect(noArchiveNotice(api)).toContain(name);
	await archiveComes();
	await vi.waitFor(() => expect(noArchiveNotice(api)).toBeUndefined(), wait);
});

test("any archive that runs makes a lost bucket at once: after another was killed, without a store, and when it can't announce itself", async () => {
	await archiveGoes();
	onTestFinished(archiveComes);
	const start = async (name: string) => {
		const process = await startRole("archive", {
			name,
			env: {
				...{ NATS_URL: nats.urlFor("archive"), AWS_REGION: "us-east-1" },
				...{ S3_ENDPOINT: "http://127.0.0.1:1", S3_BUCKET: "away" },
				...{ AWS_ACCESS_KEY_ID: "a", AWS_SECRET_ACCESS_KEY: "b" },
			},
		});
		onTestFinished(() => process.stop());
		return process;
	};
	const operator = await connect("operator");
	onTestFinished(() => operator.close());
	const name = streamOf(bucket.routes);
	const make = () => haveMade(operator, name, 1);
	const first = await start("first");
	await vi.waitFor(make, wait);
	// Its bucket of announcements is somebody else's stream now.
	const { streams } = await jetstreamManager(admin);
	await vi.waitFor(() => streams.delete(streamOf(bucket.archives)), wait);
	await streams.add({
		name: streamOf(bucket.archives),
		subjects: ["elsewhere"],
	});
	await start("second");
	await vi.waitFor(make, wait);
	process.kill(first.pid, "SIGKILL");
	await lose(bucket.routes);
	const beganMs = performance.now();
	await vi.waitFor(make, { timeout: 60_000, interval: 20 });
	expect(performance.now() - beganMs).toBeLessThan(20_000);
	await streams.delete(streamOf(bucket.archives));
});
