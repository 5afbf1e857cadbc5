// In make test: test/protocols/streams-left.test.ts
import { mkdir, rm } from "node:fs/promises";
import { jetstreamManager } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import { expect, onTestFinished, test } from "vitest";
import type { CutRecord } from "../../ingest/archive/decide/cut.ts";
import { type ShardState, shardKey } from "../../packages/contracts/ledger.ts";
import { bucket, framesSubject } from "../../packages/contracts/nats.ts";
import type { Route } from "../../packages/contracts/route.ts";
import { firing } from "../support/alerts/firing.ts";
import {
	ArchiveFixture,
	eventually,
} from "../support/fixtures/data-plane/archive-fixture.ts";
import {
	startReceiver,
	type TestReceiver,
	TestRoutes,
	untilReady,
} from "../support/fixtures/data-plane/receiver.ts";
import type { RunningArchive } from "../support/fixtures/data-plane/running-archive.ts";
import {
	type Servers,
	startServers,
} from "../support/servers/archive-servers.ts";

/* A stream is lost, or given up, with frames that archive hasn't cut. Receive and archive are real, and so is what loses it. */

class Scene {
	readonly servers: Servers;
	readonly archive: ArchiveFixture;
	readonly #routes: TestRoutes;
	#route: Route | undefined;
	#path = "";
	#receiver!: TestReceiver;
	#sent = 0;

	static async open(): Promise<Scene> {
		const servers = await startServers();
		onTestFinished(() => servers.stop());
		const scene = new Scene(servers, await ArchiveFixture.open(servers, 0));
		await scene.syncRoutes();
		await scene.startReceiver();
		return scene;
	}

	private constructor(servers: Servers, archive: ArchiveFixture) {
		this.servers = servers;
		this.archive = archive;
		this.#routes = new TestRoutes(archive.connection);
	}

