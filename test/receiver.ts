import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import {
	DiscardPolicy,
	jetstreamManager,
	RetentionPolicy,
	StorageType,
	type StreamConfig,
} from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import {
	bucket,
	duplicateWindowMs,
	framesSubject,
	streamName,
} from "../contracts/nats.ts";
import { type Route, routeKey, syncedKey } from "../contracts/route.ts";
import { decodeFrame, type Frame } from "../ingest/frame.ts";
import { freePort } from "../local/ports.ts";
import { receiveEnvironment } from "../local/roles.ts";
import { SealKey } from "../service/seal-key.ts";
import { type RoleOptions, type RoleServer, startRole } from "./role-server.ts";
import { routeWith } from "./route-example.ts";
import { startNats, type TestNats } from "./servers.ts";
import { temporaryDirectory } from "./test-server.ts";

const sealKeyText = "0123456789abcdef".repeat(4);

/** What the routes of the fixture seal signing secrets with, and receive opens them. */
export const sealKey = new SealKey(Buffer.from(sealKeyText));

/** Receive, ready, with real NATS, a stream for shard 0 and the routes bucket. */
export interface ReceiveFixture {
	nats: TestNats;
	admin: NatsConnection;
	stream: string;
	routes: TestRoutes;
	receiver: TestReceiver;
	stop(): Promise<void>;
}

export async function startReceiveFixture(
	streamChange: Partial<StreamConfig> = {},
	env: Record<string, string> = {},
): Promise<ReceiveFixture> {
	const nats = await startNats();
	const admin = await connectAdmin(nats);
	const stream = await createShardStream(admin, streamChange);
	const routes = new TestRoutes(admin);
	await routes.markSynced();
	const receiver = await startReceiver(nats, { env });
	await untilReady(receiver);
	return {
		nats,
		admin,
		stream,
		routes,
		receiver,
		stop: async () => {
			await receiver.stop();
			await admin.close();
			await nats.stop();
		},
	};
}

/** Waits until receive says so itself; fails with its reason not to be. */
export async function untilReady(receiver: TestReceiver): Promise<void> {
	const deadline = Date.now() + 120_000;
	for (;;) {
		const reason = await reasonNotReady(receiver);
		if (reason === undefined) return;
		if (Date.now() > deadline) throw new Error(`receive: ${reason}`);
		await delay(50);
	}
}

export interface TestReceiver extends RoleServer {
	/** `http://host:port`. */
	url: string;
}

/** Starts `tidemill receive` as a process of its own; settles when it listens, ready or not. */
export async function startReceiver(
	nats: { urlFor: TestNats["urlFor"] },
	options: RoleOptions = {},
): Promise<TestReceiver> {
	const port = await freePort();
	const directory = await temporaryDirectory("receive");
	const sealKeyFile = join(directory, "seal-key");
	await writeFile(sealKeyFile, `${sealKeyText}\n`);
	const server = await startRole("receive", {
		...options,
		name: "receive",
		directory,
		env: {
			NATS_URL: nats.urlFor("receive"),
			RECEIVE_PORT: String(port),
			TIDEMILL_SEAL_KEY: sealKeyFile,
			...receiveEnvironment,
			RECEIVE_SHUTDOWN_DELAY_MS: "0",
			...options.env,
		},
	});
	return Object.assign(server, { url: `http://127.0.0.1:${port}` });
}

/** What keeps receive from being ready; undefined when it is. */
export async function reasonNotReady({
	healthUrl,
}: TestReceiver): Promise<string | undefined> {
	const answer = await fetch(`${healthUrl}/readyz`);
	const text = await answer.text();
	return answer.ok ? undefined : text.trim();
}

/** The value of a metric without labels, or of the one with these. */
export async function metric(
	{ healthUrl }: TestReceiver,
	name: string,
): Promise<number> {
	const text = await (await fetch(`${healthUrl}/metrics`)).text();
	const line = text.split("\n").find((line) => line.startsWith(`${name} `));
	return Number(line?.slice(name.length));
}

export function connectAdmin(nats: { url: string }): Promise<NatsConnection> {
	const { host, username, password } = new URL(nats.url);
	return connect({
		servers: host,
		user: username,
		pass: password,
		maxReconnectAttempts: -1,
		reconnectTimeWait: 100,
	});
}

/** Makes shard 0's stream as archive makes it. Returns its name. */
export async function createShardStream(
	connection: NatsConnection,
	change: Partial<StreamConfig> = {},
): Promise<string> {
	const manager = await jetstreamManager(connection, { checkAPI: false });
	const name = streamName(0, randomBytes(8).toString("hex"));
	await manager.streams.add({
		name,
		subjects: [framesSubject(0)],
		storage: StorageType.File,
		retention: RetentionPolicy.Limits,
		discard: DiscardPolicy.New,
		duplicate_window: duplicateWindowMs * 1e6,
		max_bytes: 1024 ** 3,
		...change,
	});
	return name;
}

/** All frames of a stream, in order. */
export async function readFrames(
	connection: NatsConnection,
	stream: string,
): Promise<Frame[]> {
	const manager = await jetstreamManager(connection, { checkAPI: false });
	const { state } = await manager.streams.info(stream);
	const frames: Frame[] = [];
	for (let seq = state.first_seq; seq <= state.last_seq; seq++) {
		const message = await manager.streams.getMessage(stream, { seq });
		if (message) frames.push(decodeFrame(message.data));
	}
	return frames;
}

/** The routes bucket, written as operator writes it. */
export class TestRoutes {
	readonly #connection: NatsConnection;

	constructor(connection: NatsConnection) {
		this.#connection = connection;
	}

	/** Makes a route and returns its path and what was put. */
	async add(
		change: Partial<Route> = {},
	): Promise<{ path: string; route: Route }> {
		const urlKey = newKey();
		const route = routeWith(urlKey, newKey(), change);
		await this.put(route);
		return { path: `/hooks/${route.sourceKey}/${urlKey}`, route };
	}

	async put(route: Route): Promise<void> {
		const kv = await this.#bucket();
		await kv.put(routeKey(route.sourceKey), JSON.stringify(route));
	}

	async remove(route: Route): Promise<void> {
		await (await this.#bucket()).purge(routeKey(route.sourceKey));
	}

	async markSynced(): Promise<void> {
		await (await this.#bucket()).put(syncedKey, new Date().toISOString());
	}

	/** Deletes the bucket with all that is in it. */
	async destroy(): Promise<void> {
		await (await this.#bucket()).destroy();
	}

	#bucket() {
		return new Kvm(this.#connection).create(bucket.routes, { history: 1 });
	}
}

function newKey(): string {
	return randomBytes(16).toString("hex");
}
