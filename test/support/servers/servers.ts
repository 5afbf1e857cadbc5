import { randomBytes } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
	type ConnectionOptions,
	connect,
	type NatsConnection,
} from "@nats-io/transport-node";
import { pino } from "pino";
import { resolveBinaries } from "../../../local/binaries/resolve.ts";
import { freePort } from "../../../local/machine/ports.ts";
import { nats, natsConfigText, natsUrl } from "../../../local/servers/nats.ts";
import { s3, s3Region } from "../../../local/servers/s3.ts";
import {
	type NatsRole,
	natsRoles,
} from "../../../operator/install/nats-users.ts";
import { answerRoles } from "../../../packages/streams/stream-maker.ts";

export { startControlPlane, type TestControlPlane } from "./control-plane.ts";

import {
	startServer,
	storeDirectory,
	type TestServer,
	temporaryDirectory,
} from "./test-server.ts";

export type { TestServer } from "./test-server.ts";

export interface TestNats extends TestServer {
	/** Of the user who may do everything. */
	url: string;
	/** Of a role's user: what a role may not do is refused as in production. */
	urlFor(role: NatsRole): string;
	/** Nobody makes streams any more, as while archive is away. */
	stopMaker(): Promise<void>;
	/** Where the streams lie as files. */
	storeDirectory: string;
}

/**
 * @param edit changes the configuration, to be one that Tidemill must refuse.
 * @param program another build than the usual one, and its environment.
 */
export async function startNats(
	edit: (config: ReturnType<typeof JSON.parse>) => void = () => undefined,
	program: { command?: string; env?: Record<string, string> } = {},
): Promise<TestNats> {
	const directory = await storeDirectory("nats");
	const command =
		program.command ?? (await resolveBinaries(["nats-server"]))["nats-server"];
	const settings = {
		port: await freePort(),
		storeDirectory: join(directory, "store"),
		passwords: Object.fromEntries(
			[...natsRoles, "admin"].map((role) => [role, secret()]),
		) as Record<NatsRole | "admin", string>,
	};
	const configFile = join(directory, "nats.conf");
	const config = JSON.parse(natsConfigText(settings));
	letAnswer(config, testNames);
	edit(config);
	await writeFile(configFile, JSON.stringify(config), { mode: 0o600 });
	const usual = nats({ command, configFile, ...settings });
	const env = { ...usual.env, ...program.env };
	const server = await startServer({ ...usual, env }, directory);
	const maker = await playMaker(natsUrl(settings, "archive"));
	return Object.assign(server, {
		stopMaker: async () => maker?.close(),
		stop: stopAfter(() => maker?.close(), server.stop),
		url: natsUrl(settings, "admin"),
		urlFor: (role: NatsRole) => natsUrl(settings, role),
		storeDirectory: settings.storeDirectory,
	});
}

/** As a role's user, by the plain client: whoever asks hears what is refused. */
export function connectAs(
	{ urlFor }: Pick<TestNats, "urlFor">,
	role: NatsRole,
): Promise<NatsConnection> {
	return connectTo(urlFor(role), { inboxPrefix: `_INBOX_${role}` });
}

function connectTo(
	url: string,
	options: ConnectionOptions,
): Promise<NatsConnection> {
	const { host: servers, username: user, password: pass } = new URL(url);
	return connect({ servers, user, pass, ...options });
}

/** As whom tests connect as the user `admin` to ask archive. People's programs have the client's own inbox. */
const testNames = ["test", "bench"];

function letAnswer(config: ReturnType<typeof JSON.parse>, names: string[]) {
	for (const { user, permissions } of config.accounts.tidemill.users)
		if (user === "archive")
			permissions.publish.allow.push(
				...names.map((name) => `_INBOX_${name}.>`),
			);
}

/** Makes the roles' streams when they ask, as an archive does, since most tests have none. Undefined if it may not connect. */
async function playMaker(url: string): Promise<NatsConnection | undefined> {
	const connection = await connectTo(url, {
		inboxPrefix: "_INBOX_archive",
		maxReconnectAttempts: -1,
		reconnectTimeWait: 100,
	}).catch(() => undefined);
	if (!connection) return undefined;
	const log = pino({ level: "silent" });
	answerRoles({ connection, replicas: 1, log });
	await connection.flush();
	return connection;
}

function stopAfter(
	close: () => Promise<void> | undefined,
	stop: () => Promise<void>,
): () => Promise<void> {
	return async () => {
		await close();
		await stop();
	};
}

export interface TestS3 extends TestServer {
	endpoint: string;
	bucket: string;
	region: string;
	accessKeyId: string;
	secretAccessKey: string;
	/** Where the bucket's objects lie as files; their times are the objects'. */
	bucketDirectory: string;
}

/** Below it, each bucket of the gateway has a name of its own. */
export const s3Domain = "s3.localhost";

/** @param buckets folder of the buckets; one that goes with the server unless given. */
export async function startS3(buckets?: string): Promise<TestS3> {
	const directory = await temporaryDirectory("s3");
	const folder = buckets ?? join(directory, "buckets");
	const { versitygw } = await resolveBinaries(["versitygw"]);
	const bucket = "tidemill";
	await mkdir(join(folder, bucket), { recursive: true });
	const settings = {
		port: await freePort(),
		accessKeyId: "test",
		secretAccessKey: secret(),
	};
	const program = s3({
		...settings,
		command: versitygw,
		directory: folder,
		virtualDomain: s3Domain,
	});
	return Object.assign(await startServer(program, directory), {
		endpoint: `http://127.0.0.1:${settings.port}`,
		bucket,
		region: s3Region,
		accessKeyId: settings.accessKeyId,
		secretAccessKey: settings.secretAccessKey,
		bucketDirectory: join(folder, bucket),
	});
}

function secret(): string {
	return randomBytes(16).toString("hex");
}