	/** As operator does, also when NATS has lost them. */
	async syncRoutes(): Promise<void> {
		if (this.#route) await this.#routes.put(this.#route);
		else {
			const made = await this.#routes.add({ shard: 0 });
			this.#route = made.route;
			this.#path = made.path;
		}
		await this.#routes.markSynced();
	}

	async startReceiver(): Promise<void> {
		const receiver = await startReceiver(this.servers.nats);
		onTestFinished(() => receiver.kill());
		this.#receiver = receiver;
		await untilReady(receiver);
	}

	killReceiver(): Promise<void> {
		return this.#receiver.kill();
	}

	/** Sends so many events, each in a frame of its own, until each is acknowledged. */
	async send(events: number): Promise<void> {
		for (let n = 0; n < events; n++) {
			const body = JSON.stringify({ n: ++this.#sent });
			await eventually(async () => {
				const url = this.#receiver.url + this.#path;
				const answer = await fetch(url, { method: "POST", body });
				expect(answer.status, await answer.text()).toBe(200);
			});
		}
	}

	/** The numbers of the events that are in the bucket. */
	async archived(): Promise<number[]> {
		const bodies = await this.archive.bodies();
		return bodies
			.map((body) => (JSON.parse(body) as { n: number }).n)
			.sort((a, b) => a - b);
	}

	/** NATS's only disk is empty. */
	async loseDisk(): Promise<void> {
		const { nats } = this.servers;
		await nats.kill();
		await rm(nats.storeDirectory, { recursive: true });
		await mkdir(nats.storeDirectory);
		await nats.start();
		await eventually(() => this.archive.connection.flush());
		await this.syncRoutes();
	}

	/** docs/reference/errors.md has a person do this, with archive stopped. */
	async giveStreamUp(): Promise<void> {
		const { connection, stream } = this.archive;
		const subject = `$JS.API.STREAM.DELETE.${stream}`;
		const answer = await connection.request(subject, "", { timeout: 60_000 });
		expect(answer.json()).not.toHaveProperty("error");
	}

	/** Archive has made another stream. */
	async nextStream(): Promise<void> {
		const { streams } = await jetstreamManager(this.archive.connection);
		const former = this.archive.stream;
		await eventually(async () => {
			const [name] = await streams.names(framesSubject(0)).next();
			expect(name).toBeDefined();
			expect(name).not.toBe(former);
			this.archive.stream = name!;
		});
	}

	/** What all cuts of this stream say. */
	async cutsOf(stream: string): Promise<CutRecord[]> {
		const { store } = this.archive;
		const cuts: CutRecord[] = [];
		for await (const { key } of store.list(store.keys.cutsOfStream(stream)))
			cuts.push(JSON.parse((await store.get(key))!));
		return cuts;
	}
}

/** What the operator and Prometheus are told. */
async function tell(
	{ archive }: Scene,
	{ registry }: RunningArchive,
	expected: { frames: number; unknownSince?: string },
): Promise<void> {
	const { frames, unknownSince } = expected;
	const kv = await new Kvm(archive.connection).open(bucket.ledger);
	await eventually(async () => {
		const entry = await kv.get(shardKey(0));
		const state = entry!.json<ShardState>();
		const counts = Object.values(state.lostFrames);
		expect(counts.reduce((sum, count) => sum + count, 0)).toBe(frames);
		expect(state.unknownSince).toBe(unknownSince);
	});
	// An archive that has just begun may not have read its cuts yet.
	await eventually(async () => {
		const text = await registry.metrics();
		const metric = (name: string) => {
			const line = `^tidemill_archive_${name}{shard="0"} (.*)$`;
			return new RegExp(line, "m").exec(text)?.[1];
		};
		expect(metric("lost_frames")).toBe(String(frames));
		expect(metric("unknown_losses")).toBe(unknownSince ? "1" : "0");
	});
	const alerts = await firing({
		...{ atMs: Date.now(), texts: [await registry.metrics()] },
	});
	const isTold = frames > 0 || unknownSince !== undefined;
	expect(alerts.includes("TidemillFramesLost")).toBe(isTold);
}

/** Archive has all in memory that is in the stream. */
async function untilRead({ archive }: Scene, { shard }: RunningArchive) {
	let read = 0;
	const look = shard.workBetweenCuts({
		isWaiting: false,
		isDue: ({ uncut }) => {
			read = uncut.lastSequence;
			return false;
		},
		work: async () => {},
		stop: () => {},
	});
	const last = await archive.lastSequence();
	await eventually(() => {
		look();
		expect(read).toBe(last);
	});
}

/** Three events are archived, and five more only in NATS, when archive stops. */
async function withBacklog(): Promise<Scene> {
	const scene = await Scene.open();
	const running = await scene.archive.start();
	await scene.send(3);
	await running.flush();
	await running.stop();
	await scene.send(5);
	return scene;
}

test("NATS's only disk is lost with a backlog, and exactly the lost frames are told", async () => {
	const scene = await withBacklog();
	const { stream: lost } = scene.archive;
	await scene.loseDisk();
	const running = await scene.archive.start();
	await scene.nextStream();
	await scene.send(2);
	await running.flush();
	expect(await scene.archived()).toEqual([1, 2, 3, 9, 10]);
	const [first] = await scene.cutsOf(scene.archive.stream);
	const instant = expect.stringMatching(/^20.*Z$/);
	expect(first!.losses).toMatchObject([
		{
			...{ kind: "frames", from: 4, to: 8, stream: lost },
			...{ since: instant, time: instant },
		},
	]);
	expect(running.shard.alarm).toBeUndefined();
	await tell(scene, running, { frames: 5 });
	await running.stop();

	// Another archive says the same.
	await tell(scene, await scene.archive.start(), { frames: 5 });
});

test("a stream that is given up by the documented procedure is told with what it held", async () => {
	const scene = await withBacklog();
	await scene.giveStreamUp();
	const running = await scene.archive.start();
	await scene.nextStream();
	await scene.send(1);
	await running.flush();
	expect(await scene.archived()).toEqual([1, 2, 3, 9]);
	await tell(scene, running, { frames: 5 });
});

test("what archive has read and not cut when NATS's disk is lost is in the bucket, and nothing is told", async () => {
	const scene = await Scene.open();
	const running = await scene.archive.start({ maxAgeMs: 600_000 });
	await scene.send(3);
	await running.flush();
	await scene.send(4);
	await untilRead(scene, running);
	await scene.loseDisk();
	await scene.nextStream();
	await scene.send(1);
	await running.flush();
	expect(await scene.archived()).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
	await tell(scene, running, { frames: 0 });
});

test("what nobody alive can tell is told as unknown since the newest cut", async () => {
	const scene = await withBacklog();
	const cuts = await scene.cutsOf(scene.archive.stream);
	await scene.killReceiver();
	await scene.loseDisk();
	const running = await scene.archive.start();
	await scene.nextStream();
	const unknownSince = cuts.at(-1)!.lastFrame.time;
	// Also before the next event.
	await tell(scene, running, { frames: 0, unknownSince });
	await scene.startReceiver();
	await scene.send(1);
	await running.flush();
	await tell(scene, running, { frames: 0, unknownSince });
	await running.stop();
	const next = await scene.archive.start();
	await tell(scene, next, { frames: 0, unknownSince });
});
