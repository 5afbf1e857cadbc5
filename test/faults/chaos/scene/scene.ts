import { randomUUID } from "node:crypto";
import { cp, mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { jetstreamManager, type StreamState } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import type { NatsConnection } from "@nats-io/transport-node";
import { freePort } from "../../../../local/machine/ports.ts";
import { bucket, framesSubject } from "../../../../packages/contracts/nats.ts";
import type { Route } from "../../../../packages/contracts/route.ts";
import { routeWith } from "../../../support/examples/route-example.ts";
import { LoopDisk } from "../../../support/faults/loop-disk.ts";
import {
	shiftedClock,
	shiftedNats,
} from "../../../support/faults/shifted-nats.ts";
import {
	connectAdmin,
	startReceiver,
	type TestReceiver,
} from "../../../support/fixtures/data-plane/receiver.ts";
import {
	newSent,
	type Sent,
	sendPersistently,
} from "../../../support/senders/persistent-sender.ts";
import {
	type RoleServer,
	startRole,
} from "../../../support/servers/role-server.ts";
import {
	startNats,
	type TestNats,
	type TestS3,
} from "../../../support/servers/servers.ts";
import {
	type TestServer,
	temporaryDirectory,
} from "../../../support/servers/test-server.ts";
import { startTidemill } from "../../../support/servers/tidemill-process.ts";
import { Clock } from "./clock.ts";
import { Locks } from "./locks.ts";
import { Moves } from "./moves.ts";
import { PlannedEvents } from "./planned-events.ts";
import { eventually, Violation } from "./violation.ts";
import { NatsProxy } from "./wires/nats-proxy.ts";
import { type ObjectCounts, S3Proxy } from "./wires/s3-proxy.ts";
import { StoredFrames } from "./wires/stored-frames.ts";
import { Traps } from "./wires/traps.ts";

/** Where a sender's key stands. */
export const keyHeader = "webhook-id";
export const archiveNames = ["archive-a", "archive-b"] as const;
const senders = 4;
/** Objects that a closed date must have to be compacted. */
export const minCompactedObjects = 2;
const pauseMs = 4;
const mib = 1024 ** 2;
/** Only few of the events have a key. */
const idempotency = { key: { header: keyHeader }, windowSeconds: 3_600 };

export interface Part extends Omit<TestServer, "logFile"> {
	logFile: string | undefined;
}

/** The S3 gateway, which all seeds share. */
export interface SharedStore {
	s3: TestS3;
	/** The gateway's; undefined where no such disk can be made. */
	s3Disk: LoopDisk | undefined;
	/** Whether there are disks that can be full or lose power. */
	hasDisks: boolean;
	/** How many shards receive writes. Both archives archive all of them. */
	shards: number;
}

/** A shard's stream. */
export interface SceneStream {
	shard: number;
	name: string;
	state: StreamState;
}

const clockArgs = ["--import", join(import.meta.dirname, "clock-preload.ts")];

/** One seed's data plane: receive and two archives of the same shards, with a proxy on each of their wires, and senders. */
export class Scene {
	readonly store: SharedStore;
	readonly hasNatsClock: boolean;
	readonly prefix = `chaos-${randomUUID()}`;
	readonly traps = new Traps();
	/** Who does something to a part keeps others from it. */
	readonly locks = new Locks();
	/** Of all its seeds. */
	readonly frames = new StoredFrames();
	/** A fault has lost what NATS or the bucket had. */
	hasLost = false;
	sent: Sent = newSent();
	/** Two Sources of each shard, so that most cuts have several objects. The first one has a tracking plan. */
	routes: Route[] = [];
	/** The events of the first Source. */
	planned!: PlannedEvents;
	/** Where each shard's stream ended before the seed, by its name. */
	#bases = new Map<string, number>();
	/** Streams that were gone before the seed. */
	#over = new Set<string>();
	/** Seeds that it has been used for. */
	uses = 0;
	/** What can be killed, stopped and started. */
	readonly parts: Record<string, Part> = {};
	clock!: Clock;
	/** A folder for whatever there is. */
	scratch!: string;
	nats!: TestNats;
	natsDisk: LoopDisk | undefined;
	/** Where NATS has its files. */
	natsStore!: string;
	/** URL of NATS's monitoring port. */
	natsMonitor!: string;
	admin!: NatsConnection;
	moves!: Moves;
	receive!: TestReceiver;
	archives!: RoleServer[];
	/** Of the routes. */
	urls: string[] = [];
	#isOver = false;
	/** How often sending has begun: no body is sent twice. */
	#turns = 0;
	#sending: Promise<void> = Promise.resolve();
	/** Undone in the opposite order. */
	readonly #undo: (() => unknown)[] = [];

	readonly #project: string;

	private constructor(
		store: SharedStore,
		project: string,
		hasNatsClock: boolean,
	) {
		this.store = store;
		this.#project = project;
		this.hasNatsClock = hasNatsClock;
	}

	/** @param project root of the code that runs. @param options.hasNatsClock NATS's own clock can be set. */
	static async open(
		store: SharedStore,
		project: string,
		{ hasNatsClock = false } = {},
	): Promise<Scene> {
		const scene = new Scene(store, project, hasNatsClock);
		scene.scratch = await temporaryDirectory("chaos");
		try {
			await scene.#start();
			return scene;
		} catch (error) {
			await scene.close();
			throw error;
		}
	}

	async #start(): Promise<void> {
		const { store } = this;
		const project = this.#project;
		const { scratch } = this;
		this.#undo.push(() => rm(scratch, { recursive: true, force: true }));
		this.clock = new Clock(scratch);
		if (store.hasDisks) {
			this.natsDisk = await LoopDisk.make(512);
			this.#undo.push(() => this.natsDisk?.remove());
		}
		const monitorPort = await freePort();
		this.natsMonitor = `http://127.0.0.1:${monitorPort}`;
		this.natsStore = join(this.natsDisk?.directory ?? scratch, "nats");
		this.nats = await startNats(
			(config) => {
				config.jetstream.store_dir = this.natsStore;
				config.jetstream.max_file_store = 160 * mib;
				config.http = `127.0.0.1:${monitorPort}`;
			},
			this.hasNatsClock
				? {
						command: await shiftedNats(),
						env: { [shiftedClock]: this.clock.fileOf("nats") },
					}
				: {},
		);
		this.#undo.push(
			() => this.nats.kill(),
			() => this.nats.stop(),
		);
		this.admin = await connectAdmin(this.nats);
		this.#undo.push(() => this.admin.close());
		this.moves = new Moves(this.admin, this.store.shards);
		this.#undo.push(() => this.moves.close());
		await this.moves.publish([]);
		const counts: ObjectCounts = new Map();
		const [receive, ...archives] = await Promise.all([
			this.#startReceive(project),
			...archiveNames.map((name) => this.#startArchive(name, project, counts)),
		]);
		this.receive = receive;
		this.archives = archives;
		Object.assign(this.parts, {
			receive,
			"archive-a": archives[0],
			"archive-b": archives[1],
			nats: this.nats,
			s3: store.s3,
		});
		for (const role of [receive, ...archives]) await this.#untilReady(role);
	}

	/** Makes it ready for a seed: with Sources of its own, and everything archived that was before. */
	async renew(random: () => number): Promise<void> {
		this.uses++;
		this.sent = newSent();
		const streams = await this.streams();
		this.#bases = new Map(
			streams.map(({ name, state }) => [name, state.last_seq]),
		);
		const cuts = join(this.directory, "cuts");
		const known = new Set(await readdir(cuts).catch(() => []));
		this.#over = known.difference(this.#bases);
		this.planned = new PlannedEvents(`orders-${this.uses}`, random);
		const plan = this.moves.know(this.planned.document);
		const shards = [...Array(this.store.shards).keys()];
		const made = [
			...shards.map((shard) =>
				newSource({
					source: `orders-${shard}`,
					shard,
					idempotency,
					...(shard === 0 && { plan }),
				}),
			),
			...shards.map((shard) =>
				newSource({ source: `returns-${shard}`, shard, idempotency }),
			),
		];
		this.routes = made.map(({ route }) => route);
		await this.moves.publish(this.routes);
		this.urls = made.map(({ path }) => this.receive.url + path);
	}

	async #startReceive(project: string) {
		const urlFor = await this.#natsProxy("receive");
		const receive = await startReceiver(
			{ urlFor },
			{
				project,
				nodeArgs: clockArgs,
				env: {
					CHAOS_CLOCK: this.clock.fileOf("receive"),
					TIDEMILL_SHARDS: String(this.store.shards),
				},
			},
		);
		const start = receive.start;
		receive.start = () => {
			this.frames.life++;
			return start();
		};
		this.#undo.push(
			() => receive.kill(),
			() => receive.stop(),
		);
		return receive;
	}

	async #startArchive(
		name: (typeof archiveNames)[number],
		project: string,
		counts: ObjectCounts,
	): Promise<RoleServer> {
		const { s3 } = this.store;
		const urlFor = await this.#natsProxy(name);
		const proxy = new S3Proxy(name, portOf(s3.endpoint), this.traps, counts);
		this.#undo.push(() => proxy.close());
		const directory = await temporaryDirectory(name);
		const archive = await startRole("archive", {
			project,
			name,
			directory,
			nodeArgs: clockArgs,
			env: {
				CHAOS_CLOCK: this.clock.fileOf(name),
				...this.#archiveEnv,
				NATS_URL: urlFor("archive"),
				S3_ENDPOINT: `http://127.0.0.1:${await proxy.listen()}`,
				ARCHIVE_MAX_AGE_MS: "100",
				ARCHIVE_COMPACTION_MIN_OBJECTS: String(minCompactedObjects),
				ARCHIVE_COMPACTION_INTERVAL_MS: "300",
				ARCHIVE_SCRATCH: join(directory, "scratch"),
				STREAM_MAX_BYTES: String(64 * mib),
			},
		});
		this.#undo.push(
			() => archive.kill(),
			() => archive.stop(),
		);
		return archive;
	}

	get #archiveEnv(): Record<string, string> {
		const { s3, shards } = this.store;
		return {
			S3_BUCKET: s3.bucket,
			S3_PREFIX: this.prefix,
			AWS_REGION: s3.region,
			AWS_ACCESS_KEY_ID: s3.accessKeyId,
			AWS_SECRET_ACCESS_KEY: s3.secretAccessKey,
			ARCHIVE_SHARDS: [...Array(shards).keys()].join(),
		};
	}

	/** `tidemill ledger …`, as an administrator runs it where archive's settings are. No trap is on its way. */
	async ledger(...args: string[]) {
		const env = {
			...this.#archiveEnv,
			NATS_URL: this.nats.urlFor("archive"),
			S3_ENDPOINT: this.store.s3.endpoint,
		};
		return startTidemill(["ledger", ...args], env, this.#project).ended;
	}

	async #natsProxy(part: string): Promise<TestNats["urlFor"]> {
		const target = portOf(this.nats.url);
		const proxy = new NatsProxy(part, target, this);
		this.#undo.push(() => proxy.close());
		const port = await proxy.listen();
		return (role) => this.nats.urlFor(role).replace(`:${target}`, `:${port}`);
	}

	#untilReady({ healthUrl }: RoleServer): Promise<void> {
		return eventually("ready", async () => {
			const answer = await fetch(`${healthUrl}/readyz`);
			const text = await answer.text();
			return answer.ok ? undefined : text;
		});
	}

	/** Senders begin, until {@link stopSending}. */
	send(): void {
		this.#isOver = false;
		const turn = ++this.#turns;
		this.#sending = sendPersistently({
			urls: this.urls,
			senders,
			// Some of them long, none of them easy to compress.
			body: (n) => {
				const length = n % 100 === 99 ? 5_000 : n % 7;
				const text = Array.from({ length }, randomUUID).join("");
				return this.body(n % this.urls.length, { n, turn, text });
			},
			isDone: () => this.#isOver,
			sent: this.sent,
			pauseMs,
			now: () => this.clock.now(),
		});
	}

	/** An event's body, for this one of the routes. @param own what no other event has. */
	body(route: number, own: object): string {
		return route === 0 ? this.planned.body(own) : JSON.stringify(own);
	}

	/** New events of this one of the routes go to the next shard. */
	async moveToNextShard(index: number): Promise<void> {
		const release = await this.locks.take("routes");
		const moved = this.moves.toNextShard(this.routes, index);
		this.routes = await moved.finally(release);
	}

	async stopSending(): Promise<void> {
		this.#isOver = true;
		await this.#sending;
	}

	/** Settles when so many more events have been acknowledged. */
	untilMore(events: number): Promise<void> {
		const { acknowledged } = this.sent;
		const enough = acknowledged.size + events;
		return eventually("progress", () =>
			acknowledged.size >= enough
				? undefined
				: `${acknowledged.size} events are acknowledged, ${enough} are waited for`,
		);
	}

	/** The shards' streams, also while NATS is just coming back. */
	async streams(): Promise<SceneStream[]> {
		const { streams } = await jetstreamManager(this.admin, { checkAPI: false });
		const found: SceneStream[] = [];
		for (let shard = 0; shard < this.store.shards; shard++)
			await eventually("ready", async () => {
				const [name] = await streams.names(framesSubject(shard)).next();
				if (!name) return `shard ${shard} has no stream`;
				const { state } = await streams.info(name);
				found.push({ shard, name, state });
				return undefined;
			});
		return found;
	}

	/** The stream's last sequence before the seed. */
	baseOf(stream: string): number {
		return this.#bases.get(stream) ?? 0;
	}

	/** Whether the stream was gone before the seed. */
	isOver(stream: string): boolean {
		return this.#over.has(stream);
	}

	/**
	 * NATS was killed and comes back with an empty disk. The operator writes what it knows, and archive counts the bucket's events
	 * again, as docs/upgrade.md says.
	 */
	async renewNats(
		startArchives: () => Promise<unknown> = async () => undefined,
	): Promise<void> {
		this.hasLost = true;
		await rm(this.natsStore, { recursive: true });
		await mkdir(this.natsStore);
		await this.nats.start();
		await startArchives();
		const release = await this.locks.take("routes");
		await this.moves.publish(this.routes).finally(release);
		const { exitCode, stderr } = await this.ledger("rebuild");
		if (exitCode !== 0)
			throw new Violation("ready", `ledger rebuild: ${stderr}`);
	}

	async objectsDone(stream: string): Promise<number> {
		const kv = await new Kvm(this.admin).open(bucket.objectsDone);
		return Number((await kv.get(stream))?.string() ?? 0);
	}

	/** Folder of what archive wrote. */
	get directory(): string {
		return join(this.store.s3.bucketDirectory, this.prefix);
	}

	/** Copies the logs of all parts, and NATS's files, to where they outlive the scene. */
	async keepEvidence(directory: string): Promise<void> {
		await rm(directory, { recursive: true, force: true });
		for (const [name, { logFile }] of Object.entries(this.parts))
			if (logFile) await cp(logFile, join(directory, `${name}.log`));
		await cp(this.natsStore, join(directory, "nats"), { recursive: true });
		await cp(this.directory, join(directory, "bucket"), { recursive: true });
	}

	async close(): Promise<void> {
		this.traps.clear();
		this.#isOver = true;
		// Their state is no longer needed.
		const { s3, ...own } = this.parts;
		await Promise.allSettled(Object.values(own).map((part) => part.kill()));
		for (const undo of this.#undo.reverse())
			await Promise.resolve(undo()).catch(() => undefined);
		await rm(this.directory, { recursive: true, force: true });
	}
}

/** Its route, and the path of its URL. */
export function newSource(change: Partial<Route>): {
	route: Route;
	path: string;
} {
	const [sourceKey, urlKey] = [newKey(), newKey()];
	const route = routeWith(urlKey, sourceKey, change);
	return { route, path: `/hooks/${sourceKey}/${urlKey}` };
}

function newKey(): string {
	return randomUUID().replaceAll("-", "");
}

function portOf(url: string): number {
	return Number(new URL(url).port);
}
